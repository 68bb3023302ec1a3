"""The only writer of events: numbers them, chains their digests and tells listeners after commit.

A run's lock is held by whoever calls this, so that revisions have no holes and sequence order is commit order
within a run. `entered` moves the run's revision and head in memory; its transition writes that row.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import BigIntegerField
from django.db.models.expressions import RawSQL

from runs import canonical, clock, signals, view
from runs.models import Effect, Event, HumanDecision, Lease, Run
from runs.models.remembering import Remembering
from runs.states import ActorType, AggregateKind

# What `entered` moves on a run, to be written along with the event.
HEAD_FIELDS = ("revision", "head_digest", "head_at")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it."""

    type: ActorType
    id: str | None = None


SYSTEM = Actor(ActorType.SYSTEM)


def owner_of(lease: Lease) -> Actor:
    """The recorded owner as an actor; the system where there is none."""
    return Actor(ActorType(lease.owner_type), lease.owner_id) if lease.owner_type else SYSTEM


def entered(
    run: Run,
    type: str,
    actor: Actor,
    payload: Mapping[str, Any],
    at: datetime,
    *,
    generation: int,
    moved: Collection[Remembering] = (),
) -> Event:
    """A run's next event, not yet stored. `at` must not lie before the run's newest event.

    It tells viewers what has moved of the run, its lease and `moved`: those rows stand as they are going to be stored.
    """
    run.revision += 1
    return _chained_on(run, AggregateKind.RUN, run.run_id, run.revision, type, actor, payload, at, generation, moved)


def entered_on_effect(
    run: Run,
    effect: Effect,
    type: str,
    actor: Actor,
    payload: Mapping[str, Any],
    at: datetime,
    *,
    generation: int = 0,
    moved: Collection[Remembering] = (),
) -> Event:
    """An effect's next event, not yet stored: numbered by the effect, chained on its run. The effect has moved."""
    effect.revision += 1
    kind, moved = AggregateKind.EFFECT, (effect, *moved)
    return _chained_on(run, kind, effect.effect_id, effect.revision, type, actor, payload, at, generation, moved)


def entered_on_decision(
    run: Run,
    decision: HumanDecision,
    type: str,
    actor: Actor,
    payload: Mapping[str, Any],
    at: datetime,
    *,
    generation: int = 0,
    moved: Collection[Remembering] = (),
) -> Event:
    """A decision's next event, not yet stored: numbered by the decision, chained on its run. The decision has moved."""
    decision.revision += 1
    kind, moved = AggregateKind.DECISION, (decision, *moved)
    return _chained_on(run, kind, decision.decision_id, decision.revision, type, actor, payload, at, generation, moved)


def _chained_on(
    run: Run,
    kind: AggregateKind,
    key: str,
    revision: int,
    type: str,
    actor: Actor,
    payload: Mapping[str, Any],
    at: datetime,
    generation: int,
    moved: Collection[Remembering],
) -> Event:
    event = Event(
        project_id=run.project_id,
        run=run,
        kind=kind,
        key=key,
        revision=revision,
        type=type,
        actor_type=actor.type,
        actor_id=actor.id,
        generation=generation or None,
        payload=canonical.dumps(payload).decode(),
        changes=canonical.dumps(view.changes(run, moved)).decode(),
        at=at,
    )
    view.told(run, moved)
    event.digest = chained(bytes(run.head_digest), event)
    run.head_digest, run.head_at = event.digest, at
    return event


def write(events: Sequence[Event]) -> None:
    """Store events in their order and tell listeners once the transaction has committed."""
    if not events:
        return
    if connection.vendor == "postgresql":
        for event in events:
            event.transaction_id = _THIS_TRANSACTION  # an expression of the insert
    Event.objects.bulk_create(events)
    moved = list({(event.project_id, event.run_id, event.run.run_id) for event in events})
    transaction.on_commit(lambda: signals.runs_moved.send_robust(sender=Event, moved=moved), robust=True)


def chained(before: bytes, event: Event) -> bytes:
    """SHA-256 over the digest before and the event in its fixed text form."""
    return hashlib.sha256(before + text_form(event).encode()).digest()


def text_form(event: Event) -> str:
    """Each member as its length in bytes, a colon and its text (a netstring); "-" alone for null. Times in ms.

    Changes come last, and not at all where there are none: so events from before there were views keep their digests.
    SQL spells the same as octet_length(x) || ':' || x.
    """
    generation = None if event.generation is None else str(event.generation)
    members = (
        event.kind,
        event.key,
        str(event.revision),
        event.type,
        event.actor_type,
        event.actor_id,
        generation,
        event.payload,
        str(clock.to_ms(event.at)),
        *(() if event.changes is None else (event.changes,)),
    )
    return "".join("-" if member is None else f"{len(member.encode())}:{member}" for member in members)


_THIS_TRANSACTION = RawSQL("pg_current_xact_id()::text::bigint", (), output_field=BigIntegerField())
