"""Pure decisions about lost runners: when one is lost, how long its run rests, what it means. No database."""

import hashlib
from collections.abc import Mapping
from datetime import datetime

from runs import errors
from runs.rules import LeaseFacts, RunFacts, is_live
from runs.states import LostRunner, QueueStatus, RunStatus

CRASH_LIMIT = 5  # in a row; the claim or sweep that meets the last one parks the run
BACKOFF_BASE_MS = 5_000
BACKOFF_CAP_MS = 300_000
_WITH_A_RUNNER = frozenset({QueueStatus.STARTING, QueueStatus.RUNNING})


def has_expired(lease: LeaseFacts, at: datetime) -> bool:
    """Owned on record, by somebody whose time is over."""
    return lease.owner_id is not None and not is_live(lease, at)


def is_lost(run: RunFacts, lease: LeaseFacts, at: datetime) -> bool:
    """Whether the run's runner is lost: it had been handed out to be worked on, and its lease ran out.

    Not where it has been offered again since, not where the server held it for control on its way, and not where it
    waits: nothing was under work then.
    """
    return _ran_out(run, lease, at) and run.queue_status in _WITH_A_RUNNER


def is_crash(run: RunFacts, lease: LeaseFacts, at: datetime) -> bool:
    """Whether the expired lease counts as a crash: nothing was done under it. Also where it was offered again since."""
    return _ran_out(run, lease, at) and not lease.progressed


def _ran_out(run: RunFacts, lease: LeaseFacts, at: datetime) -> bool:
    return has_expired(lease, at) and run.status != RunStatus.WAITING


def lost_runner(snapshot: object) -> LostRunner:
    """What a definition says that a lost runner means for its runs."""
    stated = snapshot.get("lostRunner", LostRunner.RETRY) if isinstance(snapshot, Mapping) else LostRunner.RETRY
    if stated not in set(LostRunner):
        raise errors.Invalid("A definition's lostRunner is retry, park or fail.")
    return LostRunner(stated)


def rests_until(lease: LeaseFacts, at: datetime) -> datetime | None:
    """Until when nobody is handed the run after a crash; None where none rests it."""
    taken_over = lease.takeover_at if lease.backoff_ms and has_expired(lease, at) else None
    return max((until for until in (taken_over, lease.retry_at) if until is not None), default=None)


def rested(run: RunFacts, lease: LeaseFacts, at: datetime) -> None:
    """Refuse to hand out a run before the backoff after its latest crash is over."""
    until = rests_until(lease, at)
    if until is not None and until > at:
        raise errors.BackingOff(run_id=run.run_id, retry_in_ms=int((until - at).total_seconds() * 1000))


def backoff_ms(crashes: int, seed: bytes) -> int:
    """How long a run rests after its n-th crash in a row: nothing after the first, then 5 s doubling up to 5 min.

    Spread by up to a quarter either way, always the same for the same seed.
    """
    if crashes < 2:
        return 0
    resting = min(BACKOFF_CAP_MS, BACKOFF_BASE_MS << min(crashes - 2, 16))
    spread = int.from_bytes(hashlib.sha256(seed).digest()[:4]) / 2**32
    return int(resting * (0.75 + spread / 2))
