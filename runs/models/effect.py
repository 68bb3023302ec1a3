"""The outbox: what a run does to the outside world, each with a key that the outside can tell repeats by."""

from django.db import models
from django.db.models import Q

from runs import rules_effects
from runs.models.blob import Blob
from runs.models.fields import choices, exactly_when, one_of
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import EFFECT_SETTLED, RUN_SCOPE, SETTLE_EFFECT, EffectOutcome, EffectStatus

UNSETTLED = (EffectStatus.PENDING, EffectStatus.APPLYING, EffectStatus.AMBIGUOUS)


class EffectQuerySet(models.QuerySet["Effect"]):
    def brief(self) -> "EffectQuerySet":
        """All that lists show, and which payload it is; not the documents themselves, of which a page may have many."""
        return self.select_related("run", "payload", "error").defer("payload__content")

    def with_answer(self) -> "EffectQuerySet":
        """What verbs answer: the result too, but not the payload, which its caller knows."""
        return self.brief().select_related("result")

    def with_documents(self) -> "EffectQuerySet":
        return self.select_related("run", "payload", "result", "error")

    def blocking(self) -> "EffectQuerySet":
        """What forbids completing the run. A pending effect of the queue's own settling is applied by completing."""
        unknown = Q(status__in=[EffectStatus.APPLYING, EffectStatus.AMBIGUOUS])
        to_do = Q(status=EffectStatus.PENDING) & ~Q(effect_type=SETTLE_EFFECT)
        return self.filter(unknown | to_do, owner_scope=RUN_SCOPE)

    def in_doubt(self) -> "EffectQuerySet":
        """What waits for a person, or for a late report of its own try."""
        return self.filter(status=EffectStatus.AMBIGUOUS)


class Effect(Remembering):
    """Of the run where its scope is `run`; effects of other scopes outlive the run's end untouched."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="effects")
    effect_id = models.CharField(max_length=200)
    effect_type = models.CharField(max_length=200)
    idempotency_key = models.CharField(max_length=200)
    owner_scope = models.CharField(max_length=50, default=RUN_SCOPE)
    status = models.CharField(max_length=20, choices=choices(EffectStatus), default=EffectStatus.PENDING)
    payload = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    result = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    attempt_count = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True)
    revision = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)

    objects = EffectQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "effect_id"], name="effect_id_once"),
            models.UniqueConstraint(fields=["run", "effect_type", "idempotency_key"], name="effect_key_once"),
            one_of("status", EffectStatus, "effect_status_known"),
            exactly_when("settled_at", "status", EFFECT_SETTLED, "effect_settled_when_over"),
        )
        indexes = (
            # What completing asks for, among a run's thousands of applied ones.
            models.Index(fields=["run"], condition=Q(status__in=UNSETTLED), name="effect_unsettled"),
            models.Index(fields=["id"], condition=Q(status=EffectStatus.AMBIGUOUS), name="effect_ambiguous"),
        )

    def __str__(self) -> str:
        return self.effect_id

    @property
    def outside_key(self) -> str:
        """What the outside service is told to tell repeats by: the same in all tries, and no other effect's."""
        return rules_effects.outside_key(self.run_id, self.effect_type, self.idempotency_key)


class EffectAttempt(Remembering):
    """One try to apply an effect, under the lease generation that made it."""

    effect = models.ForeignKey(Effect, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    generation = models.PositiveBigIntegerField(default=0)
    owner_id = models.TextField(null=True, help_text="Who made the try.")
    # Of the lease token: whoever has it may still say what came of this try.
    token_hash = models.BinaryField(max_length=32, null=True)
    outcome = models.CharField(max_length=20, null=True, choices=choices(EffectOutcome))
    error = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["effect", "number"], name="effect_attempt_number_once"),
            models.UniqueConstraint(fields=["effect"], condition=Q(finished_at=None), name="effect_attempt_open_once"),
        )

    def __str__(self) -> str:
        return f"{self.effect} try {self.number}"
