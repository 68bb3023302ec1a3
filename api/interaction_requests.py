"""The bodies of the verbs in interaction.py and messages.py."""

from typing import Final

from api.fields import Document, Formed, Name, ObjectDocument, OneOf, Shape, Text, Whole
from api.requests import ATTEMPT_ID, ClaimNextRequest, HoldRequest
from runs.rules import DETAIL_LIMIT
from runs.states import MessageKind, StopReason

CONTENT_BYTES: Final = 65_536
RECEIPT_BYTES: Final = 8_192
EVIDENCE_BYTES: Final = 8_192
_CHOSEN: Final = "Chosen by the caller, unique in the run."


class RaiseRequest(HoldRequest):
    """What a run asks of a session."""

    request_id = Formed(ATTEMPT_ID, help_text=_CHOSEN)
    attempt_id = Formed(ATTEMPT_ID, help_text="The open attempt that waits for the answer.")
    target_session_id = Name()
    kind = Name(most=50, required=False, default="agent")
    contract = Document(
        most_bytes=CONTENT_BYTES, required=False, default=None, help_text="What the run takes for an answer."
    )


class SubmitRequest(Shape):
    """A session's answer to the request as it saw it."""

    submission_id = Formed(ATTEMPT_ID, help_text="Chosen by the caller, unique to the request.")
    session_id = Name(help_text="The session that answers: the one that was asked.")
    request_revision = Whole(low=1, help_text="The revision of the request that was seen.")
    payload = Document(required=False, default=None)


def _receipt() -> ObjectDocument:
    return ObjectDocument(
        most_bytes=RECEIPT_BYTES,
        required=False,
        default=None,
        help_text=f"Goes into the receipt, beside its status. At most {RECEIPT_BYTES} bytes as stored.",
    )


class AcceptRequest(HoldRequest):
    receipt = _receipt()


class RejectRequest(HoldRequest):
    error_message = Text(most=DETAIL_LIMIT, help_text="Goes into the receipt.")
    receipt = _receipt()


class ValidationsRequest(ClaimNextRequest):
    """A claim of runs that have a submission to validate: up to as many as there are tokens."""


class QueueMessageRequest(HoldRequest):
    """What a run tells a session."""

    message_id = Formed(ATTEMPT_ID, help_text=_CHOSEN)
    target_session_id = Name()
    kind = OneOf([*MessageKind], required=False, default=MessageKind.STEP)
    content = Document(most_bytes=CONTENT_BYTES, required=False, default=None)


class SendMessageRequest(Shape):
    evidence = Document(
        most_bytes=EVIDENCE_BYTES, required=False, default=None, help_text="What shows that the message was sent."
    )


class OpenTurnRequest(Shape):
    turn_id = Formed(ATTEMPT_ID, help_text=_CHOSEN)


class EndTurnRequest(Shape):
    stop_reason = OneOf([*StopReason])
