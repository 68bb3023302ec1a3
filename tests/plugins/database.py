"""Gives a test run its database: a fresh SQLite file, or a private PostgreSQL where WORKFLOWQ_TEST_DB is postgres.

Loaded by `-p` and not from conftest.py: by then Django has read its settings and chosen.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.private_postgres import PrivatePostgres

CHOICE = "WORKFLOWQ_TEST_DB"
# Of those of one run each worker of pytest-xdist has its own: pytest-django puts the worker's name behind it.
SQLITE_NAME = "workflowq-test.sqlite3"


def chosen() -> str:
    """sqlite or postgres."""
    choice = os.environ.get(CHOICE, "sqlite")
    if choice not in {"sqlite", "postgres"}:
        raise pytest.UsageError(f"{CHOICE} must be sqlite or postgres; it is {choice!r}.")
    return choice


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    # A wrapper runs before every plain hook, pytest-django's among them, which reads the settings.
    stack = ExitStack()
    early_config.add_cleanup(stack.close)
    # A worker of pytest-xdist inherits its controller's choice.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        os.environ["DATABASE_URL"] = _postgres(stack) if chosen() == "postgres" else _sqlite(stack)
    return (yield)


def _postgres(stack: ExitStack) -> str:
    return stack.enter_context(PrivatePostgres()).url


def _sqlite(stack: ExitStack) -> str:
    folder = Path(tempfile.mkdtemp(prefix="wq-sqlite-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return f"sqlite:///{folder / SQLITE_NAME}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that are about the other database."""
    other = "sqlite" if chosen() == "postgres" else "postgres"
    left_out = [item for item in items if item.get_closest_marker(other)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(other)]


def pytest_report_header() -> str:
    """Say which database this run is about."""
    return f"database: {chosen()}"
