"""The cast of the races: real commits, a clock that stands still unless somebody moves it, and many rounds."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.db import connection

from runs.models import Project
from tests.builders import FrozenClock, RunBuilder
from tests.soundness import assert_sound


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """A thousand rounds take minutes on a busy machine."""
    for item in items:
        if item.get_closest_marker("slow") and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture
def clock() -> Iterator[FrozenClock]:
    with FrozenClock() as clock:
        yield clock


@pytest.fixture
def project(transactional_db: None, clock: FrozenClock) -> Project:
    return Project.objects.create(path="project")


@pytest.fixture
def make(project: Project) -> RunBuilder:
    return RunBuilder(project)


@pytest.fixture(params=["some", pytest.param("many", marks=pytest.mark.slow)])
def rounds(request: pytest.FixtureRequest, transactional_db: None) -> int:
    """How often threads meet. On SQLite, where writers stand in a row, there is less to find out."""
    wanted = {"some": 100, "many": 1_000}[request.param]
    return wanted if connection.vendor == "postgresql" else wanted // 5


@pytest.fixture
def few_rounds(rounds: int) -> int:
    """Enough where the order of things is forced, or where one round is many meetings."""
    return rounds // 5


@pytest.fixture(autouse=True)
def sound(transactional_db: None, clock: FrozenClock) -> Iterator[None]:
    """However the races went, the queue's invariants hold after them."""
    yield
    assert_sound()
