"""Turns: a session's work on one message, one at a time."""

from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_sessions
from runs.journal import Actor
from runs.models import Event, Project, Run, WorkflowTurn
from runs.states import StopReason
from runs.transitions import messages, mutex
from runs.transitions.mutex import transition
from runs.verbs import WRITE_TURN


@transition
def open_turn(project: Project, run_id: str, message_id: str, turn_id: str, by: Actor) -> tuple[WorkflowTurn, bool]:
    """The turn, and whether it was opened now. Refuses where the message was not sent or has another open turn."""
    rules_sessions.identifier(turn_id, "turn_id")
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    message = messages.found(run, message_id)
    turns = WorkflowTurn.objects.filter(run=run)
    standing = turns.select_related("message").filter(turn_id=turn_id).first()
    if standing is not None:
        return _same(standing, message_id), False
    rules.permit(WRITE_TURN, run, run.lease, at)
    open_id = turns.filter(message=message, ended_at=None).values_list("turn_id", flat=True).first()
    rules_sessions.may_open_turn(message_id, message.status, open_id)
    rules_sessions.room(turns.count(), rules_sessions.TURN_LIMIT, "turns in this run")

    turn = WorkflowTurn.objects.create(run=run, message=message, turn_id=turn_id, started_at=at)
    event = _entered(run, "turn.started", by, turn, at)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return turn, True


@transition
def end_turn(project: Project, run_id: str, turn_id: str, reason: StopReason, by: Actor) -> WorkflowTurn:
    """End an open turn, saying why. Refuses a turn that has ended."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    turn = WorkflowTurn.objects.select_related("message").filter(run=run, turn_id=turn_id).first()
    if turn is None:
        raise errors.TurnNotFound(run_id=run_id, turn_id=turn_id)
    _refuse_ended(turn)

    turn.stop_reason, turn.ended_at = StopReason(reason), at
    mutex.write([turn], ["stop_reason", "ended_at"])
    event = _entered(run, "turn.ended", by, turn, at)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return turn


def _same(turn: WorkflowTurn, message_id: str) -> WorkflowTurn:
    if turn.message.message_id != message_id:
        raise errors.TurnConflict(turn_id=turn.turn_id, message_id=turn.message.message_id)
    return turn


def _refuse_ended(turn: WorkflowTurn) -> None:
    if turn.ended_at is not None:
        raise errors.TurnEnded(turn_id=turn.turn_id, stop_reason=turn.stop_reason)


def _entered(run: Run, type: str, by: Actor, turn: WorkflowTurn, at: datetime) -> Event:
    payload: dict[str, Any] = {
        "turnId": turn.turn_id,
        "messageId": turn.message.message_id,
        "targetSessionId": turn.message.target_session_id,
        "stopReason": turn.stop_reason,
    }
    return journal.entered(run, type, by, payload, at, generation=0, moved=[turn])
