"""How every transition begins and ends: its retried transaction, the locks, and the write of what was decided.

A transition has five paragraphs: lock, read the clock, decide, write, journal. The lease row is a run's mutex.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from django.db import DatabaseError, IntegrityError, OperationalError, connection, models, transaction

from runs import errors, rules
from runs.models import Lease, Project, Run
from runs.models.lease import OWNER_FIELDS
from runs.transitions import bulk, texts

TRIES = 3
BATCH_LIMIT = 100
_TRY_AGAIN = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_TOO_BUSY = frozenset({"55P03", "57014", "25P03", "25P04"})  # lock, statement and transaction time-outs


class Item(Protocol):
    """What a batch is made of."""

    @property
    def run_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Hold:
    """A run and the token by which a caller claims to hold it; without a token, a caller from outside."""

    run_id: str
    token: str | None = None


Outcome = Run | errors.Refusal
P = ParamSpec("P")
R = TypeVar("R")
I = TypeVar("I", bound=Item)  # noqa: E741
M = TypeVar("M", bound=models.Model)


class Overtaken(IntegrityError):
    """A twin has stored its row in the meantime: the transaction begins again and sees it."""


def transition(verb: Callable[P, R]) -> Callable[P, R]:
    """Run `verb` in a transaction of its own, again from the start when it met a twin, a deadlock or the like.

    Inside another transaction (a receipt's) the outermost one does the repeating.
    """

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for value in (*args, *kwargs.values()):
            texts.check(value)
        if connection.in_atomic_block:
            with transaction.atomic():
                return verb(*args, **kwargs)
        for left in reversed(range(TRIES)):
            try:
                with transaction.atomic():
                    return verb(*args, **kwargs)
            except DatabaseError as error:
                if not (left and _worth_repeating(error)):
                    raise (errors.Busy() if _is_busy(error) else error) from error
        raise AssertionError("unreachable")

    return run


def _sqlstate(error: DatabaseError) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)


def _worth_repeating(error: DatabaseError) -> bool:
    # A unique key was met: the twin is committed by now, and the next try sees and names it.
    return isinstance(error, IntegrityError) or _sqlstate(error) in _TRY_AGAIN


def _is_busy(error: DatabaseError) -> bool:
    if _sqlstate(error) in _TRY_AGAIN | _TOO_BUSY:
        return True
    return isinstance(error, OperationalError) and "database is locked" in str(error)


def lock(project: Project, run_ids: Iterable[str]) -> dict[str, Run]:
    """The project's runs of these ids by id, each with its lease locked; ids without a run are left out.

    Two statements: the runs are read only after the locks are held, since before that they may be out of date.
    """
    wanted = sorted(filter(rules.is_run_id, set(run_ids)))
    leases = list(Lease.objects.locked().filter(run__project=project, run__run_id__in=wanted))
    return {run.run_id: run for run in under(leases)}


def lock_one(project: Project, run_id: str) -> Run:
    """The same for one run. Refuses an id that this project does not have."""
    run = lock(project, [run_id]).get(run_id)
    if run is None:
        raise errors.RunNotFound(run_id=run_id)
    return run


def under(leases: Sequence[Lease]) -> list[Run]:
    """The runs of these locked leases, in the same order, each with `run.lease` the locked one."""
    runs = Run.objects.with_identity().in_bulk([lease.pk for lease in leases])
    for lease in leases:
        runs[lease.pk].lease = lease
    return [runs[lease.pk] for lease in leases]


def never_back(run: Run, now: datetime) -> datetime:
    """The time of a transition on this run: now, but not before the run's newest event."""
    return max(now, run.head_at)


@dataclass(slots=True)
class Decided(Generic[I]):
    """Of a batch: an outcome for each item in the order asked, and the allowed items with their runs."""

    outcomes: list[Outcome]
    allowed: list[tuple[Run, I]]

    @property
    def runs(self) -> list[Run]:
        return [run for run, _ in self.allowed]


def decide(items: Sequence[I], runs: dict[str, Run], rule: Callable[[Run, I], None]) -> Decided[I]:
    """Ask `rule` about each item; the first of several items for one run counts, the others are refused."""
    check_batch(items)
    decided: Decided[I] = Decided([], [])
    seen: set[str] = set()
    for item in items:
        try:
            if item.run_id in seen:
                raise errors.DuplicateItem(run_id=item.run_id)
            seen.add(item.run_id)
            texts.check(item)
            run = runs.get(item.run_id)
            if run is None:
                raise errors.RunNotFound(run_id=item.run_id)
            rule(run, item)
        except errors.Refusal as refusal:
            decided.outcomes.append(refusal)
        else:
            decided.outcomes.append(run)
            decided.allowed.append((run, item))
    return decided


def check_batch(items: Sequence[Any]) -> None:
    """Refuse a batch above the cap."""
    if len(items) > BATCH_LIMIT:
        raise errors.BatchTooLarge(limit=BATCH_LIMIT)


def only(outcomes: Sequence[Outcome]) -> Run:
    """The run of a batch of one, or its refusal raised."""
    (outcome,) = outcomes
    if isinstance(outcome, errors.Refusal):
        raise outcome
    return outcome


def write(rows: Sequence[M], fields: Iterable[str]) -> None:
    """Store these fields of these rows: one statement, or a few for very many rows."""
    fields = list(fields)
    if len(rows) == 1:
        rows[0].save(update_fields=fields)
    elif rows:
        bulk.update(rows, fields)


def forget_wish(lease: Lease) -> None:
    """Clear what an operator wished of the holder, in memory."""
    lease.wish = lease.wish_due_at = lease.wish_actor_type = lease.wish_actor_id = lease.wish_reason = None


def release(lease: Lease) -> None:
    """Clear the owner in memory. The generation stays: it is the fence."""
    lease.owner_type = lease.owner_id = lease.token_hash = lease.swept_token_hash = None
    lease.acquired_at = lease.heartbeat_at = lease.expires_at = lease.takeover_at = None


# What ending, parking and releasing write of a lease.
RELEASED_FIELDS = (
    "generation",
    *OWNER_FIELDS,
    "swept_token_hash",
    "takeover_at",
    "pending_requests",
    "open_work",
    "effects_in_doubt",
    "ready_at",
)
