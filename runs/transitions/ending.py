"""What it means that a run is over: both axes, the lease, and everything that still hangs on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import journal
from runs.journal import Actor
from runs.models import Blob, Event, Project, Run
from runs.models.lease import WISH_FIELDS
from runs.states import AttemptStatus, RunStatus
from runs.transitions import dependents, mutex, outbox
from runs.verbs import Verb

_RUN_FIELDS = (
    "status",
    "status_detail",
    "paused",
    "parked_by_pause",
    "consecutive_errors",
    "output",
    "error",
    "updated_at",
    "finished_at",
    "queue_status",
    "error_code",
    "queue_error",
    "queue_updated_at",
    "queue_finished_at",
    *journal.HEAD_FIELDS,
)


CONTROL_ID = "workflow-control"


@dataclass(frozen=True, slots=True)
class Stop:
    """How one run ends without completing: who says so, and the code, message and event that it gets."""

    run: Run
    verb: Verb
    code: str
    message: Blob
    actor: Actor
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Manner:
    """What a way to end is called in the events, texts and attempts of what hangs on the run."""

    event: str
    reason: str
    text: str
    attempts: AttemptStatus


_MANNERS = {
    RunStatus.CANCELLED: _Manner(
        "run.queue_cancelled", "workflowCancelled", "Workflow run cancelled", AttemptStatus.CANCELLED
    ),
    RunStatus.FAILED: _Manner("run.queue_failed", "workflowFailed", "Workflow run failed", AttemptStatus.FAILED),
    RunStatus.TIMED_OUT: _Manner("run.queue_failed", "workflowFailed", "Workflow run failed", AttemptStatus.TIMED_OUT),
}


def stop(project: Project, stops: Sequence[Stop], now: datetime) -> list[Event]:
    """End these runs, all in one manner, with everything that hangs on them, and store that; the events to write."""
    if not stops:
        return []
    runs = [stop.run for stop in stops]
    manner = _MANNERS[RunStatus(stops[0].verb.ends_run or "")]
    effects = outbox.unsettled(runs)
    work = dependents.StoppedWork(project, runs, manner.text, now)
    events: list[Event] = []
    for stop in stops:
        run, at, by = stop.run, mutex.never_back(stop.run, now), stop.actor.id or CONTROL_ID
        generation = run.lease.generation
        end(run, stop.verb, at, code=stop.code, message=stop.message)
        events += outbox.ended(run, effects.get(run.pk, ()), by, manner.reason, at)
        moved = work.stopped(run, manner.attempts, by, at)
        events.append(
            journal.entered(run, manner.event, stop.actor, stop.payload, at, generation=generation, moved=moved)
        )
    write(runs)
    outbox.write(effects)
    work.write()
    return events


def end(run: Run, verb: Verb, at: datetime, *, code: str | None = None, message: Blob | None = None) -> None:
    """Move both axes to where `verb` ends, and release the lease; in memory."""
    if verb.ends_run is None or verb.ends_queue is None:
        raise AssertionError(f"{verb.name} does not end a run")
    run.status, run.queue_status = verb.ends_run, verb.ends_queue
    run.status_detail, run.paused = None, False
    run.error_code, run.error, run.queue_error = code, message, message
    run.updated_at = run.finished_at = run.queue_updated_at = run.queue_finished_at = at
    lease = run.lease
    mutex.release(lease)
    mutex.forget_wish(lease)
    lease.pending_requests, lease.open_work, lease.effects_in_doubt = 0, 0, 0
    lease.ready_at = lease.retry_at = None
    run.parked_by_pause = False


def write(runs: Sequence[Run]) -> None:
    """Store ended runs and their leases."""
    mutex.write([run.lease for run in runs], (*mutex.RELEASED_FIELDS, "retry_at", *WISH_FIELDS))
    mutex.write(runs, _RUN_FIELDS)
