"""Runs in any state, made by the transitions wherever a verb leads there; a test says only what matters to it.

Also the frozen clock, and the picture of all rows with which a test shows that nothing changed.
"""

import hashlib
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.backends.utils import CursorWrapper

from runs import clock, transitions
from runs.journal import Actor
from runs.models import Event, Lease, NodeAttempt, Project, Run
from runs.states import ActorType, RunStatus
from runs.transitions import (
    BATCH_LIMIT,
    AttemptStart,
    Claimant,
    Completion,
    Failure,
    Hold,
    Reservation,
    derived,
    mutex,
)
from tests.by_hand import written_by_hand

START = datetime(2026, 12, 1, 3, tzinfo=UTC)
LEASE_MS = 30_000
HOST = "host-a"
OPERATOR = Actor(ActorType.HUMAN, "operator")
SOURCE = {"kind": "builtin", "id": "inventory", "revision": "1"}


class FrozenClock(AbstractContextManager["FrozenClock"]):
    """The queue's clock, standing still until a test moves it; for all threads alike."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at
        self._stack = ExitStack()

    def __enter__(self) -> "FrozenClock":
        self.set(self.at)
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def set(self, at: datetime) -> None:
        """Stand at `at`, which may also lie before."""
        # On top of the time before: there is no moment at which the clock goes.
        self._stack.enter_context(clock.frozen(at))
        self.at = at

    def advance(self, ms: int) -> None:
        """Go on by so many milliseconds."""
        self.set(self.at + timedelta(milliseconds=ms))


@dataclass(frozen=True, slots=True)
class Made:
    """A run and the token of its last holder; its rows are read anew at every look."""

    project: Project
    run_id: str
    token: str

    @property
    def hold(self) -> Hold:
        return Hold(self.run_id, self.token)

    @property
    def key(self) -> int:
        key: int = Run.objects.values_list("pk", flat=True).get(project=self.project, run_id=self.run_id)
        return key

    @property
    def run(self) -> Run:
        return Run.objects.with_documents().get(project=self.project, run_id=self.run_id)

    @property
    def lease(self) -> Lease:
        return Lease.objects.get(pk=self.key)

    @property
    def attempts(self) -> list[NodeAttempt]:
        return list(NodeAttempt.objects.with_documents().filter(run=self.key).order_by("pk"))

    @property
    def events(self) -> list[Event]:
        return list(Event.objects.filter(run=self.key).in_sequence())

    @property
    def event_types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def axes(self) -> tuple[str, str]:
        """Both statuses: of the run and of the queue."""
        return Run.objects.values_list("status", "queue_status").get(pk=self.key)


@dataclass(slots=True)
class RunBuilder:
    """Makes runs of one project. `changes` are members of the reservation, such as `priority=Priority.HIGH`."""

    project: Project
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def reservation(self, **changes: Any) -> Reservation:
        """A reservation that stands in nobody's way: an id and a session of its own."""
        number = next(self.numbers)
        name = changes.get("workflow_name", "inventory")
        return Reservation(
            **{
                "run_id": f"run-{number}",
                "workflow_name": name,
                "workflow_ref": f"{name}@1",
                "workflow_source": SOURCE,
                "definition_digest": digest_of(name),
                "definition_snapshot": {"name": name},
                "origin_session_id": f"session-{number}",
                **changes,
            }
        )

    def queued(self, **changes: Any) -> Made:
        asked = self.reservation(**changes)
        transitions.reserve(self.project, asked)
        return Made(self.project, asked.run_id, f"{asked.run_id}, held by nobody yet")

    def many(self, count: int, **changes: Any) -> list[Made]:
        """So many queued runs, in the order in which they will be claimed; made in batches."""
        made: list[Made] = []
        while len(made) < count:
            batch = [self.reservation(**changes) for _ in range(min(BATCH_LIMIT, count - len(made)))]
            transitions.reserve_all(self.project, batch)
            ids = sorted(asked.run_id for asked in batch)
            made += [Made(self.project, run_id, f"token {next(self.numbers)} of {run_id}") for run_id in ids]
        return made

    def many_running(self, count: int, *, lease_ms: int = LEASE_MS, **changes: Any) -> list[Made]:
        """So many running runs of one owner, with a token each; nothing else may be on offer."""
        made = self.many(count, **changes)
        for start in range(0, count, BATCH_LIMIT):
            batch = made[start : start + BATCH_LIMIT]
            transitions.claim_next(self.project, Claimant(HOST, lease_ms), [each.token for each in batch])
            transitions.mark_running_all(self.project, [each.hold for each in batch])
        return made

    def starting(self, *, owner_id: str = HOST, lease_ms: int = LEASE_MS, **changes: Any) -> Made:
        """Claimed, and not marked running."""
        return self.claimed(self.queued(**changes), owner_id, lease_ms)

    def claimed(self, made: Made, owner_id: str = HOST, lease_ms: int = LEASE_MS) -> Made:
        """The same run, now held by this owner with a token that nobody has had."""
        token = f"token {next(self.numbers)} of {owner_id}"
        transitions.claim(self.project, made.run_id, Claimant(owner_id, lease_ms), token)
        return replace(made, token=token)

    def running(self, *, owner_id: str = HOST, lease_ms: int = LEASE_MS, **changes: Any) -> Made:
        made = self.starting(owner_id=owner_id, lease_ms=lease_ms, **changes)
        transitions.mark_running(self.project, made.hold)
        return made

    def expired(self, *, owner_id: str = HOST, lease_ms: int = LEASE_MS, **changes: Any) -> Made:
        """Running under a lease that runs out at this very moment."""
        with clock.frozen(clock.now() - timedelta(milliseconds=lease_ms)):
            return self.running(owner_id=owner_id, lease_ms=lease_ms, **changes)

    def parked(self, **changes: Any) -> Made:
        made = self.running(**changes)
        transitions.park(self.project, made.hold)
        return made

    def paused(self, **changes: Any) -> Made:
        """Parked and paused."""
        made = self.parked(**changes)
        write(made, paused=True, status_detail="paused")
        return made

    def waiting(self, **changes: Any) -> Made:
        """Parked until somebody answers."""
        made = self.parked(**changes)
        write(made, status=RunStatus.WAITING)
        return made

    def completed(self, *, output: Any = None, **changes: Any) -> Made:
        made = self.running(**changes)
        transitions.complete(self.project, Completion(made.run_id, made.token, output))
        return made

    def failed(self, *, code: str = "broken", message: str = "It broke.", **changes: Any) -> Made:
        made = self.running(**changes)
        transitions.fail(self.project, Failure(made.run_id, code, message, made.token))
        return made

    def timed_out(self, **changes: Any) -> Made:
        made = self.failed(code="timedOut", **changes)
        write(made, status=RunStatus.TIMED_OUT)
        return made

    def cancelled(self, **changes: Any) -> Made:
        made = self.queued(**changes)
        transitions.cancel(self.project, made.run_id, OPERATOR)
        return made

    def attempt(self, made: Made, node_id: str = "node", attempt_id: str | None = None) -> str:
        """An open attempt of this held and running run; answers its id."""
        attempt_id = attempt_id or f"attempt-{next(self.numbers)}"
        transitions.start_attempt(self.project, made.hold, AttemptStart(attempt_id, node_id))
        return attempt_id


