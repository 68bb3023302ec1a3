"""Thousands of runs at once, copied inside the database from one that the transitions made. For plans and benchmarks.

The copies have no events: nothing that looks at journals should meet them.
"""

from typing import Any

from django.db import connection, models

from runs.models import Lease, Run
from tests.builders import Made


def copy(made: Made, count: int, name: str) -> None:
    """So many runs more that stand as this one does; `name` begins their ids and sessions."""
    own = {"run_id": "%s || CAST(n AS text)", "origin_session_id": "%s || CAST(n AS text)"}
    _insert(
        Run,
        own,
        [count, name, name, made.run.pk],
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %s) "
        "SELECT {values} FROM numbers, runs_run WHERE runs_run.id = %s",
    )
    _insert(
        Lease,
        {"run_id": "copies.id"},
        [f"{name}%", made.run.pk, made.run.pk],
        "SELECT {values} FROM runs_run AS copies, runs_lease "
        "WHERE copies.run_id LIKE %s AND copies.id > %s AND runs_lease.run_id = %s",
    )


def analyze() -> None:
    """Let the planner know what is there."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _insert(model: type[models.Model], own: dict[str, str], params: list[Any], select: str) -> None:
    table = model._meta.db_table
    columns = [str(field.column) for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    values = ", ".join(own.get(column, f"{table}.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({', '.join(columns)}) {select.format(values=values)}", params)
