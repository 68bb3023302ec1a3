"""The cast of the domain's tests: a clock that stands still, a project, and a builder of its runs."""

from collections.abc import Iterator

import pytest

from runs.models import Project
from tests.builders import FrozenClock, RunBuilder
from tests.soundness import assert_sound


@pytest.fixture
def clock() -> Iterator[FrozenClock]:
    with FrozenClock() as clock:
        yield clock


@pytest.fixture
def project(db: None, clock: FrozenClock) -> Project:
    return Project.objects.create(path="project")


@pytest.fixture
def other_project(project: Project) -> Project:
    return Project.objects.create(path="other project")


@pytest.fixture
def make(project: Project) -> RunBuilder:
    return RunBuilder(project)


@pytest.fixture(autouse=True)
def sound(db: None, clock: FrozenClock) -> Iterator[None]:
    """Whatever a test did, the queue's invariants hold after it."""
    yield
    assert_sound()
