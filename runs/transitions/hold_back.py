"""Parks with a code: the run is not offered again until somebody has looked."""

from collections.abc import Sequence
from datetime import datetime

from runs import clock, journal, rules
from runs.models import Blob, Event, NodeAttempt, Project, Run
from runs.states import AttemptStatus, ErrorCode, QueueStatus, RunStatus
from runs.transitions import blobs, crashes, mutex, wishes
from runs.transitions.mutex import Hold, transition
from runs.verbs import PARK_AMBIGUOUS_EFFECT, PARK_HELD_BACK

AMBIGUOUS = "effect outcome is ambiguous; explicit recovery is required"
_RUN_FIELDS = (
    "status",
    "status_detail",
    "updated_at",
    "queue_status",
    "error_code",
    "queue_error",
    "available_at",
    "queue_updated_at",
    *journal.HEAD_FIELDS,
)


def park_no_progress(project: Project, hold: Hold, detail: str) -> Run:
    """Park a run whose runners get nowhere. Refuses whoever does not hold the run."""
    return _held_back(project, hold, ErrorCode.RUNNER_NO_PROGRESS, "run.worker_no_progress", detail)


def park_source_changed(project: Project, hold: Hold, detail: str) -> Run:
    """Park a run whose workflow's code is no longer the one it was reserved with. Refuses whoever does not hold it."""
    return _held_back(project, hold, ErrorCode.WORKFLOW_SOURCE_CHANGED, "run.source_changed", detail)


@transition
def _held_back(project: Project, hold: Hold, code: ErrorCode, event_type: str, detail: str) -> Run:
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(PARK_HELD_BACK, run, run.lease, at, token=hold.token)

    run.status_detail, run.updated_at, run.available_at = rules.detail(detail), at, at
    holder, generation = journal.owner_of(run.lease), run.lease.generation
    _park(run, code, _stored(project, rules.detail(detail), at), at)
    payload = {"status": QueueStatus.PARKED, "code": code}
    event = journal.entered(run, event_type, holder, payload, at, generation=generation)
    _write([run])
    events = [event, *wishes.carried_out(project, [run] if run.lease.wish else [], at)]

    journal.write(events)
    return run


@transition
def park_ambiguous_effect(project: Project, hold: Hold) -> Run:
    """Park a running run since nobody knows whether one of its effects happened. Refuses whoever does not hold it."""
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(PARK_AMBIGUOUS_EFFECT, run, run.lease, at, token=hold.token)

    run.status, run.status_detail, run.updated_at = RunStatus.WAITING, AMBIGUOUS, at
    holder, generation = journal.owner_of(run.lease), run.lease.generation
    _park(run, ErrorCode.EFFECT_AMBIGUOUS, _stored(project, AMBIGUOUS, at), at)
    worked_on = [AttemptStatus.PENDING, AttemptStatus.RUNNING]
    attempts = list(NodeAttempt.objects.filter(run=run, status__in=worked_on))
    for attempt in attempts:
        attempt.status, attempt.updated_at = AttemptStatus.WAITING, at
    payload = {"status": RunStatus.WAITING, "code": ErrorCode.EFFECT_AMBIGUOUS}
    event = journal.entered(run, "run.effect_ambiguous", holder, payload, at, generation=generation, moved=attempts)
    mutex.write(attempts, ["status", "updated_at"])
    _write([run])
    events = [event, *wishes.carried_out(project, [run] if run.lease.wish else [], at)]

    journal.write(events)
    return run


def given_up(project: Project, parks: Sequence[tuple[Run, ErrorCode, str]], now: datetime) -> list[Event]:
    """Park these locked runs in the server's own name, each with a code and a detail, and store that; their events."""
    texts = {detail: blobs.text(detail) for _, _, detail in parks}
    stored = blobs.stored(project, texts.values(), now)
    events = []
    for run, code, detail in parks:
        at = mutex.never_back(run, now)
        run.status_detail, run.updated_at, run.available_at = detail, at, at
        run.lease.retry_at = None
        _park(run, code, stored[texts[detail]], at)
        payload = {"status": QueueStatus.PARKED, "code": code}
        generation = run.lease.generation
        events.append(
            journal.entered(run, "run.worker_no_progress", journal.SYSTEM, payload, at, generation=generation)
        )
    _write([run for run, _, _ in parks])
    return events


def _stored(project: Project, detail: str, at: datetime) -> Blob:
    text = blobs.text(detail)
    return blobs.stored(project, [text], at)[text]


def _park(run: Run, code: ErrorCode, error: Blob, at: datetime) -> None:
    run.queue_status, run.queue_updated_at = QueueStatus.PARKED, at
    run.error_code, run.queue_error = code, error
    mutex.release(run.lease)
    run.lease.ready_at = rules.ready_at(run, run.lease)


def _write(runs: Sequence[Run]) -> None:
    mutex.write([run.lease for run in runs], (*mutex.RELEASED_FIELDS, "retry_at"))
    mutex.write(runs, (*_RUN_FIELDS, *crashes.RUN_FIELDS))
