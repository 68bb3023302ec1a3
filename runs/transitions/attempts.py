"""Attempts: the durable steps of a run. A node that was completed once is never done again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from runs import clock, errors, journal, rules
from runs.models import ActiveInterval, Blob, Event, NodeAttempt, Project, Run
from runs.states import ATTEMPT_OPEN, AttemptStatus
from runs.transitions import blobs, crashes, mutex, observing, waiting
from runs.transitions.mutex import Hold, transition
from runs.transitions.observing import Observation
from runs.verbs import WRITE_ATTEMPT

LEFT_OPEN = "The runner lost the run before it completed this attempt."


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """Which node is tried, under which id of the caller's choice."""

    attempt_id: str
    node_id: str
    node_type: str = "step"
    input: Any = None
    timeout_ms: int | None = None


@transition
def start_attempt(project: Project, hold: Hold, start: AttemptStart) -> tuple[NodeAttempt, bool]:
    """An attempt of the node, and whether it was made now.

    Gives back the completed attempt where the node has been done, and the open one where this very attempt was started
    before. An attempt that an earlier holder left open fails. Refuses whoever does not hold the run.
    """
    run, at = _held(project, hold)

    attempts = list(
        NodeAttempt.objects.with_documents().filter(Q(node_id=start.node_id) | Q(attempt_id=start.attempt_id), run=run)
    )
    standing = rules.standing_attempt(attempts, start.attempt_id, start.node_id, run.lease.generation)
    if standing is not None:
        return standing, False
    left_open = [attempt for attempt in attempts if attempt.status in ATTEMPT_OPEN]

    input_document, why = blobs.document(start.input), blobs.text(LEFT_OPEN)
    stored = blobs.stored(project, [input_document, why], at)
    attempt = NodeAttempt(
        run=run,
        attempt_id=start.attempt_id,
        node_id=start.node_id,
        node_type=start.node_type,
        attempt_number=1 + max((attempt.attempt_number for attempt in attempts), default=0),
        status=AttemptStatus.RUNNING,
        generation=run.lease.generation,
        timeout_ms=start.timeout_ms,
        input=stored[input_document],
        started_at=at,
        updated_at=at,
    )
    closed = observing.close_all(left_open)
    events = [_failed(run, lost, stored[why], LEFT_OPEN, at, closed) for lost in left_open]
    mutex.write(left_open, _SETTLED_FIELDS)
    attempt.save(force_insert=True)
    events.append(_entered(run, "attempt.started", attempt, at, [observing.open_interval(attempt, 1, at)]))
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write(events)
    return attempt, True


@transition
def progress_attempt(project: Project, hold: Hold, observation: Observation) -> NodeAttempt:
    """Say how far an open attempt is. Makes no event. Refuses whoever does not hold the run."""
    run, at = _held(project, hold)

    attempt = _open_attempt(run, observation.attempt_id)

    observing.observed({run.pk: (run, observation, at)})
    attempt.refresh_from_db(fields=["progress", "updated_at"])
    return attempt


@transition
def complete_attempt(
    project: Project, hold: Hold, attempt_id: str, output: Any = None, active_ms: int | None = None
) -> NodeAttempt:
    """Store a node's output for good. Refuses whoever does not hold the run, and an attempt that is over."""
    run, at = _held(project, hold)

    attempt = _open_attempt(run, attempt_id)

    document = blobs.document(output)
    attempt.output = blobs.stored(project, [document], at)[document]
    _settle(attempt, AttemptStatus.COMPLETED, at)
    event = _entered(run, "attempt.completed", attempt, at, _progressed(run, attempt, active_ms))
    _write(run, attempt)

    journal.write([event])
    return attempt


@transition
def fail_attempt(
    project: Project, hold: Hold, attempt_id: str, message: str, active_ms: int | None = None
) -> NodeAttempt:
    """End an attempt as failed; the node may be tried again. Refuses whoever does not hold the run."""
    run, at = _held(project, hold)

    attempt = _open_attempt(run, attempt_id)

    why = blobs.text(message)
    stored = blobs.stored(project, [why], at)[why]
    attempt.updated_at = at
    event = _failed(run, attempt, stored, message, at, _progressed(run, attempt, active_ms))
    _write(run, attempt)

    journal.write([event])
    return attempt


def _held(project: Project, hold: Hold) -> tuple[Run, datetime]:
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())
    rules.permit(WRITE_ATTEMPT, run, run.lease, at, token=hold.token)
    return run, at


def _open_attempt(run: Run, attempt_id: str) -> NodeAttempt:
    attempt: NodeAttempt | None = NodeAttempt.objects.with_documents().filter(run=run, attempt_id=attempt_id).first()
    if attempt is None:
        raise errors.AttemptNotFound(run_id=run.run_id, attempt_id=attempt_id)
    if attempt.status not in ATTEMPT_OPEN or attempt.generation != run.lease.generation:
        raise errors.AttemptSettled(run_id=run.run_id, attempt_id=attempt_id, status=attempt.status)
    return attempt


_SETTLED_FIELDS = ("status", "output", "error", "updated_at", "finished_at")


def _settle(attempt: NodeAttempt, status: AttemptStatus, at: datetime) -> None:
    attempt.status, attempt.updated_at, attempt.finished_at = status, at, at


def _failed(
    run: Run, attempt: NodeAttempt, error: Blob, message: str, at: datetime, closed: Sequence[ActiveInterval]
) -> Event:
    attempt.error = error
    _settle(attempt, AttemptStatus.FAILED, at)
    own = [interval for interval in closed if interval.attempt_id == attempt.pk]
    return _entered(run, "attempt.failed", attempt, at, own, error=rules.detail(message))


def _entered(
    run: Run, type: str, attempt: NodeAttempt, at: datetime, intervals: Sequence[ActiveInterval], **facts: Any
) -> Event:
    payload = {"attemptId": attempt.attempt_id, "nodeId": attempt.node_id, "number": attempt.attempt_number, **facts}
    return waiting.entered(run, type, payload, at, [attempt, *intervals])


def _progressed(run: Run, attempt: NodeAttempt, active_ms: int | None) -> list[ActiveInterval]:
    """An attempt that is over is progress; its open interval ends with it."""
    crashes.progressed(run)
    return observing.lengthen({attempt.pk: (active_ms, attempt.updated_at)}, close=True)


def _write(run: Run, attempt: NodeAttempt) -> None:
    mutex.write([attempt], _SETTLED_FIELDS)
    mutex.write([run.lease], (*crashes.LEASE_FIELDS, "ready_at"))
    mutex.write([run], (*crashes.RUN_FIELDS, *journal.HEAD_FIELDS))
