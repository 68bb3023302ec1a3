"""How waits grow and spread."""

import random

from workflowq.runner.backoff import Backoff


def test_waits_grow_to_the_cap_and_fall_back_after_success() -> None:
    backoff = Backoff(base=0.5, cap=30, rng=random.Random(1))

    waits = [backoff.next() for _ in range(200)]
    backoff.reset()

    assert max(waits) <= 30
    assert max(waits[:2]) <= 1
    assert 10 < sum(waits[100:]) / 100 < 20
    assert backoff.next() <= 0.5


def test_two_runners_do_not_march_in_step() -> None:
    one, other = Backoff(rng=random.Random(1)), Backoff(rng=random.Random(2))

    together = sum(abs(one.next() - other.next()) < 0.05 for _ in range(50))

    assert together < 10


def test_what_the_server_asked_for_is_waited_at_least_and_never_beyond_reason() -> None:
    backoff = Backoff(base=0.5, cap=30)

    assert backoff.next(at_least=3) >= 3
    assert backoff.next(at_least=1e9) <= 60
