"""Effects as the objects that callers get: what fills them, and how the OpenAPI document describes them."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from api import shapes
from api.answers import Anything, Digest, Problem
from api.shapes import Answer
from runs import clock
from runs.models import Effect, EffectAttempt
from runs.states import EffectOutcome, EffectStatus


class EffectBrief(serializers.Serializer[Any]):
    """An effect without its documents."""

    run_id = serializers.CharField()
    effect_id = serializers.CharField(help_text="SHA-256 over run id, type and key, in hexadecimal.")
    effect_type = serializers.CharField()
    idempotency_key = serializers.CharField()
    outside_key = serializers.CharField(
        help_text="To be shown to the outside service, so that it can tell repeats: the same in all tries."
    )
    status = serializers.ChoiceField([*EffectStatus])
    payload_digest = Digest(allow_null=True)
    error_message = serializers.CharField(allow_null=True)
    attempt_count = serializers.IntegerField(help_text="The number of the latest try.")
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField(help_text="The number of the effect's events.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)


class EffectAnswer(EffectBrief):
    """An effect as its verbs answer it."""

    result = Anything(help_text="What the outside answered; null until it is applied.")
    retry_in_ms = serializers.IntegerField(allow_null=True, help_text="How long until a pending effect is due.")


class StartedEffect(EffectAnswer):
    number = serializers.IntegerField(
        allow_null=True, help_text="Of the try that begins; null where the effect turned out to be in doubt."
    )


class EffectTry(serializers.Serializer[Any]):
    """One try, and what came of it."""

    number = serializers.IntegerField()
    generation = serializers.IntegerField(help_text="The lease generation that it was made under.")
    owner_id = serializers.CharField(allow_null=True)
    outcome = serializers.ChoiceField([*EffectOutcome], allow_null=True)
    error_message = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class EffectDetail(EffectAnswer):
    """An effect with its documents and its latest tries, newest first."""

    payload = Anything()
    tries = EffectTry(many=True)


class EffectPage(serializers.Serializer[Any]):
    results = EffectBrief(many=True)
    next = serializers.CharField(allow_null=True)
    limit = serializers.IntegerField()


class ReservedEffect(serializers.Serializer[Any]):
    """What became of one item: its effect, or the problem that stood in its way."""

    ok = serializers.BooleanField()
    made = serializers.BooleanField(required=False, help_text="Whether it was made now; else it was adopted.")
    effect = EffectAnswer(required=False)
    problem = Problem(required=False)


class ReservedEffects(serializers.Serializer[Any]):
    results = ReservedEffect(many=True)


def brief(effect: Effect) -> Answer:
    """An effect as lists show it."""
    return {
        "run_id": effect.run.run_id,
        "effect_id": effect.effect_id,
        "effect_type": effect.effect_type,
        "idempotency_key": effect.idempotency_key,
        "outside_key": effect.outside_key,
        "status": effect.status,
        "payload_digest": shapes.sha256(effect.payload.digest) if effect.payload else None,
        "error_message": shapes.text(effect.error),
        "attempt_count": effect.attempt_count,
        "next_attempt_at": shapes.time(effect.next_attempt_at),
        "revision": effect.revision,
        "created_at": shapes.time(effect.created_at),
        "updated_at": shapes.time(effect.updated_at),
        "settled_at": shapes.time(effect.settled_at),
    }


def answer(effect: Effect) -> Answer:
    """An effect as its verbs answer it."""
    due_at = effect.next_attempt_at
    retry_in_ms = None if due_at is None else max(0, clock.to_ms(due_at) - clock.to_ms(clock.now()))
    return brief(effect) | {"result": shapes.document(effect.result), "retry_in_ms": retry_in_ms}


def detail(effect: Effect, tries: Sequence[EffectAttempt]) -> Answer:
    """An effect with all that an operator needs in order to judge it."""
    return answer(effect) | {"payload": shapes.document(effect.payload), "tries": [_try(attempt) for attempt in tries]}


def _try(attempt: EffectAttempt) -> Answer:
    return {
        "number": attempt.number,
        "generation": attempt.generation,
        "owner_id": attempt.owner_id,
        "outcome": attempt.outcome,
        "error_message": shapes.text(attempt.error),
        "started_at": shapes.time(attempt.started_at),
        "finished_at": shapes.time(attempt.finished_at),
    }
