"""What an operator wishes of a live holder: to pause or to cancel within a grace. It is told so when it renews.

At its deadline a wish overrules the holder, whether or not anybody has carried it out by then; a claim, a park or a
sweep that meets it does.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from runs import clock, errors, journal, rules
from runs.journal import Actor
from runs.models import Event, Lease, Project, Run
from runs.models.lease import WISH_FIELDS
from runs.states import ActorType, ErrorCode, Wish
from runs.transitions import blobs, crashes, ending, mutex, standstill
from runs.transitions.mutex import transition
from runs.verbs import CANCEL, WISH, WITHDRAW_WISH

CANCELLED = "Workflow run cancelled"


def request_pause(project: Project, run_id: str, grace_ms: int, by: Actor, reason: str | None = None) -> Run:
    """Wish that the holder pause within `grace_ms` (at most 10 minutes). Refuses where nobody holds the run."""
    return _wish(project, run_id, Wish.PAUSE, grace_ms, by, reason)


def request_cancel(project: Project, run_id: str, grace_ms: int, by: Actor, reason: str | None = None) -> Run:
    """Wish that the holder stop within `grace_ms` (at most 10 minutes). Refuses where nobody holds the run."""
    return _wish(project, run_id, Wish.CANCEL, grace_ms, by, reason)


@transition
def _wish(project: Project, run_id: str, wish: Wish, grace_ms: int, by: Actor, reason: str | None) -> Run:
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(WISH, run, run.lease, at)
    due_at = at + timedelta(milliseconds=rules.grace_ms(grace_ms))
    if run.lease.wish is not None:
        raise errors.WishStands(run_id=run_id, wish=run.lease.wish)

    lease = run.lease
    lease.wish, lease.wish_due_at = wish, due_at
    lease.wish_actor_type, lease.wish_actor_id, lease.wish_reason = by.type, by.id, reason
    payload = {"dueAt": clock.to_ms(due_at)} | ({"reason": reason} if reason else {})
    event = journal.entered(run, f"run.{wish}_requested", by, payload, at, generation=lease.generation)
    mutex.write([lease], WISH_FIELDS)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return run


@transition
def withdraw_wish(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Take a wish back. Refuses where there is none, or where it has come due."""
    run = mutex.lock_one(project, run_id)
    at, lease = mutex.never_back(run, clock.now()), run.lease

    rules.permit(WITHDRAW_WISH, run, lease, at)
    if lease.wish is None or is_due(lease, at):
        raise errors.NoWish(run_id=run_id)

    payload = {"wish": lease.wish} | ({"reason": reason} if reason else {})
    mutex.forget_wish(lease)
    event = journal.entered(run, "run.wish_withdrawn", by, payload, at, generation=lease.generation)
    mutex.write([lease], WISH_FIELDS)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return run


def is_due(lease: Lease, at: datetime) -> bool:
    """Whether a wish is to be carried out: at its deadline, or because nobody holds the run any more."""
    if lease.wish is None or lease.wish_due_at is None:
        return False
    return lease.wish_due_at <= at or not rules.is_live(lease, at)


def carried_out(project: Project, runs: Iterable[Run], now: datetime) -> list[Event]:
    """Do what is wished of these locked runs, and store that; the events to write."""
    wished = [(run, *_wisher(run.lease)) for run in runs]
    for run, _, _ in wished:
        crashes.count_loss(run, mutex.never_back(run, now))
    pauses = [(run, by, reason) for run, by, reason in wished if run.lease.wish == Wish.PAUSE]
    cancels = [(run, by, reason) for run, by, reason in wished if run.lease.wish == Wish.CANCEL]
    return [*standstill.paused(pauses, now), *_cancelled(project, cancels, now)]


def _cancelled(project: Project, cancels: Sequence[tuple[Run, Actor, str | None]], now: datetime) -> list[Event]:
    if not cancels:
        return []
    text = blobs.text(CANCELLED)
    message = blobs.stored(project, [text], now)[text]
    stops = []
    for run, by, reason in cancels:
        run.lease.generation += 1
        payload = {"status": "cancelled", "code": ErrorCode.CANCELLED, "error": CANCELLED}
        payload |= {"reason": reason} if reason else {}
        stops.append(ending.Stop(run, CANCEL, ErrorCode.CANCELLED, message, by, payload))
    return ending.stop(project, stops, now)


def _wisher(lease: Lease) -> tuple[Actor, str | None]:
    return Actor(ActorType(lease.wish_actor_type or ActorType.SYSTEM), lease.wish_actor_id), lease.wish_reason
