"""Updates of many rows, each with values of its own: one statement that joins the table to the new values.

Django's bulk_update spells a CASE with a branch a row for every column; for a batch of a hundred that takes longer to
spell than everything else of a transition takes to do.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection, models

MOST_PARAMETERS = 30_000  # of one statement


def update(rows: Sequence[models.Model], names: Sequence[str]) -> None:
    """Store these fields of these rows of one model, which are stored already."""
    meta = rows[0]._meta
    fields = [meta.get_field(name) for name in names]
    with connection.cursor() as cursor:
        for some in _chunks(rows, 1 + len(fields)):
            values = [value for row in some for value in _values(row, [meta.pk, *fields])]
            cursor.execute(_statement(meta, fields, len(some)), values)


def _statement(meta: Any, fields: Sequence[Any], count: int) -> str:
    """UPDATE ... FROM a list of (key, values), whose columns are named k, c0, c1 and so on."""
    quote = connection.ops.quote_name
    names = ["k", *(f"c{place}" for place in range(len(fields)))]
    line = "(" + ", ".join(["%s"] * len(names)) + ")"
    # A column of nulls alone would have no type of its own.
    moves = [
        f"{quote(field.column)} = CAST(fresh.{name} AS {field.cast_db_type(connection)})"
        for field, name in zip(fields, names[1:], strict=True)
    ]
    return (
        f"WITH fresh ({', '.join(names)}) AS (VALUES {', '.join([line] * count)}) "  # noqa: S608 (names, no values)
        f"UPDATE {quote(meta.db_table)} SET {', '.join(moves)} "
        f"FROM fresh WHERE {quote(meta.db_table)}.{quote(meta.pk.column)} = fresh.k"
    )


def _values(row: models.Model, fields: Sequence[Any]) -> Iterator[Any]:
    for field in fields:
        yield field.get_db_prep_save(getattr(row, field.attname), connection)


def _chunks(rows: Sequence[models.Model], width: int) -> Iterator[Sequence[models.Model]]:
    most = max(1, min(MOST_PARAMETERS, connection.features.max_query_params or MOST_PARAMETERS) // width)
    for start in range(0, len(rows), most):
        yield rows[start : start + most]
