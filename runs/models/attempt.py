"""One try of one node of a run's workflow: a durable step."""

from django.db import models

from runs.models.blob import Blob
from runs.models.fields import choices, one_of
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import AttemptStatus


class AttemptQuerySet(models.QuerySet["NodeAttempt"]):
    def with_documents(self) -> "AttemptQuerySet":
        return self.select_related("input", "output", "error")


class NodeAttempt(Remembering):
    """A node that has a completed attempt has been done: its output is given back to every later holder."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    attempt_id = models.CharField(max_length=200)
    node_id = models.CharField(max_length=200)
    node_type = models.CharField(max_length=100)
    attempt_number = models.PositiveIntegerField()
    status = models.CharField(max_length=20, choices=choices(AttemptStatus))
    generation = models.PositiveBigIntegerField(help_text="The lease generation that the attempt runs under.")
    timeout_ms = models.PositiveBigIntegerField(null=True)
    input = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    output = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    progress = models.TextField(null=True, help_text="Canonical JSON; moves without an event.")
    started_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "attempt_id"], name="attempt_id_once"),
            models.UniqueConstraint(fields=["run", "node_id", "attempt_number"], name="attempt_number_once"),
            models.UniqueConstraint(
                fields=["run", "node_id"],
                condition=models.Q(status=AttemptStatus.COMPLETED),
                name="attempt_completed_once",
            ),
            one_of("status", AttemptStatus, "attempt_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.node_id} #{self.attempt_number}"
