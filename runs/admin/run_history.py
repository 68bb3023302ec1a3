"""What happened to a run: its newest attempts and events, oldest first, each cut to what a page can show."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models.functions import Length, Substr
from django.urls import reverse
from django.utils.safestring import SafeString

from runs.admin import labels, times
from runs.admin.documents import BRIEF_EXCERPT, Document, excerpts
from runs.admin.text import escaped, identifier
from runs.models import Event, NodeAttempt, Run
from runs.states import AggregateKind

MAX_EVENTS: Final = 200
MAX_ATTEMPTS: Final = 100
MAX_PAYLOAD: Final = 2_000
MAX_PROGRESS: Final = 500


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt; its output or error is the document."""

    node: SafeString
    attempt_id: SafeString
    number: int
    label: SafeString
    generation: int
    started: SafeString
    lasted: str
    progress: str
    document: Document | None
    failed: bool
    address: str


@dataclass(frozen=True, slots=True)
class Attempts:
    rows: list[AttemptRow]
    has_more: bool


def attempts(run: Run, now: datetime) -> Attempts:
    """The newest attempts in the order of their start. Two statements."""
    newest = list(NodeAttempt.objects.filter(run=run).order_by("-pk")[: MAX_ATTEMPTS + 1])
    shown = newest[:MAX_ATTEMPTS][::-1]
    documents = excerpts((attempt.error_id or attempt.output_id for attempt in shown), BRIEF_EXCERPT)
    return Attempts([_attempt(attempt, documents, now) for attempt in shown], len(newest) > MAX_ATTEMPTS)


def _attempt(attempt: NodeAttempt, documents: dict[int, Document], now: datetime) -> AttemptRow:
    failed = attempt.error_id is not None
    key = attempt.error_id or attempt.output_id
    progress = escaped((attempt.progress or "")[: MAX_PROGRESS + 1])
    name = "error" if failed else "output"
    return AttemptRow(
        node=identifier(attempt.node_id),
        attempt_id=identifier(attempt.attempt_id),
        number=attempt.attempt_number,
        label=labels.label(attempt.status),
        generation=attempt.generation,
        started=times.relative(attempt.started_at, now),
        lasted=times.length((attempt.finished_at or now) - attempt.started_at),
        progress=progress if len(progress) <= MAX_PROGRESS else progress[:MAX_PROGRESS] + "…",
        document=documents[key] if key else None,
        failed=failed,
        address=reverse("admin:runs_run_attempt_document", args=[attempt.run_id, attempt.pk, name]),
    )


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event; `aggregate` names what its revision counts, where that is not the run itself."""

    seq: int
    revision: int
    aggregate: SafeString | None
    type: SafeString
    actor_type: str
    actor_id: SafeString
    generation: int | None
    payload: str
    payload_length: int
    whole: bool
    at: SafeString


@dataclass(frozen=True, slots=True)
class Events:
    """`earlier` counts at least those of the run itself that lie before the shown ones; revisions tell it."""

    rows: list[EventRow]
    earlier: int
    older_than: int | None
    paged: bool


def events(run: Run, now: datetime, before: int | None) -> Events:
    """The newest events, newest last; with `before`, the newest of those before that sequence number. One statement."""
    found = Event.objects.filter(run=run)
    if before is not None:
        found = found.filter(pk__lt=before)
    newest = list(
        found.order_by("-pk")
        .annotate(beginning=Substr("payload", 1, MAX_PAYLOAD), payload_length=Length("payload"))
        .defer("payload", "changes")[: MAX_EVENTS + 1]
    )
    shown = newest[:MAX_EVENTS][::-1]
    has_more = len(newest) > MAX_EVENTS
    own = (event.revision - 1 for event in shown if event.kind == AggregateKind.RUN)
    return Events(
        rows=[_event(event, now) for event in shown],
        earlier=next(own, 1) if has_more else 0,
        older_than=shown[0].pk if has_more else None,
        paged=before is not None,
    )


def _event(event: Event, now: datetime) -> EventRow:
    beginning: str = vars(event)["beginning"]
    length: int = vars(event)["payload_length"]
    return EventRow(
        seq=event.pk,
        revision=event.revision,
        aggregate=None if event.kind == AggregateKind.RUN else identifier(f"{event.kind} {event.key}"),
        type=identifier(event.type),
        actor_type=event.actor_type,
        actor_id=identifier(event.actor_id),
        generation=event.generation,
        payload="" if beginning == "{}" else escaped(beginning),
        payload_length=length,
        whole=length <= MAX_PAYLOAD,
        at=times.stamp(event.at, now),
    )
