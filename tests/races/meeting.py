"""Threads that meet: at a barrier, or behind a lock that somebody else holds. Their failures are the test's."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from django.db import connection, connections, transaction

from runs import errors
from runs.models import Lease
from tests.builders import Made

PATIENCE_SECONDS = 60

Act = Callable[[], Any]


class Crowd:
    """So many threads, each with a connection of its own to the database for as long as the block lasts."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> Self:
        self._threads = ThreadPoolExecutor(self._size, thread_name_prefix="racer")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.at_once(*[connections.close_all] * self._size)
        self._threads.shutdown()

    def at_once(self, *acts: Act) -> list[Any]:
        """What each act gave, or the refusal that it met; all begin at one moment."""
        return _outcomes(self._begun(acts))

    def behind(self, made: Sequence[Made], *acts: Act, then: Act = lambda: None) -> list[Any]:
        """The same, but all have to wait for the locks of these runs before; `then` happens in the lock's transaction.

        PostgreSQL tells how many wait, so that it is certain that all of them did.
        """
        with transaction.atomic():
            list(Lease.objects.locked().filter(pk__in=[each.key for each in made]))
            waiting = _waiting()
            begun = self._begun(acts)
            while _waiting() < waiting + len(acts):
                _fail_early(begun)
            then()
        return _outcomes(begun)

    def _begun(self, acts: Sequence[Act]) -> "list[Future[Any]]":
        if len(acts) > self._size:
            raise ValueError(f"{len(acts)} acts for {self._size} threads would wait for one another for ever")
        barrier = threading.Barrier(len(acts))

        def begin(act: Act) -> Any:
            connection.ensure_connection()
            barrier.wait(PATIENCE_SECONDS)
            return act()

        return [self._threads.submit(begin, act) for act in acts]


def _outcomes(begun: "Sequence[Future[Any]]") -> list[Any]:
    """The results in order; any exception that is no refusal is raised, once all threads are done."""
    ended = [(future.exception(PATIENCE_SECONDS), future) for future in begun]
    for failure, _ in ended:
        if failure is not None and not isinstance(failure, errors.Refusal):
            raise failure
    return [future.result() if failure is None else failure for failure, future in ended]


def _fail_early(begun: "Sequence[Future[Any]]") -> None:
    for future in begun:
        if future.done():
            future.result()
            raise AssertionError("an act was over before the lock was let go")


def _waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        count: int = cursor.fetchone()[0]
    return count


@contextmanager
def without_deadlocks() -> Iterator[None]:
    """PostgreSQL counts no deadlock while the block lasts, not even one that was got over by trying again."""
    before = _deadlocks()
    yield
    assert _deadlocks() == before


def _deadlocks() -> int:
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        # A connection keeps its counts to itself for up to a second otherwise.
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        count: int = cursor.fetchone()[0]
    return count


def codes(outcomes: Sequence[Any]) -> list[str]:
    """Each outcome in a word, sorted: what was refused by its code, anything else as done."""
    return sorted(outcome.code if isinstance(outcome, errors.Refusal) else "done" for outcome in outcomes)
