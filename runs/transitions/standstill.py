"""What it means that a run is paused, by whatever led to it. Its runner is fenced; its place in the queue stays."""

from collections.abc import Sequence
from datetime import datetime

from runs import journal, rules
from runs.journal import Actor
from runs.models import Event, Run
from runs.models.lease import WISH_FIELDS
from runs.states import QueueStatus
from runs.transitions import crashes, dependents, mutex, outbox

RUN_FIELDS = (
    "paused",
    "parked_by_pause",
    "status_detail",
    "updated_at",
    "queue_status",
    "queue_updated_at",
    *crashes.RUN_FIELDS,
    *journal.HEAD_FIELDS,
)
_LEASE_FIELDS = tuple(dict.fromkeys((*mutex.RELEASED_FIELDS, *crashes.LEASE_FIELDS, *WISH_FIELDS)))


def paused(pauses: Sequence[tuple[Run, Actor, str | None]], now: datetime) -> list[Event]:
    """Pause these locked runs and store that; the events to write."""
    runs = [run for run, _, _ in pauses]
    if not runs:
        return []
    effects = outbox.applying(runs)
    intervals = dependents.close_intervals(runs)
    events: list[Event] = []
    for run, by, reason in pauses:
        at, lease = mutex.never_back(run, now), run.lease
        events += outbox.doubted(run, effects.get(run.pk, ()), by, "workflowPaused", at)
        crashes.keep_rest(run, at)
        mutex.release(lease)
        mutex.forget_wish(lease)
        run.parked_by_pause = run.queue_status != QueueStatus.PARKED
        run.queue_status, run.queue_updated_at = QueueStatus.PARKED, at
        run.paused, run.status_detail, run.updated_at = True, "paused", at
        lease.ready_at = rules.ready_at(run, lease)
        moved, generation = intervals.get(run.pk, ()), lease.generation
        event = journal.entered(run, "run.paused", by, facts(run, reason), at, generation=generation, moved=moved)
        events.append(event)
    outbox.write(effects)
    mutex.write([run.lease for run in runs], _LEASE_FIELDS)
    mutex.write(runs, RUN_FIELDS)
    return events


def facts(run: Run, reason: str | None) -> dict[str, str]:
    """What an event says of a pause or of its end."""
    return {"status": run.queue_status} | ({"reason": reason} if reason else {})
