"""What must be true of the queue's rows after every transition; to be asserted at the end of a test that moves state."""

import hashlib
from collections import defaultdict

from django.db import connection

from runs import journal, rules
from runs.models import Blob, Event, NodeAttempt, Run
from runs.states import ATTEMPT_OPEN, QUEUE_TERMINAL, RUN_TERMINAL, AggregateKind, QueueStatus, RunStatus
from runs.transitions import derived

ENDS = {
    (RunStatus.COMPLETED, QueueStatus.DONE),
    (RunStatus.FAILED, QueueStatus.FAILED),
    (RunStatus.TIMED_OUT, QueueStatus.FAILED),
    (RunStatus.CANCELLED, QueueStatus.CANCELLED),
}
TERMINAL_EVENTS = {"run.queue_done", "run.queue_failed", "run.queue_cancelled"}


def assert_sound() -> None:
    """Every invariant, over all rows of all projects."""
    by_run: dict[int, list[Event]] = defaultdict(list)
    for event in Event.objects.select_related("run").in_sequence():
        by_run[event.run_id].append(event)
    for run in Run.objects.select_related("lease"):
        _assert_journal(run, by_run.pop(run.pk, []))
        _assert_state(run)
    assert not by_run, "events without a run"
    for blob in Blob.objects.all():
        content = bytes(blob.content)
        assert hashlib.sha256(content).digest() == bytes(blob.digest), f"blob {blob} is not what its digest says"
        assert len(content) == blob.size


def _assert_journal(run: Run, events: list[Event]) -> None:
    revisions: dict[tuple[str, str], list[int]] = defaultdict(list)
    before, at = bytes(32), run.created_at
    for event in events:
        revisions[event.kind, event.key].append(event.revision)
        before = journal.chained(before, event)
        assert before == bytes(event.digest), f"{run}: the digest of {event} is not that of its content"
        assert event.at >= at, f"{run}: {event} lies before its predecessor"
        assert event.project_id == run.project_id
        at = event.at
    for key, numbers in revisions.items():
        assert numbers == list(range(1, len(numbers) + 1)), f"{run}: the revisions of {key} have a hole"
    assert run.revision == len(revisions[AggregateKind.RUN, run.run_id]), f"{run}: revision {run.revision}"
    assert (bytes(run.head_digest), run.head_at) == (before, at), f"{run}: its head is not its newest event"
    ends = [event for event in events if event.type in TERMINAL_EVENTS]
    assert len(ends) == (run.status in RUN_TERMINAL), f"{run} is {run.status} after {ends}"


def _assert_state(run: Run) -> None:
    lease = run.lease
    axes = (run.status, run.queue_status)
    is_over = run.status in RUN_TERMINAL
    assert is_over == (run.queue_status in QUEUE_TERMINAL), f"{run}: the axes disagree: {axes}"
    assert not is_over or axes in ENDS, f"{run}: the axes disagree: {axes}"
    kept = [getattr(lease, field) for field in derived.DERIVED_FIELDS]
    derived.refresh([run])
    assert kept == [getattr(lease, field) for field in derived.DERIVED_FIELDS], f"{run}: its lease keeps {kept}"
    assert lease.ready_at == rules.ready_at(run, lease)
    assert (lease.project_id, lease.workflow_id, lease.priority) == (run.project_id, run.workflow_id, run.priority)
    if is_over:
        assert lease.owner_id is None, f"{run} is over and has the owner {lease.owner_id}"
        assert not run.paused, f"{run} is over and paused"
        is_open = NodeAttempt.objects.filter(run=run, status__in=sorted(ATTEMPT_OPEN))
        assert not is_open.exists(), f"{run} is over and has open attempts"
    newest = run.events.order_by("-generation").values_list("generation", flat=True)
    assert lease.generation >= max((number for number in newest if number), default=0)


# The chain once more, by the database alone: each member as its length, a colon and its text, "-" for null.
_MEMBERS = "kind, key, revision::text, type, actor_type, actor_id, generation::text, payload, ms::text"
_CHAIN = """
WITH forms AS (
  SELECT id, run_id, digest, {form} AS form
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


def events_with_a_wrong_digest_in_sql() -> list[int]:
    """Sequence numbers of the events whose digest PostgreSQL computes otherwise, by SQL and nothing else."""
    form = " || ".join(f"coalesce(octet_length({m.strip()}) || ':' || {m}, '-')" for m in _MEMBERS.split(","))
    with connection.cursor() as cursor:
        cursor.execute(_CHAIN.format(form=form))
        return [row[0] for row in cursor.fetchall()]
