"""What a runner believes of a lease, and who has the last word."""

import math
from dataclasses import replace

import pytest

from tests.runner.fake_clock import FakeClock
from workflowq.runner import Drained, LeaseLost, RunCancelled
from workflowq.runner.lease import HeldLease
from workflowq.runner.wire import Lease


def granted(clock: FakeClock, generation: int = 1) -> Lease:
    return Lease(generation, "host-test", "2026-12-01T03:00:30.000Z", 30_000, 30_000, 10_000, clock.now)


def held_lease(clock: FakeClock) -> HeldLease:
    return HeldLease("r", "token", granted(clock), clock)


def test_a_lease_is_held_until_its_end_and_lost_at_it(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 29.999
    held.check()

    clock.now = held.ends

    with pytest.raises(LeaseLost) as raised:
        held.check()
    assert raised.value.facts["cause"] == "expired"


def test_a_renewal_moves_the_end(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 20

    held.renewed(granted(clock))

    clock.now += 20
    held.check()


def test_a_lease_seen_as_lost_does_not_come_back(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 31
    assert held.lost is not None

    held.renewed(granted(clock))

    assert held.lost is not None
    assert held.writing_ends() == -math.inf


def test_an_answer_that_comes_late_counts_where_nobody_has_looked(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 29
    late = granted(clock)
    clock.now += 2

    held.renewed(late)

    held.check()


def test_a_lease_of_another_generation_is_not_taken_for_this_one(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 20

    held.renewed(replace(granted(clock), generation=2))

    clock.now += 11
    assert held.lost is not None


def test_the_first_reason_of_a_loss_stays(clock: FakeClock) -> None:
    held = held_lease(clock)

    held.note(RunCancelled("run_cancelled", "stop", 409))
    held.note(LeaseLost("lease_lost", "stop", 409))

    with pytest.raises(RunCancelled):
        held.check()


def test_only_one_caller_has_the_last_word(clock: FakeClock) -> None:
    held = held_lease(clock)

    assert held.take_last_word()
    assert not held.take_last_word()
    assert not held.take_last_word(handing_back=True)
    held.check()


def test_nobody_has_the_last_word_over_a_lost_lease(clock: FakeClock) -> None:
    held = held_lease(clock)
    clock.now += 31

    assert not held.take_last_word()


def test_a_run_handed_back_can_be_parked_but_not_written_to(clock: FakeClock) -> None:
    held = held_lease(clock)

    held.take_last_word(handing_back=True)

    assert held.settling_ends() == held.ends
    assert held.writing_ends() == -math.inf
    with pytest.raises(Drained):
        held.check()
