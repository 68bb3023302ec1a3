"""Runners that take a run and are never heard of again."""

from datetime import datetime

from runs import rules_crashes, transitions
from runs.transitions import Claimant
from tests.builders import LEASE_MS, FrozenClock, Made, RunBuilder

RUNNER = Claimant("host-next", LEASE_MS)
CONTROLLER = Claimant("controller", LEASE_MS)


def lost(make: RunBuilder, made: Made, clock: FrozenClock, times: int = 1) -> Made:
    """The same run after so many more runners took it as soon as they might, and died; the last expiry is unmet."""
    for number in range(times):
        clock.set(free_at(made, clock))
        made = make.claimed(made, f"host-lost-{number}")
        clock.advance(LEASE_MS)
    return made


def free_at(made: Made, clock: FrozenClock) -> datetime:
    """When the run may next be taken over, as far as backoff goes."""
    return max(clock.at, rules_crashes.rests_until(made.lease, clock.at) or clock.at)


def crashes(made: Made) -> int:
    """How many lost runners are on record."""
    return made.run.consecutive_errors


def taken(made: Made) -> list[str]:
    """The ids of the runs that the next runner gets for one token."""
    return [run.run_id for run in transitions.claim_next(made.project, RUNNER, ["the next runner's token"])]
