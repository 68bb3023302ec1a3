"""Write transactions on SQLite through Django: all get their turn, and none hears that the database is locked."""

import gc
import os
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest
from django.db import OperationalError, connections, transaction
from django.db.backends.utils import CursorWrapper
from pytest_django import DjangoDbBlocker

from workflowq import databases
from workflowq.sqlite.base import DatabaseWrapper
from workflowq.sqlite.gate import gate_of

pytestmark = pytest.mark.sqlite

COUNT = "CREATE TABLE counter (writer TEXT PRIMARY KEY, n INTEGER NOT NULL, seen INTEGER NOT NULL)"
PATIENT = 60.0


def connected(path: Path, timeout: float = PATIENT) -> DatabaseWrapper:
    """A connection of its own, as another thread or process would have."""
    config = databases.configured(f"sqlite:///{path}", base=Path("/"), pool=0)
    config["OPTIONS"] = {
        **config["OPTIONS"],
        "timeout": timeout,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF",
    }
    defaults = {"AUTOCOMMIT": True, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False, "TIME_ZONE": None}
    return DatabaseWrapper({**defaults, **config}, alias=f"writer-{threading.get_ident()}")


def atomic(connection: DatabaseWrapper) -> transaction.Atomic:
    """`transaction.atomic()` for a connection that is not in DATABASES."""
    connections[connection.alias] = connection
    return transaction.Atomic(connection.alias, savepoint=True, durable=False)


def execute(connection: DatabaseWrapper, statement: str, *values: str | int) -> CursorWrapper:
    cursor = connection.cursor()
    cursor.execute(statement, values)
    return cursor


@pytest.fixture(autouse=True)
def _own_databases(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    # These tests bring databases of their own, which pytest-django can't know.
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "queue.sqlite3"
    connection = connected(path)
    execute(connection, COUNT)
    connection.close()
    return path


@pytest.fixture
def database(path: Path) -> Iterator[DatabaseWrapper]:
    connection = connected(path)
    yield connection
    connection.close()


def write_until(path: Path, writer: str, whole: int) -> int:
    """Add one by one to a sum that all writers see, until it is `whole`; answer how much of it was this writer's."""
    connection = connected(path)
    execute(connection, "INSERT INTO counter VALUES (%s, 0, 0)", writer)
    mine = 0
    while True:
        with atomic(connection):
            (total,) = execute(connection, "SELECT sum(n) FROM counter").fetchone()
            if total >= whole:
                break
            # A sum that another writer changed meanwhile would be written wrong here.
            execute(connection, "UPDATE counter SET n = n + 1, seen = %s WHERE writer = %s", total + 1, writer)
            mine += 1
    connection.close()
    return mine


def total(path: Path) -> tuple[int, int]:
    with sqlite3.connect(path) as connection:
        row: tuple[int, int] = connection.execute("SELECT sum(n), max(seen) FROM counter").fetchone()
    connection.close()
    return row


def test_eight_threads_share_the_writer_fairly(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        shares = list(pool.map(lambda number: write_until(path, f"thread {number}", 1600), range(8)))

    assert total(path) == (1600, 1600)
    assert min(shares) > 100, shares


def _in_process(path: Path, number: int, barrier: Barrier, shares: "Queue[int]") -> None:
    barrier.wait()
    shares.put(write_until(path, f"process {number}", 1200))


@pytest.mark.parametrize("context", [get_context("spawn"), get_context("fork")], ids=["spawn", "fork"])
def test_four_processes_share_the_writer_fairly(path: Path, context: SpawnContext | ForkContext) -> None:
    barrier, shares = context.Barrier(4), context.Queue()
    processes = [context.Process(target=_in_process, args=(path, number, barrier, shares)) for number in range(4)]

    for process in processes:
        process.start()
    got = [shares.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()

    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert total(path) == (1200, 1200)
    assert min(got) > 100, got


def test_a_writer_that_waits_too_long_is_told_that_the_database_is_locked(
    path: Path, database: DatabaseWrapper
) -> None:
    late = connected(path, timeout=0.05)

    with (
        gate_of(str(path)).enter(PATIENT),
        pytest.raises(OperationalError, match=r"database is locked: .* 0\.05 seconds"),
    ):
        execute(late, "INSERT INTO counter VALUES ('late', 1, 1)")

    execute(late, "INSERT INTO counter VALUES ('late', 1, 1)")
    late.close()


def held(path: Path) -> bool:
    """Whether somebody has the gate."""
    return gate_of(str(path))._inside


def test_a_transaction_holds_the_gate_from_its_first_statement_to_its_commit(
    path: Path, database: DatabaseWrapper
) -> None:
    with atomic(database):
        during = held(path)

    assert (during, held(path)) == (True, False)


def test_an_inner_block_neither_waits_for_the_outer_one_nor_opens_the_gate(
    path: Path, database: DatabaseWrapper
) -> None:
    with atomic(database):
        with atomic(database):
            execute(database, "INSERT INTO counter VALUES ('inner', 1, 1)")
        after_inner = held(path)

    assert (after_inner, held(path)) == (True, False)


def test_an_inner_block_that_fails_leaves_the_gate_to_the_outer_one(path: Path, database: DatabaseWrapper) -> None:
    with atomic(database):
        with pytest.raises(ZeroDivisionError), atomic(database):
            raise ZeroDivisionError
        after_inner = held(path)

    assert (after_inner, held(path)) == (True, False)


def test_a_rollback_opens_the_gate(path: Path, database: DatabaseWrapper) -> None:
    with pytest.raises(ZeroDivisionError), atomic(database):
        raise ZeroDivisionError

    assert not held(path)


def test_closing_in_the_middle_opens_the_gate(path: Path, database: DatabaseWrapper) -> None:
    with atomic(database):
        database.close()
        after_close = held(path)

    assert not after_close


# Newer Pythons complain of what this test is about.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_that_is_dropped_in_a_transaction_opens_the_gate(path: Path) -> None:
    def begin_and_die() -> None:
        connection = connected(path)
        connection.ensure_connection()
        connection._start_transaction_under_autocommit()

    thread = threading.Thread(target=begin_and_die)
    thread.start()
    thread.join()
    gc.collect()

    assert not held(path)


def test_a_single_write_passes_the_gate_and_leaves_it(path: Path, database: DatabaseWrapper) -> None:
    late = connected(path, timeout=0.05)
    with atomic(database), pytest.raises(OperationalError, match="kept the gate"):
        execute(late, "UPDATE counter SET n = 1")

    execute(late, "UPDATE counter SET n = 1")

    assert not held(path)
    late.close()


def test_reading_passes_by_the_gate(path: Path, database: DatabaseWrapper) -> None:
    reader = connected(path, timeout=0.05)

    with atomic(database):
        rows = execute(reader, "SELECT * FROM counter").fetchall()

    assert rows == []
    reader.close()


def test_a_forked_child_does_not_open_its_parents_gate(path: Path, database: DatabaseWrapper) -> None:
    with atomic(database):
        child = os.fork()
        if child == 0:
            # Only the gate: a connection must not be carried over a fork.
            database._leave()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        late = connected(path, timeout=0.05)
        with pytest.raises(OperationalError, match="kept the gate"):
            execute(late, "UPDATE counter SET n = 1")

    assert status == 0
