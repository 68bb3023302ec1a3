"""Runner crashes: how they are counted, what they cost, what makes them forgotten. All in memory, under the lock."""

from datetime import datetime, timedelta

from runs import rules
from runs.models import Run

# What these functions move, to be written by their transition.
RUN_FIELDS = ("consecutive_errors",)
LEASE_FIELDS = ("progressed", "backoff_ms", "takeover_at", "retry_at")


def progressed(run: Run) -> None:
    """Something was done under this generation: an attempt over, an effect settled, a request or decision raised."""
    lease = run.lease
    run.consecutive_errors = 0
    lease.progressed, lease.backoff_ms, lease.retry_at = True, 0, None
    lease.takeover_at = lease.expires_at
    lease.ready_at = rules.ready_at(run, lease)


def forgotten(run: Run) -> None:
    """Somebody said to try again: no crash counts any more, and nothing rests."""
    lease = run.lease
    run.consecutive_errors = 0
    lease.backoff_ms, lease.retry_at, lease.takeover_at = 0, None, lease.expires_at


def count_expiry(run: Run) -> None:
    """The recorded owner is gone: without progress that is one crash more."""
    if not run.lease.progressed:
        run.consecutive_errors += 1


def at_limit(run: Run) -> bool:
    """Whether the run has lost as many runners in a row as it may."""
    return run.consecutive_errors >= rules.CRASH_LIMIT


def released(run: Run, at: datetime) -> None:
    """The lease is about to be released from outside: an expired one counts, and what is left of a backoff stays."""
    lease = run.lease
    if not rules.is_live(lease, at):
        count_expiry(run)
        lease.retry_at = lease.takeover_at


def begin_generation(run: Run) -> None:
    """A new holder starts without progress; should it crash as well, the run rests before the next takeover."""
    lease = run.lease
    seed = f"{run.pk}:{lease.generation}".encode()
    lease.progressed, lease.retry_at = False, None
    lease.backoff_ms = rules.backoff_ms(run.consecutive_errors + 1, seed)
    lease.takeover_at = takeover_at(lease.expires_at, lease.backoff_ms)


def takeover_at(expires_at: datetime | None, backoff_ms: int) -> datetime | None:
    """When somebody else may take over a lease that expires at that time."""
    return None if expires_at is None else expires_at + timedelta(milliseconds=backoff_ms)
