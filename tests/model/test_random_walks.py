"""Random walks: whatever is done to the queue in whatever order, it answers and stands as a small model of it does.

The same test on both databases, so that these agree with each other, too.
"""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.walk_control import Control
from tests.model.walk_decisions import Decisions
from tests.model.walk_leases import Leases
from tests.model.walk_sessions import Messages, Requests
from tests.model.walk_work import Effects

QUICK = settings(
    max_examples=80,
    stateful_step_count=40,
    derandomize=True,  # the same walks every time: no surprise in somebody else's change
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    # A walk makes its rows through two dozen statements a step: that is slow by hypothesis' measure.
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
LONG = settings(QUICK, max_examples=2_000, stateful_step_count=60, derandomize=False)


class Everything(Leases, Control, Requests, Effects, Decisions, Messages):
    """All verbs mixed."""


@pytest.mark.django_db(transaction=True)
def test_a_random_walk_gives_the_model_s_answers_and_its_state() -> None:
    run_state_machine_as_test(Everything, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.django_db(transaction=True)
def test_many_long_random_walks_give_the_model_s_answers_and_its_state() -> None:
    run_state_machine_as_test(Everything, settings=LONG)
