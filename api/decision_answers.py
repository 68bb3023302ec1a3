"""Decisions as the objects that callers get, with their description."""

from enum import StrEnum
from typing import Any

from rest_framework import serializers

from api import shapes
from api.answers import Anything, Digest
from api.shapes import Answer
from runs import clock
from runs.models import DecisionResolution, DecisionSubmission, HumanDecision
from runs.states import AnswerOutcome, DecisionOutcome, DecisionProvenance


class DecisionStatus(StrEnum):
    """Whether a decision is still to be made."""

    OPEN = "open"
    RESOLVED = "resolved"


class Resolution(serializers.Serializer[Any]):
    """How the decision ended; it ends once."""

    outcome = serializers.ChoiceField([*DecisionOutcome])
    provenance = serializers.ChoiceField([*DecisionProvenance], help_text="`policy` is the deadline.")
    response = Anything(help_text='{"choice", "input"}; null where it was not accepted.')
    reason = serializers.CharField(allow_null=True)
    channel = serializers.CharField(allow_null=True)
    actor_id = serializers.CharField(allow_null=True, help_text="The person whose answer completed the quorum.")
    request_digest = Digest(help_text="Of what was decided on.")
    resolved_at = serializers.DateTimeField()


class DecisionBrief(serializers.Serializer[Any]):
    """A decision without what is shown."""

    run_id = serializers.CharField()
    decision_id = serializers.CharField()
    attempt_id = serializers.CharField(allow_null=True)
    status = serializers.ChoiceField([*DecisionStatus])
    title = serializers.CharField()
    request_digest = Digest(help_text="What an answer names: SHA-256 over `request`, as RFC 8785 writes it.")
    request_revision = serializers.IntegerField()
    deadline_at = serializers.DateTimeField(allow_null=True)
    resolution = Resolution(allow_null=True)
    revision = serializers.IntegerField(help_text="The number of the decision's events.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class Decision(DecisionBrief):
    """A decision with all that is shown."""

    request = Anything()
    deadline_in_ms = serializers.IntegerField(allow_null=True, help_text="0 where the deadline has passed.")


class DecisionPage(serializers.Serializer[Any]):
    results = DecisionBrief(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class PersonsAnswer(serializers.Serializer[Any]):
    """What one person answered, and what became of it."""

    username = serializers.CharField()
    choice = serializers.CharField()
    input = Anything()
    reason = serializers.CharField(allow_null=True)
    channel = serializers.CharField()
    outcome = serializers.ChoiceField([*AnswerOutcome])
    request_digest = Digest(help_text="Of what the person was shown.")
    request_revision = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField()


class AnswerPage(serializers.Serializer[Any]):
    results = PersonsAnswer(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class Answered(serializers.Serializer[Any]):
    """An answer that counted, and the decision after it."""

    answer = PersonsAnswer()
    decision = DecisionBrief()


def resolution(resolution: DecisionResolution) -> Answer:
    """What fills Resolution."""
    return {
        "outcome": resolution.outcome,
        "provenance": resolution.provenance,
        "response": shapes.document(resolution.response),
        "reason": resolution.reason,
        "channel": resolution.channel,
        "actor_id": resolution.actor_id,
        "request_digest": shapes.sha256(resolution.request_digest),
        "resolved_at": shapes.time(resolution.resolved_at),
    }


def brief(decision: HumanDecision) -> Answer:
    """What fills DecisionBrief."""
    resolved: DecisionResolution | None = getattr(decision, "resolution", None)
    return {
        "run_id": decision.run.run_id,
        "decision_id": decision.decision_id,
        "attempt_id": decision.attempt.attempt_id if decision.attempt else None,
        "status": DecisionStatus.RESOLVED if resolved else DecisionStatus.OPEN,
        "title": decision.title,
        "request_digest": shapes.sha256(decision.request_digest),
        "request_revision": decision.request_revision,
        "deadline_at": shapes.time(decision.deadline_at),
        "resolution": resolved and resolution(resolved),
        "revision": decision.revision,
        "created_at": shapes.time(decision.created_at),
        "updated_at": shapes.time(decision.updated_at),
    }


def whole(decision: HumanDecision) -> Answer:
    """What fills Decision."""
    left = None
    if decision.deadline_at is not None and decision.resolved_at is None:
        left = max(0, clock.to_ms(decision.deadline_at) - clock.to_ms(clock.now()))
    return brief(decision) | {"request": shapes.document(decision.request), "deadline_in_ms": left}


def answer(submission: DecisionSubmission) -> Answer:
    """What fills PersonsAnswer."""
    return {
        "username": submission.username,
        "choice": submission.choice,
        "input": shapes.document(submission.input),
        "reason": submission.reason,
        "channel": submission.channel,
        "outcome": submission.outcome,
        "request_digest": shapes.sha256(submission.request_digest),
        "request_revision": submission.request_revision,
        "created_at": shapes.time(submission.created_at),
    }