def write(made: Made, **columns: Any) -> None:
    """Write columns of the run that no verb writes so, and what follows from them on the lease."""
    Run.objects.filter(pk=made.key).update(**columns)
    derive(Run.objects.select_related("lease").get(pk=made.key))


def write_lease(made: Made, **columns: Any) -> None:
    """Write columns of the lease that no verb writes so."""
    Lease.objects.filter(pk=made.key).update(**columns)
    written_by_hand(made.key)


def derive(run: Run) -> None:
    """Bring what the lease keeps about the rest of its run up to date, by the queue's own rule."""
    derived.refresh([run])
    mutex.write([run.lease], derived.DERIVED_FIELDS)
    written_by_hand(run.pk)


def digest_of(name: str) -> str:
    """A definition digest that belongs to this name."""
    return "sha256:" + hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


Picture = dict[str, list[tuple[Any, ...]]]


def snapshot_of_everything() -> Picture:
    """All columns of all rows of all of the domain's tables."""
    models = apps.get_app_config("runs").get_models(include_auto_created=True)
    with connection.cursor() as cursor:
        return {model._meta.db_table: _rows(cursor, model._meta.db_table) for model in models}


def _rows(cursor: CursorWrapper, table: str) -> list[tuple[Any, ...]]:
    cursor.execute(f'SELECT * FROM "{table}" ORDER BY 1')
    return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in cursor]
