"""Requests, submissions, messages and turns as the objects that callers get, with their description."""

from typing import Any

from rest_framework import serializers

from api import shapes
from api.answers import Anything, SlotClaim
from api.shapes import Answer
from runs.models import InteractiveRequest, InteractiveSubmission, WorkflowMessage, WorkflowTurn
from runs.states import MessageKind, MessageStatus, RequestStatus, StopReason, SubmissionOutcome


class RequestBrief(serializers.Serializer[Any]):
    """What a run asks of a session, without documents."""

    run_id = serializers.CharField()
    request_id = serializers.CharField()
    attempt_id = serializers.CharField()
    target_session_id = serializers.CharField()
    kind = serializers.CharField()
    status = serializers.ChoiceField([*RequestStatus])
    revision = serializers.IntegerField(help_text="What a submission names.")
    accepted_submission_id = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)


class SubmissionBrief(serializers.Serializer[Any]):
    """An answer without its payload."""

    run_id = serializers.CharField()
    request_id = serializers.CharField()
    submission_id = serializers.CharField()
    outcome = serializers.ChoiceField([*SubmissionOutcome])
    receipt = Anything(help_text="Null until a runner has validated it.")
    created_at = serializers.DateTimeField()


class Submission(SubmissionBrief):
    payload = Anything()


class Request(RequestBrief):
    """A request with its contract and the submission that matters: the accepted one, or the one to validate."""

    contract = Anything()
    accepted = Submission(allow_null=True)
    validating = Submission(allow_null=True)


class RequestPage(serializers.Serializer[Any]):
    results = RequestBrief(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class SubmissionPage(serializers.Serializer[Any]):
    results = SubmissionBrief(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class ValidationClaim(SlotClaim):
    requests = Request(many=True, help_text="Those with a submission to validate.")


class Validations(serializers.Serializer[Any]):
    claims = ValidationClaim(many=True)
    poll_in_ms = serializers.IntegerField(help_text="When to ask again where there was less than asked for.")


class Message(serializers.Serializer[Any]):
    """What a run tells a session."""

    run_id = serializers.CharField()
    message_id = serializers.CharField()
    target_session_id = serializers.CharField()
    kind = serializers.ChoiceField([*MessageKind])
    order = serializers.IntegerField(help_text="Its place among all messages to the session, of whatever run.")
    status = serializers.ChoiceField([*MessageStatus])
    content = Anything()
    evidence = Anything()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class MessagePage(serializers.Serializer[Any]):
    results = Message(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class OrderedMessages(serializers.Serializer[Any]):
    results = Message(many=True)
    next_after_order = serializers.IntegerField(help_text="What to send as `after_order` next.")
    limit = serializers.IntegerField()


class Turn(serializers.Serializer[Any]):
    """A session's work on one message."""

    run_id = serializers.CharField()
    turn_id = serializers.CharField()
    message_id = serializers.CharField()
    stop_reason = serializers.ChoiceField([*StopReason], allow_null=True, help_text="Null while the turn is open.")
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class TurnPage(serializers.Serializer[Any]):
    results = Turn(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


def request_brief(request: InteractiveRequest) -> Answer:
    """What fills RequestBrief."""
    return {
        "run_id": request.run.run_id,
        "request_id": request.request_id,
        "attempt_id": request.attempt.attempt_id,
        "target_session_id": request.target_session_id,
        "kind": request.kind,
        "status": request.status,
        "revision": request.revision,
        "accepted_submission_id": request.accepted_submission_id,
        "created_at": shapes.time(request.created_at),
        "updated_at": shapes.time(request.updated_at),
        "settled_at": shapes.time(request.settled_at),
    }


def request(
    request: InteractiveRequest, accepted: InteractiveSubmission | None, validating: InteractiveSubmission | None
) -> Answer:
    """What fills Request."""
    return request_brief(request) | {
        "contract": shapes.document(request.contract),
        "accepted": accepted and submission(accepted),
        "validating": validating and submission(validating),
    }


def submission_brief(submission: InteractiveSubmission) -> Answer:
    """What fills SubmissionBrief."""
    return {
        "run_id": submission.request.run.run_id,
        "request_id": submission.request.request_id,
        "submission_id": submission.submission_id,
        "outcome": submission.outcome,
        "receipt": shapes.document(submission.receipt),
        "created_at": shapes.time(submission.created_at),
    }


def submission(submission: InteractiveSubmission) -> Answer:
    """What fills Submission."""
    return submission_brief(submission) | {"payload": shapes.document(submission.payload)}


def message(message: WorkflowMessage) -> Answer:
    """What fills Message."""
    return {
        "run_id": message.run.run_id,
        "message_id": message.message_id,
        "target_session_id": message.target_session_id,
        "kind": message.kind,
        "order": message.order,
        "status": message.status,
        "content": shapes.document(message.content),
        "evidence": shapes.document(message.evidence),
        "created_at": shapes.time(message.created_at),
        "updated_at": shapes.time(message.updated_at),
    }


def turn(turn: WorkflowTurn) -> Answer:
    """What fills Turn."""
    return {
        "run_id": turn.run.run_id,
        "turn_id": turn.turn_id,
        "message_id": turn.message.message_id,
        "stop_reason": turn.stop_reason,
        "started_at": shapes.time(turn.started_at),
        "ended_at": shapes.time(turn.ended_at),
    }
