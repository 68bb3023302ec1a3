"""The cast of the kit's tests: a clock, a server that plays the wire, and a client between them."""

from collections.abc import Iterator

import pytest

from tests.runner.fake_clock import FakeClock
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock) -> FakeServer:
    return FakeServer(clock)


@pytest.fixture
def client(fake: FakeServer, clock: FakeClock) -> Iterator[Client]:
    with fake.client(clock) as client:
        yield client
