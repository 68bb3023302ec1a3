"""Messages to a session, in its own order over all runs of a project, and the turns in which it takes them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Max

from runs import canonical, clock, errors, journal, rules, rules_sessions
from runs.journal import Actor
from runs.models import Event, Project, Run, WorkflowMessage
from runs.states import MessageKind, MessageStatus
from runs.transitions import blobs, mutex, waiting
from runs.transitions.blobs import Content
from runs.transitions.mutex import Hold, transition
from runs.verbs import QUEUE_MESSAGE


@dataclass(frozen=True, slots=True)
class MessageDraft:
    """What a run tells a session, under an id of the caller's choice."""

    message_id: str
    target_session_id: str
    kind: MessageKind = MessageKind.STEP
    content: Any = None


@transition
def queue_message(project: Project, hold: Hold, draft: MessageDraft) -> tuple[WorkflowMessage, bool]:
    """The message, and whether it was queued now, with the next order number of its session.

    A message of this id with the same content is given back as it stands. Refuses whoever does not hold the run, and
    other content under the same id.
    """
    rules_sessions.identifier(draft.message_id, "message_id")
    rules_sessions.identifier(draft.target_session_id, "target_session_id")
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(QUEUE_MESSAGE, run, run.lease, at, token=hold.token)
    content = blobs.document(draft.content)
    messages = WorkflowMessage.objects.filter(run=run)
    standing = messages.select_related("content").filter(message_id=draft.message_id).first()
    if standing is not None:
        return _same(standing, draft, content), False
    rules_sessions.room(messages.count(), rules_sessions.MESSAGE_LIMIT, "messages of this run")

    stored = blobs.stored(project, [content], at)[content]
    message = WorkflowMessage.objects.create(
        project=project,
        run=run,
        message_id=draft.message_id,
        target_session_id=draft.target_session_id,
        kind=MessageKind(draft.kind),
        order=_next_order(project, draft.target_session_id),
        content=stored,
        created_at=at,
        updated_at=at,
    )
    event = waiting.entered(run, "message.queued", facts(message), at, [message])
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return message, True


@transition
def send_message(project: Project, run_id: str, message_id: str, by: Actor, evidence: Any = None) -> WorkflowMessage:
    """Say that a pending message was sent, with evidence. Also of a run that is over: some messages outlive it."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    message = found(run, message_id)
    rules_sessions.may_send(message_id, message.status)

    document = blobs.document(evidence)
    message.evidence = blobs.stored(project, [document], at)[document]
    message.status, message.updated_at = MessageStatus.SENT, at
    mutex.write([message], ["status", "evidence", "updated_at"])
    event = _entered(run, "message.sent", by, message, at)
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return message


def found(run: Run, message_id: str) -> WorkflowMessage:
    """The run's message of this id. Refuses an id that the run does not have."""
    message = WorkflowMessage.objects.select_related("content").filter(run=run, message_id=message_id).first()
    if message is None:
        raise errors.MessageNotFound(run_id=run.run_id, message_id=message_id)
    return message


def facts(message: WorkflowMessage) -> dict[str, Any]:
    """What an event says of where the message stands after it."""
    return {
        "messageId": message.message_id,
        "targetSessionId": message.target_session_id,
        "kind": message.kind,
        "order": message.order,
        "messageStatus": message.status,
    }


def _entered(run: Run, type: str, by: Actor, message: WorkflowMessage, at: datetime) -> Event:
    return journal.entered(run, type, by, facts(message), at, generation=0, moved=[message])


def _same(message: WorkflowMessage, draft: MessageDraft, content: Content) -> WorkflowMessage:
    stands = message.content and bytes(message.content.content)
    if (message.target_session_id, message.kind, stands) != (draft.target_session_id, draft.kind, content[1]):
        raise errors.MessageConflict(message_id=message.message_id)
    return message


def _next_order(project: Project, session_id: str) -> int:
    """The next number of this session's order. Runs are locked one by one, so that the session needs a lock as well."""
    if connection.vendor == "postgresql":
        # Until the end of the transaction. Sessions that share a number wait for each other needlessly, no more.
        key = canonical.digest(f"{project.pk} {session_id}".encode())[:8]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(key, signed=True)])
    of_session = WorkflowMessage.objects.filter(project=project, target_session_id=session_id)
    last: int | None = of_session.aggregate(last=Max("order"))["last"]
    return (last or 0) + 1
