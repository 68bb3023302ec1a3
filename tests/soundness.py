"""What must be true of the queue's rows after every transition, for the end of each test that moves state."""

from django.db import connection

from runs.verify import violations
from tests import by_hand

# The chain once more, by the database alone: each member as its length, a colon and its text, "-" for null.
_MEMBERS = "kind, key, revision::text, type, actor_type, actor_id, generation::text, payload, ms::text"
_CHAIN = """
WITH forms AS (
  SELECT id, run_id, digest, {form} || coalesce(octet_length(changes) || ':' || changes, '') AS form
  FROM (SELECT *, (extract(epoch FROM at) * 1000)::bigint AS ms FROM runs_event) AS events
), chain AS (
  SELECT id, digest, sha256(
    coalesce(lag(digest) OVER (PARTITION BY run_id ORDER BY id), decode(repeat('00', 32), 'hex'))
    || convert_to(form, 'UTF8')
  ) AS expected
  FROM forms
)
SELECT id FROM chain WHERE digest <> expected ORDER BY id
"""


def assert_sound() -> None:
    """Every invariant that the queue itself can prove, over all runs of all projects."""
    found = [
        str(violation)
        for violation in violations()
        if not (violation.rule == "view" and by_hand.is_by_hand(violation.run_key))
    ]
    assert not found, "\n".join(found)
    by_hand.assert_told()


def events_with_a_wrong_digest_in_sql() -> list[int]:
    """Sequence numbers of the events whose digest PostgreSQL computes otherwise, by SQL and nothing else."""
    form = " || ".join(f"coalesce(octet_length({m.strip()}) || ':' || {m}, '-')" for m in _MEMBERS.split(","))
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN.format(form=form))
        return [row[0] for row in cursor.fetchall()]
