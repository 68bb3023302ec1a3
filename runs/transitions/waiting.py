"""A run that waits for somebody: how it and its attempt come to rest, and how they go on. In memory, under the lock."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Max

from runs import journal, rules
from runs.models import ActiveInterval, Event, NodeAttempt, Run
from runs.models.remembering import Remembering
from runs.states import ATTEMPT_OPEN, AttemptStatus, RunStatus
from runs.transitions import crashes, derived, mutex, observing

_RUN_FIELDS = ("status", "status_detail", "updated_at", *crashes.RUN_FIELDS, *journal.HEAD_FIELDS)
_LEASE_FIELDS = tuple(dict.fromkeys((*derived.DERIVED_FIELDS, *crashes.LEASE_FIELDS)))


def rest(run: Run, detail: str, at: datetime) -> None:
    """The run waits from now on."""
    run.status, run.status_detail, run.updated_at = RunStatus.WAITING, detail, at
    run.lease.ready_at = rules.ready_at(run, run.lease)


def rest_attempt(attempt: NodeAttempt, at: datetime) -> list[Remembering]:
    """The attempt waits, and stores that: what nobody observed of its open interval is not counted. What moved."""
    attempt.status, attempt.updated_at = AttemptStatus.WAITING, at
    mutex.write([attempt], ["status", "updated_at"])
    return [attempt, *observing.close_all([attempt])]


def go_on(run: Run, attempt: NodeAttempt, at: datetime) -> list[Remembering]:
    """The attempt runs on under the present generation, and so does the run, unless another request is pending.

    Stores the attempt; what moved of it.
    """
    derived.refresh([run])
    if not run.lease.pending_requests:
        run.status, run.status_detail, run.updated_at = RunStatus.RUNNING, None, at
        run.lease.ready_at = rules.ready_at(run, run.lease)
    if attempt.status not in ATTEMPT_OPEN:
        return []
    attempt.status, attempt.generation, attempt.updated_at = AttemptStatus.RUNNING, run.lease.generation, at
    mutex.write([attempt], ["status", "generation", "updated_at"])
    intervals = ActiveInterval.objects.filter(attempt=attempt)
    if not intervals.filter(ended_at=None).exists():
        last: int = intervals.aggregate(last=Max("number"))["last"] or 0
        return [attempt, observing.open_interval(attempt, last + 1, at)]
    return [attempt]


def facts(run: Run) -> dict[str, Any]:
    """What an event says of where the run stands after it."""
    return {"runStatus": run.status, "statusDetail": run.status_detail}


def entered(run: Run, type: str, payload: dict[str, Any], at: datetime, moved: Collection[Remembering]) -> Event:
    """An event of the holder's on the run, and what moved besides."""
    by, generation = journal.owner_of(run.lease), run.lease.generation
    return journal.entered(run, type, by, payload, at, generation=generation, moved=moved)


def write(run: Run) -> None:
    """Store the run and what its lease keeps."""
    mutex.write([run.lease], _LEASE_FIELDS)
    mutex.write([run], _RUN_FIELDS)
