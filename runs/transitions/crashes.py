"""Runner crashes: how they are counted, what they cost, what makes them forgotten. All in memory, under the lock."""

from datetime import datetime, timedelta

from runs import rules, rules_crashes
from runs.models import Run
from runs.verbs import CLAIM_FOR_CONTROL, Verb

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
    lease.progressed, lease.backoff_ms, lease.retry_at, lease.takeover_at = True, 0, None, lease.expires_at


def count_loss(run: Run, at: datetime) -> bool:
    """Whether the run's runner is lost; without progress that is one crash more."""
    run.consecutive_errors += rules_crashes.is_crash(run, run.lease, at)
    return rules_crashes.is_lost(run, run.lease, at)


def at_limit(run: Run) -> bool:
    """Whether the run has lost as many runners in a row as it may."""
    return run.consecutive_errors >= rules_crashes.CRASH_LIMIT


def keep_rest(run: Run, at: datetime) -> None:
    """The lease is about to be released from outside: what is left of a backoff stays."""
    run.lease.retry_at = rules_crashes.rests_until(run.lease, at)


def begin_generation(run: Run, verb: Verb, rests_until: datetime | None, expires_at: datetime) -> None:
    """A new holder starts without progress; should it crash as well, the run rests before the next takeover.

    Unless it is the last crash allowed: the run is parked then, and need not rest before. A short claim of the server's
    own is no try: its expiry is nobody's crash. What the run rests for is over only when it is handed out.
    """
    lease = run.lease
    seed = f"{run.pk}:{lease.generation}".encode()
    next_crash = run.consecutive_errors + 1
    costs_nothing = verb == CLAIM_FOR_CONTROL or next_crash >= rules_crashes.CRASH_LIMIT
    lease.progressed, lease.retry_at = verb == CLAIM_FOR_CONTROL, rests_until
    lease.backoff_ms = 0 if costs_nothing else rules_crashes.backoff_ms(next_crash, seed)
    lease.takeover_at = takeover_at(expires_at, lease.backoff_ms)


def takeover_at(expires_at: datetime, backoff_ms: int) -> datetime:
    """When somebody else may take over a lease that expires at that time."""
    return expires_at + timedelta(milliseconds=backoff_ms)
