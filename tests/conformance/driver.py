"""Plays conformance traces over a pipe: one JSON object a line in, one line out. `python -m tests.conformance.driver`

The database is that of DATABASE_URL, which is emptied at every reset, or a temporary SQLite file.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Answer = dict[str, Any]


class Driver:
    """One database, many traces: `answer` takes a reset, a step or a dump and gives the line to send back."""

    def __init__(self) -> None:
        from tests.conformance.operations import World

        self._world = World(path="")

    def answer(self, asked: dict[str, Any]) -> Answer:
        """The answer to one line."""
        from runs import clock

        op, args = asked["op"], {name: value for name, value in asked["args"].items() if value is not None}
        with clock.frozen(clock.from_ms(asked["now"])):
            if op == "reset":
                return self._reset(args)
            answer = self._step(op, args)
            self._world.see_new_events()
            return answer

    def _reset(self, args: dict[str, Any]) -> Answer:
        from django.db import connection, transaction

        from runs import models
        from tests.conformance.operations import World

        with transaction.atomic(), connection.cursor() as cursor:
            # In any order, since foreign keys are checked at commit; for so few rows much faster than TRUNCATE.
            for name in models.__all__:
                cursor.execute(f"DELETE FROM {getattr(models, name)._meta.db_table}")
        models.Project.objects.create(path=args["project"])
        self._world = World(path=args["project"])
        return {"result": None}

    def _step(self, op: str, args: dict[str, Any]) -> Answer:
        from runs import errors
        from tests.conformance.dump import dump
        from tests.conformance.fixtures import FIXTURES, derive_again
        from tests.conformance.operations import OPERATIONS, refused

        if op == "dump":
            return {"result": dump(self._world.ranks)}
        if op in FIXTURES:
            FIXTURES[op](self._world, args)
            derive_again()
            return {"result": None}
        if op not in OPERATIONS:
            return {"error": "unsupported", "error_code": "unsupported"}
        try:
            return {"result": OPERATIONS[op](self._world, args)}
        except errors.Refusal as refusal:
            return refused(op, refusal)


def serve() -> None:
    """Answer lines until the input ends."""
    driver = Driver()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(driver.answer(json.loads(line)), ensure_ascii=False) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Set up Django on the chosen database and serve."""
    with tempfile.TemporaryDirectory(prefix="wq-driver-") as folder:
        os.environ.setdefault("DATABASE_URL", f"sqlite:///{Path(folder) / 'driver.sqlite3'}")
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
        for stream in (sys.stdin, sys.stdout):
            stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # text streams both
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        serve()


if __name__ == "__main__":
    main()
