"""The model's messages to sessions and the turns that these take."""

from runs.states import MessageKind, MessageStatus, StopReason
from tests.model import guards
from tests.model.dependents import Message, Turn
from tests.model.model import Queue, Refused, Run


def queue_message(
    queue: Queue, run_id: str, token: str, message_id: str, kind: MessageKind, session_id: str
) -> tuple[MessageStatus, bool]:
    """How the message stands, and whether it was queued now."""
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    if message_id in run.messages:
        message = run.messages[message_id]
        if (message.kind, message.session_id) != (kind, session_id):
            raise Refused("message_conflict")
        return message.status, False
    run.messages[message_id] = Message(kind, session_id)
    run.revision += 1
    return MessageStatus.PENDING, True


def send_message(queue: Queue, run_id: str, message_id: str) -> None:
    """Also of a run that is over: some messages outlive it."""
    run = queue.find(run_id)
    message = _find(run, message_id)
    if message.status != MessageStatus.PENDING:
        raise Refused("message_settled")
    message.status = MessageStatus.SENT
    run.revision += 1


def open_turn(queue: Queue, run_id: str, message_id: str, turn_id: str) -> bool:
    """Whether it was opened now."""
    run = queue.find(run_id)
    message = _find(run, message_id)
    if turn_id in run.turns:
        if run.turns[turn_id].message_id != message_id:
            raise Refused("turn_conflict")
        return False
    guards.unfinished(run)
    if message.status != MessageStatus.SENT:
        raise Refused("message_not_sent")
    if any(turn.message_id == message_id and turn.reason is None for turn in run.turns.values()):
        raise Refused("turn_open")
    run.turns[turn_id] = Turn(message_id)
    run.revision += 1
    return True


def end_turn(queue: Queue, run_id: str, turn_id: str, reason: StopReason) -> None:
    run = queue.find(run_id)
    if turn_id not in run.turns:
        raise Refused("not_found")
    if run.turns[turn_id].reason is not None:
        raise Refused("turn_ended")
    run.turns[turn_id].reason = reason
    run.revision += 1


def _find(run: Run, message_id: str) -> Message:
    if message_id not in run.messages:
        raise Refused("not_found")
    return run.messages[message_id]
