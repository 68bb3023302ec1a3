"""A process that is killed in the middle: `python -m tests.races.killed VERB DATABASE RUN_ID TOKEN`.

For each statement of the verb a fork makes the verb's transition and kills itself before that statement; the last one
kills itself right after the commit. Between two forks it tells the number and waits for a line.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import django

PROJECT = "killed"


def main(verb: str, database: str, run_id: str, token: str) -> None:
    """Be killed at every statement, once each."""
    django.setup()
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = database
    act = VERBS[verb]
    for number in count():
        child = os.fork()
        if child == 0:
            _until_killed(number, lambda: act(run_id, token))
        _, status = os.waitpid(child, 0)
        is_last = os.WIFEXITED(status)
        sys.stdout.write(f"{'committed' if is_last else number}\n")
        sys.stdout.flush()
        if is_last:
            return
        sys.stdin.readline()


def _until_killed(number: int, act: Callable[[], object]) -> None:
    from django.db import connection

    left = number

    def kill(execute: Any, sql: str, params: Any, many: bool, context: Mapping[str, Any]) -> Any:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(kill):
        act()
    # As it would die: nothing is closed, nothing is said to the database.
    os._exit(0)


def _project() -> Any:
    from runs.models import Project

    return Project.objects.get(path=PROJECT)


def reserve(run_id: str, token: str) -> None:
    from runs import transitions
    from tests.builders import RunBuilder

    transitions.reserve(
        _project(), RunBuilder(_project()).reservation(run_id="new", workflow_name="new", origin_session_id="another")
    )


def claim_next(run_id: str, token: str) -> None:
    from runs import transitions

    transitions.claim_next(_project(), transitions.Claimant("host-b", 30_000), ["another token"])


def complete(run_id: str, token: str) -> None:
    from runs import transitions

    transitions.complete(_project(), transitions.Completion(run_id, token, {"x": 1}))


def cancel(run_id: str, token: str) -> None:
    from runs import transitions
    from tests.builders import OPERATOR

    transitions.cancel(_project(), run_id, OPERATOR)


def reserve_effect(run_id: str, token: str) -> None:
    from runs import transitions

    reservation = transitions.EffectReservation("mail.send", "order-1", {"to": "x@example.org"})
    transitions.reserve_effect(_project(), transitions.Hold(run_id, token), reservation)


VERBS: dict[str, Callable[[str, str], None]] = {
    "reserve": reserve,
    "claim_next": claim_next,
    "complete": complete,
    "cancel": cancel,
    "reserve_effect": reserve_effect,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
