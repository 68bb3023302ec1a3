"""Human decisions: a question to people, what they submitted, and the one resolution."""

from django.db import models
from django.db.models import Q

from runs.models.attempt import NodeAttempt
from runs.models.blob import Blob
from runs.models.fields import choices, one_of
from runs.models.run import Run
from runs.states import DecisionOutcome, DecisionProvenance


class HumanDecision(models.Model):
    """The request digest binds what was shown: an answer under another digest is void."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    attempt = models.ForeignKey(NodeAttempt, null=True, on_delete=models.CASCADE, related_name="decisions")
    decision_id = models.CharField(max_length=200)
    # Audience, title, subject, presentation, choices, quorum and the like, as the runner asked.
    request = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    request_digest = models.BinaryField(max_length=32)
    request_revision = models.PositiveIntegerField(default=1)
    deadline_at = models.DateTimeField(null=True)
    revision = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "decision_id"], name="decision_id_once"),)
        indexes = (
            models.Index(fields=["deadline_at"], condition=Q(deadline_at__isnull=False), name="decision_deadline"),
        )

    def __str__(self) -> str:
        return self.decision_id


class DecisionResolution(models.Model):
    """How a decision ended; there is exactly one."""

    decision = models.OneToOneField(
        HumanDecision, primary_key=True, on_delete=models.CASCADE, related_name="resolution"
    )
    outcome = models.CharField(max_length=20, choices=choices(DecisionOutcome))
    provenance = models.CharField(max_length=20, choices=choices(DecisionProvenance))
    response = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(null=True)
    channel = models.CharField(max_length=100, null=True)
    actor_id = models.TextField(null=True)
    request_digest = models.BinaryField(max_length=32)
    resolved_at = models.DateTimeField()

    class Meta:
        constraints = (
            one_of("outcome", DecisionOutcome, "resolution_outcome_known"),
            one_of("provenance", DecisionProvenance, "resolution_provenance_known"),
        )

    def __str__(self) -> str:
        return self.outcome
