"""The cast: two projects, and who may do what in them."""

from collections.abc import Iterator

import pytest

from runs.models import Project
from runs.states import Scope
from runs.transitions import make_project
from tests.api.cast import Caller, caller
from tests.api.verbs import Cast
from tests.builders import FrozenClock


@pytest.fixture(autouse=True)
def _rows(db: None) -> None:
    """All of these tests touch the database."""


@pytest.fixture
def project() -> Project:
    return make_project("alpha")[0]


@pytest.fixture
def other_project() -> Project:
    return make_project("beta")[0]


@pytest.fixture
def client(project: Project) -> Caller:
    """Reserves runs and looks at them."""
    return caller(project, Scope.RUNS_READ, Scope.RUNS_WRITE, name="client")


@pytest.fixture
def runner(project: Project) -> Caller:
    """Executes runs, and nothing else."""
    return caller(project, Scope.RUNS_EXECUTE, name="runner", owner_id="host-a")


@pytest.fixture
def other_runner(project: Project) -> Caller:
    """Another machine's runner."""
    return caller(project, Scope.RUNS_EXECUTE, name="other runner", owner_id="host-b")


@pytest.fixture
def operator(project: Project) -> Caller:
    """Looks at runs and cancels them."""
    return caller(project, Scope.RUNS_READ, Scope.RUNS_CONTROL, name="operator")


@pytest.fixture
def stranger(other_project: Project) -> Caller:
    """May do everything, in another project."""
    everything = [scope for scope in Scope if scope is not Scope.DECISIONS_ANSWER]
    return caller(other_project, *everything, name="stranger", owner_id="host-z")


@pytest.fixture
def nobody() -> Caller:
    """Has no access token."""
    return Caller()


@pytest.fixture
def frozen() -> Iterator[FrozenClock]:
    """The queue's clock, standing still."""
    with FrozenClock() as clock:
        yield clock


@pytest.fixture
def cast(client: Caller, runner: Caller, operator: Caller) -> Cast:
    """The three of one project who may change something."""
    return Cast(client, runner, operator)
