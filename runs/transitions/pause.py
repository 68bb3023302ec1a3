"""Pausing an unfinished run at once, whoever holds it, and letting it go on."""

from collections.abc import Sequence
from datetime import datetime

from runs import clock, journal, rules
from runs.journal import Actor
from runs.models import Event, Project, Run
from runs.models.lease import WISH_FIELDS
from runs.states import PAUSE, UNPAUSE, QueueStatus
from runs.transitions import crashes, dependents, derived, mutex, outbox
from runs.transitions.mutex import Hold, Outcome, transition

_RUN_FIELDS = (
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


def pause(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Pause an unfinished run at once: its holder is fenced, its place in the queue kept. A paused one stays so."""
    return mutex.only(pause_all(project, [run_id], by, reason))


@transition
def pause_all(project: Project, run_ids: Sequence[str], by: Actor, reason: str | None = None) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, run_ids)
    now = clock.now()

    decided = mutex.decide(
        [Hold(run_id) for run_id in run_ids],
        runs,
        lambda run, _: rules.permit(PAUSE, run, run.lease, mutex.never_back(run, now)),
    )

    events = paused([(run, by, reason) for run in decided.runs if not run.paused], now)

    journal.write(events)
    return decided.outcomes


def unpause(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Let a paused run go on from where it stood in the queue. Refuses a run that is not paused."""
    return mutex.only(unpause_all(project, [run_id], by, reason))


@transition
def unpause_all(project: Project, run_ids: Sequence[str], by: Actor, reason: str | None = None) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, run_ids)
    now = clock.now()

    decided = mutex.decide(
        [Hold(run_id) for run_id in run_ids],
        runs,
        lambda run, _: rules.permit(UNPAUSE, run, run.lease, mutex.never_back(run, now)),
    )

    events = []
    for run in decided.runs:
        at = mutex.never_back(run, now)
        if run.parked_by_pause:
            run.queue_status, run.queue_updated_at = QueueStatus.QUEUED, at
        run.paused, run.parked_by_pause, run.status_detail, run.updated_at = False, False, None, at
        run.lease.ready_at = rules.ready_at(run, run.lease)
        events.append(journal.entered(run, "run.resumed", by, _payload(run, reason), at, generation=0))
    mutex.write([run.lease for run in decided.runs], ["ready_at"])
    mutex.write(decided.runs, _RUN_FIELDS)

    journal.write(events)
    return decided.outcomes


def paused(pauses: Sequence[tuple[Run, Actor, str | None]], now: datetime) -> list[Event]:
    """Pause these locked runs and store that; the events to write."""
    runs = [run for run, _, _ in pauses]
    if not runs:
        return []
    effects = outbox.applying(runs)
    events: list[Event] = []
    for run, by, reason in pauses:
        at, lease = mutex.never_back(run, now), run.lease
        events += outbox.doubted(run, effects.get(run.pk, ()), by, "workflowPaused", at)
        if lease.owner_id is not None:
            crashes.released(run, at)
        mutex.release(lease)
        mutex.forget_wish(lease)
        run.parked_by_pause = run.queue_status != QueueStatus.PARKED
        run.queue_status, run.queue_updated_at = QueueStatus.PARKED, at
        run.paused, run.status_detail, run.updated_at = True, "paused", at
        events.append(journal.entered(run, "run.paused", by, _payload(run, reason), at, generation=lease.generation))
    outbox.write(effects)
    dependents.close_intervals(runs)
    derived.refresh(runs)
    mutex.write([run.lease for run in runs], _LEASE_FIELDS)
    mutex.write(runs, _RUN_FIELDS)
    return events


def _payload(run: Run, reason: str | None) -> dict[str, str]:
    return {"status": run.queue_status} | ({"reason": reason} if reason else {})
