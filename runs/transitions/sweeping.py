"""The sweep: what time alone has brought about is written down. Safe to run often, anywhere, and many at once.

Nothing depends on it: whoever meets an expired lease, a due wish or an overdue decision judges it by the clock.
Requests to a session are none of its business: their limit is on active time, which does not pass while a run waits.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from runs import clock, journal, rules_crashes
from runs.models import Event, Lease, Project, Receipt, Run
from runs.transitions import crashes, decision_expiry, derived, lost, mutex, receipts, wishes
from runs.transitions.mutex import BATCH_LIMIT, transition


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did. `is_behind` says that there was more than its limit: the next one may follow at once."""

    released: int = 0
    settled: int = 0
    decisions: int = 0
    receipts: int = 0
    is_behind: bool = False

    @property
    def total(self) -> int:
        return self.released + self.settled + self.decisions + self.receipts


def sweep(limit: int = 500) -> Swept:
    """Carry out due wishes, settle or release expired leases, resolve overdue decisions, forget old receipts.

    Of all projects, at most `limit` of each kind, in transactions of at most a batch. What somebody else has locked at
    the moment is passed over: the next sweep meets it.
    """
    now = clock.now()
    wished = _in_bites(limit, Lease.objects.filter(wish_due_at__lte=now), _settle)
    expired = _in_bites(limit, Lease.objects.expired(now), _settle)
    old = _in_bites(limit, Receipt.objects.filter(created_at__lte=now - receipts.KEPT_FOR), _forget)
    decisions = _decisions(limit)
    released, settled = _sum(wished + expired)
    forgotten, _ = _sum(old)
    seen = [released + settled, decisions, forgotten]
    return Swept(released, settled, decisions, forgotten, is_behind=any(count >= limit for count in seen))


def _in_bites(
    limit: int, due: QuerySet[Lease] | QuerySet[Receipt], do: Callable[[Sequence[int]], tuple[int, int]]
) -> list[tuple[int, int]]:
    """Looked for outside of any transaction, so that a sweep with nothing to do holds up no writer."""
    keys = list(due.values_list("pk", flat=True)[:limit])
    return [do(keys[start : start + BATCH_LIMIT]) for start in range(0, len(keys), BATCH_LIMIT)]


def _sum(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(first for first, _ in counts), sum(second for _, second in counts)


@transition
def _settle(keys: Sequence[int]) -> tuple[int, int]:
    """How many of these leases were released, and how many runs were paused, cancelled, parked or failed instead."""
    leases = list(Lease.objects.filter(pk__in=keys).order_by("pk").taken_first())
    now = clock.now()

    due: dict[int, list[Run]] = defaultdict(list)
    for run in mutex.under(leases):
        at = mutex.never_back(run, now)
        if rules_crashes.has_expired(run.lease, at) or wishes.is_due(run.lease, at):
            due[run.project_id].append(run)

    events: list[Event] = []
    free: list[Run] = []
    projects = Project.objects.in_bulk(list(due))
    for key in sorted(due):
        offered, more = lost.settled(projects[key], due[key], now)
        events += more
        free += offered
    events += [_released(run, now) for run in free]
    mutex.write([run.lease for run in free], _LEASE_FIELDS)
    mutex.write(free, (*crashes.RUN_FIELDS, *journal.HEAD_FIELDS))

    journal.write(events)
    return len(free), sum(map(len, due.values())) - len(free)


_LEASE_FIELDS = tuple(dict.fromkeys((*mutex.RELEASED_FIELDS, *crashes.LEASE_FIELDS)))


def _released(run: Run, now: datetime) -> Event:
    """Release an expired lease in memory: its crash is counted, its backoff kept, its late owner still told apart."""
    at, lease = mutex.never_back(run, now), run.lease
    crashes.keep_rest(run, at)
    payload = {
        "reason": "expired",
        "ownerId": lease.owner_id,
        "crashes": run.consecutive_errors,
        "retryAt": None if lease.retry_at is None else clock.to_ms(lease.retry_at),
    }
    token_hash = lease.token_hash
    mutex.release(lease)
    lease.swept_token_hash = token_hash
    derived.is_ready_anew(run)
    return journal.entered(run, "lease.released", journal.SYSTEM, payload, at, generation=lease.generation)


def _decisions(limit: int) -> int:
    done = 0
    while done < limit:
        resolved = decision_expiry.expire_decisions(limit=min(BATCH_LIMIT, limit - done))
        done += resolved
        if resolved < BATCH_LIMIT:
            break
    return done


@transition
def _forget(keys: Sequence[int]) -> tuple[int, int]:
    """How many of these receipts were deleted."""
    count, _ = Receipt.objects.filter(pk__in=keys).delete()
    return count, 0
