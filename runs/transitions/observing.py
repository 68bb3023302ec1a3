"""What a holder reports of an open attempt while it works: progress, and active time by its own monotonic clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from runs import rules
from runs.models import ActiveInterval, NodeAttempt, Run
from runs.states import ATTEMPT_OPEN
from runs.transitions import blobs, mutex

PROGRESS_LIMIT = 8_192  # bytes of canonical JSON


@dataclass(frozen=True, slots=True)
class Observation:
    """`progress` is any JSON, None for: as before. `active_ms` counts from the start of the attempt's open interval."""

    attempt_id: str
    progress: Any = None
    active_ms: int | None = None


def observed(seen: Mapping[int, tuple[Run, Observation, datetime]]) -> None:
    """Store what holders report, by run key: four statements at most. A report on anything but an open attempt of the
    run's present generation is passed over: whoever sent it hears so when it writes the attempt."""
    if not seen:
        return
    named = Q()
    for key, (_, observation, _) in seen.items():
        named |= Q(run=key, attempt_id=observation.attempt_id)
    attempts = [
        attempt
        for attempt in NodeAttempt.objects.filter(named, status__in=sorted(ATTEMPT_OPEN))
        if attempt.generation == seen[attempt.run_id][0].lease.generation
    ]
    for attempt in attempts:
        _, observation, at = seen[attempt.run_id]
        if observation.progress is not None:
            attempt.progress = blobs.encoded(observation.progress, PROGRESS_LIMIT).decode()
        attempt.updated_at = at
    mutex.write(attempts, ["progress", "updated_at"])
    active = {
        attempt.pk: (observation.active_ms, at)
        for attempt in attempts
        for _, observation, at in [seen[attempt.run_id]]
        if observation.active_ms is not None
    }
    lengthen(active)


def lengthen(active: Mapping[int, tuple[int | None, datetime]], *, close: bool = False) -> list[ActiveInterval]:
    """Move the open intervals of these attempts (by key) to the active time that was observed; it never shrinks.

    Stores them; those that moved.
    """
    if not active:
        return []
    intervals = list(ActiveInterval.objects.filter(attempt__in=active, ended_at=None).select_related("attempt"))
    for interval in intervals:
        active_ms, at = active[interval.attempt_id]
        if active_ms is not None:
            interval.elapsed_ms, interval.observed_at = max(interval.elapsed_ms, rules.active_ms(active_ms)), at
        if close:
            interval.ended_at = interval.observed_at
    mutex.write(intervals, ["elapsed_ms", "observed_at", "ended_at"])
    return intervals


def open_interval(attempt: NodeAttempt, number: int, at: datetime) -> ActiveInterval:
    """Begin to count active time."""
    return ActiveInterval.objects.create(attempt=attempt, number=number, elapsed_ms=0, started_at=at, observed_at=at)


def close_all(attempts: Sequence[NodeAttempt]) -> list[ActiveInterval]:
    """End the open intervals of these attempts at their last observation. Stores them; those that moved."""
    return lengthen({attempt.pk: (None, attempt.updated_at) for attempt in attempts}, close=True)
