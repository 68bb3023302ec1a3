"""Human decisions: a question to people, what they answered, and the one resolution."""

from django.db import models
from django.db.models import Q

from runs.models.attempt import NodeAttempt
from runs.models.blob import Blob
from runs.models.fields import choices, one_of
from runs.models.project import Project
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import AnswerOutcome, DecisionOutcome, DecisionProvenance


class HumanDecision(Remembering):
    """The request digest binds what was shown: an answer under another digest is void."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    attempt = models.ForeignKey(NodeAttempt, null=True, on_delete=models.CASCADE, related_name="decisions")
    decision_id = models.CharField(max_length=200)
    title = models.TextField(default="", help_text="From the request, for lists.")
    # The whole document that is shown: audience, title, subject, presentation, choices, quorum, deadline and the rest.
    request = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    request_digest = models.BinaryField(max_length=32)
    request_revision = models.PositiveIntegerField(default=1)
    # What the deadline resolves it with; none where it expires.
    default_response = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    deadline_at = models.DateTimeField(null=True)
    revision = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    # The resolution's own time, kept here so that the indexes hold only what is undecided.
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "decision_id"], name="decision_id_once"),)
        indexes = (
            models.Index(
                fields=["deadline_at", "id"],
                condition=Q(deadline_at__isnull=False, resolved_at=None),
                name="decision_due",
            ),
            models.Index(fields=["project", "deadline_at", "id"], condition=Q(resolved_at=None), name="decision_open"),
            models.Index(fields=["project", "id"], name="decision_of_project"),
        )

    def __str__(self) -> str:
        return self.decision_id


class DecisionSubmission(Remembering):
    """One answer of one person, with the digest of what that person was shown."""

    decision = models.ForeignKey(HumanDecision, on_delete=models.CASCADE, related_name="submissions")
    # The key and the name of the user at that time: an answer outlives the account.
    person_id = models.CharField(max_length=200)
    username = models.CharField(max_length=200)
    choice = models.CharField(max_length=200)
    input = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(null=True)
    channel = models.CharField(max_length=100)
    request_digest = models.BinaryField(max_length=32)
    request_revision = models.PositiveIntegerField(null=True, help_text="Null where the digest is of no standing one.")
    outcome = models.CharField(max_length=20, choices=choices(AnswerOutcome))
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["decision", "person_id"],
                condition=Q(outcome=AnswerOutcome.COUNTED),
                name="decision_one_vote_a_person",
            ),
            one_of("outcome", AnswerOutcome, "answer_outcome_known"),
        )

    def __str__(self) -> str:
        return f"{self.username}: {self.choice}"


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
