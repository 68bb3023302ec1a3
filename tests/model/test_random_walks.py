"""Random walks: whatever is done to the queue in whatever order, it answers and stands as a small model of it does.

The same tests run on both databases, so that these agree with each other, too.
"""

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.walk import Walk
from tests.model.walk_control import Control
from tests.model.walk_decisions import Decisions
from tests.model.walk_ends import Ends
from tests.model.walk_runs import Holds, Runs
from tests.model.walk_sessions import Messages, Requests
from tests.model.walk_work import Effects


class Holding(Runs, Holds, Ends, Control):
    """Who is handed a run, for how long, and how it ends."""


class Outbox(Ends, Control, Effects):
    """Effects of which nobody knows, and what becomes of their runs."""


class Sessions(Ends, Control, Requests):
    """Runs that wait for their sessions."""


class People(Ends, Control, Decisions, Messages):
    """Runs that wait for people, and what they tell them."""


class Everything(Runs, Holds, Ends, Control, Effects, Requests, Decisions, Messages):
    """All of it at once."""


SUBJECTS = [Holding, Outbox, Sessions, People, Everything]
# The same walks every time: no surprise in somebody else's change. From the eleventh on hypothesis varies earlier ones,
# so that two short runs meet more than a long one.
QUICK = settings(
    max_examples=9,
    stateful_step_count=40,
    database=None,
    deadline=None,
    phases=[Phase.generate, Phase.shrink],
    # A step takes two dozen statements, which is slow by hypothesis' measure.
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=500, stateful_step_count=80)


WALKS = [*((subject, 1) for subject in SUBJECTS), (Holding, 2), (Everything, 2)]
# A step on SQLite takes half the time.
MORE = [pytest.param(subject, 3, marks=pytest.mark.sqlite) for subject in SUBJECTS]


# A walk that fails is made shorter and shorter: that may take minutes.
@pytest.mark.timeout(600)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("subject", "number"), [*WALKS, *MORE])
def test_a_random_walk_gives_the_answers_and_the_state_of_the_model(subject: type[Walk], number: int) -> None:
    run_state_machine_as_test(seed(number)(_part(subject, number)), settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_many_long_random_walks_give_the_answers_and_the_state_of_the_model(subject: type[Walk]) -> None:
    run_state_machine_as_test(subject, settings=LONG)


def _part(subject: type[Walk], number: int) -> type[Walk]:
    return type(f"{subject.__name__}{number}", (subject,), {})
