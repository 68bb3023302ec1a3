"""Cancelling: at once by an operator, by the holder, of what nobody has begun, or of what nobody holds any more."""

from collections.abc import Sequence
from typing import Any

from runs import clock, journal, rules
from runs.journal import Actor
from runs.models import Project, Run
from runs.states import ActorType, ErrorCode
from runs.transitions import blobs, ending, mutex
from runs.transitions.mutex import Hold, Outcome, transition
from runs.verbs import CANCEL, CANCEL_HELD, CANCEL_STALE, CANCEL_UNOWNED, Verb

MESSAGE = "Workflow run cancelled"
CONTROL = Actor(ActorType.CONTROL, ending.CONTROL_ID)
_FACTS = {"status": CANCEL.ends_queue, "code": ErrorCode.CANCELLED}


def cancel(project: Project, run_id: str, by: Actor, reason: str | None = None) -> Run:
    """Cancel an unfinished run at once, over a live lease too: a new generation fences its holder."""
    return mutex.only(cancel_all(project, [run_id], by, reason))


@transition
def cancel_all(project: Project, run_ids: Sequence[str], by: Actor, reason: str | None = None) -> list[Outcome]:
    """The same for many runs at once."""
    payload = {**_FACTS, "error": MESSAGE} | ({"reason": reason} if reason else {})
    return _cancelled(project, [Hold(run_id) for run_id in run_ids], CANCEL, payload, by)


@transition
def cancel_held(project: Project, hold: Hold) -> Run:
    """Cancel as the holder. Refuses whoever does not hold the run."""
    return mutex.only(_cancelled(project, [hold], CANCEL_HELD, {**_FACTS, "error": MESSAGE}))


@transition
def cancel_unowned(project: Project, run_id: str) -> Run:
    """Cancel a run that is queued or starting and has no owner on record, not even an expired one."""
    return mutex.only(_cancelled(project, [Hold(run_id)], CANCEL_UNOWNED, {**_FACTS, "error": MESSAGE}))


@transition
def cancel_stale(project: Project, run_id: str, by: Actor = CONTROL) -> Run:
    """Cancel a run only while nobody holds it, with a system lease taken and released in the same commit."""
    return mutex.only(_cancelled(project, [Hold(run_id)], CANCEL_STALE, {**_FACTS, "staleControl": True}, by))


def _cancelled(
    project: Project, holds: Sequence[Hold], verb: Verb, payload: dict[str, Any], by: Actor | None = None
) -> list[Outcome]:
    """With `by`, a caller from outside takes a generation of its own; without, the owner on record does it."""
    runs = mutex.lock(project, [hold.run_id for hold in holds])
    now = clock.now()

    decided = mutex.decide(
        holds,
        runs,
        lambda run, hold: rules.permit(verb, run, run.lease, mutex.never_back(run, now), token=hold.token),
    )

    text = blobs.text(MESSAGE)
    stored = blobs.stored(project, [text] if decided.allowed else [], now)
    stops = []
    for run in decided.runs:
        actor = by or journal.owner_of(run.lease)
        run.lease.generation += by is not None
        stops.append(ending.Stop(run, verb, ErrorCode.CANCELLED, stored[text], actor, payload))
    events = ending.stop(project, stops, now)

    journal.write(events)
    return decided.outcomes
