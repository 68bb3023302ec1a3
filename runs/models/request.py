"""Interactive requests: what a run asks of a session, and what the session submits."""

from django.db import models
from django.db.models import Q

from runs.models.attempt import NodeAttempt
from runs.models.blob import Blob
from runs.models.fields import choices, one_of
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import RequestStatus, SubmissionOutcome


class InteractiveRequest(Remembering):
    """While one is pending, no ordinary claim takes the run."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="requests")
    attempt = models.ForeignKey(NodeAttempt, on_delete=models.CASCADE, related_name="requests")
    request_id = models.CharField(max_length=200)
    target_session_id = models.TextField()
    kind = models.CharField(max_length=50)
    contract = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=20, choices=choices(RequestStatus), default=RequestStatus.PENDING)
    revision = models.PositiveBigIntegerField(default=1)
    accepted_submission_id = models.CharField(max_length=200, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "request_id"], name="request_id_once"),
            one_of("status", RequestStatus, "request_status_known"),
        )
        indexes = (models.Index(fields=["run"], condition=Q(status=RequestStatus.PENDING), name="request_pending"),)

    def __str__(self) -> str:
        return self.request_id


class InteractiveSubmission(Remembering):
    """One answer to a request; validated by a runner, then accepted or rejected with a receipt."""

    request = models.ForeignKey(InteractiveRequest, on_delete=models.CASCADE, related_name="submissions")
    submission_id = models.CharField(max_length=200)
    payload = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=20, choices=choices(SubmissionOutcome))
    receipt = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["request", "submission_id"], name="submission_id_once"),
            one_of("outcome", SubmissionOutcome, "submission_outcome_known"),
        )
        # What a runner looks for that serves as validator: never more than a few rows.
        indexes = (
            models.Index(
                fields=["request"], condition=Q(outcome=SubmissionOutcome.VALIDATING), name="submission_validating"
            ),
        )

    def __str__(self) -> str:
        return self.submission_id
