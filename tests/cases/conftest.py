"""The cast of the API's tests, for cases that go over the wire."""

from tests.api.conftest import (  # noqa: F401  # fixtures
    _rows,
    cast,
    client,
    frozen,
    operator,
    other_project,
    other_runner,
    project,
    runner,
    stranger,
)
