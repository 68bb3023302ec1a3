"""The journal's proofs: revisions without holes, the chain of digests, times that never fall, one end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from runs import journal
from runs.models import Effect, Event, HumanDecision, Run
from runs.states import RUN_TERMINAL, TERMINAL_EVENTS, AggregateKind
from runs.verify.violation import Violation

ROWS_AT_ONCE = 1_000

_Aggregate = tuple[str, str]  # kind and id


def journals(runs: Sequence[Run]) -> Iterator[Violation]:
    """What is wrong in the journals of these runs, or between them and their rows."""
    logs = {run.pk: _Log(run) for run in runs}
    for event in _events(list(logs)):
        yield from logs[event.run_id].read(event)
    effects = Effect.objects.filter(run__in=runs).values_list("pk", "run_id", "effect_id", "revision")
    decisions = HumanDecision.objects.filter(run__in=runs).values_list("pk", "run_id", "decision_id", "revision")
    for kind, rows in ((AggregateKind.EFFECT, effects), (AggregateKind.DECISION, decisions)):
        for key, aggregate_id, revision in _in_pages(rows):
            yield from logs[key].stands((kind, aggregate_id), revision)
    for log in logs.values():
        yield from log.ends()


def _events(keys: Sequence[int]) -> Iterator[Event]:
    """All events of these runs, by run and then by sequence, a page at a time."""
    of_runs = Event.objects.filter(run__in=keys).order_by("run_id", "pk")
    page = list(of_runs[:ROWS_AT_ONCE])
    while page:
        yield from page
        last = page[-1]
        later = Q(run_id=last.run_id, pk__gt=last.pk) | Q(run_id__gt=last.run_id)
        page = list(of_runs.filter(later)[:ROWS_AT_ONCE]) if len(page) == ROWS_AT_ONCE else []


def _in_pages(rows: QuerySet[Any, tuple[int, int, str, int]]) -> Iterator[tuple[int, str, int]]:
    """All of these rows without their key, which comes first: a run may have thousands."""
    page = list(rows.order_by("pk")[:ROWS_AT_ONCE])
    while page:
        yield from ((run, name, revision) for _, run, name, revision in page)
        page = list(rows.filter(pk__gt=page[-1][0]).order_by("pk")[:ROWS_AT_ONCE]) if len(page) == ROWS_AT_ONCE else []


class _Log:
    """A run's journal as far as it has been read."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._digest: bytes = bytes(32)
        self._at: datetime = run.created_at
        self._revisions: Counter[_Aggregate] = Counter()
        self._types: Counter[str] = Counter()
        self._generation = 0

    def read(self, event: Event) -> Iterator[Violation]:
        """Go on by one event, the next in sequence."""
        aggregate = (event.kind, event.key)
        self._revisions[aggregate] += 1
        if event.revision != self._revisions[aggregate]:
            yield self._wrong("revision", f"{event} ({event.kind}) should be revision {self._revisions[aggregate]}")
            self._revisions[aggregate] = event.revision
        self._digest = journal.chained(self._digest, event)
        if self._digest != bytes(event.digest):
            yield self._wrong("chain", f"the digest of {event} is not that of its content after the event before it")
            self._digest = bytes(event.digest)
        if event.at < self._at:
            yield self._wrong("time", f"{event} lies {self._at - event.at} before what came before it")
        if event.project_id != self._run.project_id:
            yield self._wrong("project", f"{event} is filed under another project")
        self._at = max(self._at, event.at)
        self._types[event.type] += 1
        self._generation = max(self._generation, event.generation or 0)

    def stands(self, aggregate: _Aggregate, revision: int) -> Iterator[Violation]:
        """Compare an aggregate's own row with its events."""
        told = self._revisions.pop(aggregate, 0)
        if told != revision:
            kind, key = aggregate
            yield self._wrong("revision", f"the {kind} {key} has revision {revision} and {told} events")

    def ends(self) -> Iterator[Violation]:
        """Compare the run's row with the whole journal."""
        run, lease = self._run, self._run.lease
        yield from self.stands((AggregateKind.RUN, run.run_id), run.revision)
        for kind, key in self._revisions:
            yield self._wrong("revision", f"there are events of the {kind} {key}, which does not exist")
        if (bytes(run.head_digest), run.head_at) != (self._digest, self._at):
            yield self._wrong("head", "the run's head is not its newest event")
        ends = sum(self._types[type] for type in TERMINAL_EVENTS)
        if ends != (run.status in RUN_TERMINAL):
            yield self._wrong("end", f"the run is {run.status} and has {ends} events that end it")
        claims = self._types["lease.claimed"]
        if lease.generation < max(claims, self._generation):
            newest = max(claims, self._generation)
            yield self._wrong("generation", f"the lease has generation {lease.generation} after one of {newest}")

    def _wrong(self, rule: str, detail: str) -> Violation:
        return Violation.of(self._run, rule, detail)
