"""Transitions that are cut off at any of their statements: what is needed to do so, whatever the transition."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection

from tests.builders import FrozenClock, RunBuilder

Act = Callable[[], object]
# Prepares a state and gives the transition that is about to be made on it. The clock goes on a bit after that.
Scene = Callable[[RunBuilder, FrozenClock], Act]


class Crash(Exception):
    """The process dies here."""


@dataclass
class Countdown:
    """Crashes before the statement of that number, counted from nought."""

    left: int
    is_over: bool = False

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if self.left == 0:
            self.is_over = True
            raise Crash(sql)
        self.left -= 1
        return execute(sql, params, many, context)


def crashes_before(number: int, act: Act) -> bool:
    """Whether the transition got so far as to crash before the statement of that number."""
    countdown = Countdown(number)
    with connection.execute_wrapper(countdown):
        try:
            act()
        except Crash:
            return True
    # A verb that swallows the crash would show as a success with a hole in it.
    assert not countdown.is_over
    return False


@contextmanager
def a_commit_that_fails(*, lands: bool) -> Iterator[None]:
    """The next commit breaks the connection, before the database has heard of it or after."""
    wrapper: Any = connection
    really = wrapper._commit

    def commit() -> None:
        wrapper._commit = really
        if lands:
            really()
        raise OperationalError("the connection broke during commit")

    wrapper._commit = commit
    try:
        yield
    finally:
        wrapper._commit = really
