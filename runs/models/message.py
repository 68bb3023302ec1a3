"""Messages to a session in their order, and the turns in which the session takes them."""

from django.db import models
from django.db.models import Q

from runs.models.blob import Blob
from runs.models.fields import choices, one_of
from runs.models.project import Project
from runs.models.remembering import Remembering
from runs.models.run import Run
from runs.states import MessageKind, MessageStatus, StopReason


class WorkflowMessage(Remembering):
    """The order counts the messages of a session over all of a project's runs."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="messages")
    message_id = models.CharField(max_length=200)
    target_session_id = models.TextField()
    kind = models.CharField(max_length=20, choices=choices(MessageKind))
    order = models.PositiveBigIntegerField()
    status = models.CharField(max_length=20, choices=choices(MessageStatus), default=MessageStatus.PENDING)
    content = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    evidence = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "message_id"], name="message_id_once"),
            models.UniqueConstraint(fields=["project", "target_session_id", "order"], name="message_order_once"),
            one_of("kind", MessageKind, "message_kind_known"),
            one_of("status", MessageStatus, "message_status_known"),
        )
        indexes = (
            models.Index(
                fields=["project", "target_session_id", "order"],
                condition=Q(status=MessageStatus.PENDING),
                name="message_pending",
            ),
        )

    def __str__(self) -> str:
        return self.message_id


class WorkflowTurn(Remembering):
    """A session's work on one message; lost when the run ends under it."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="turns")
    message = models.ForeignKey(WorkflowMessage, on_delete=models.CASCADE, related_name="turns")
    turn_id = models.CharField(max_length=200)
    stop_reason = models.CharField(max_length=20, null=True, choices=choices(StopReason))
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "turn_id"], name="turn_id_once"),
            models.UniqueConstraint(fields=["message"], condition=Q(ended_at=None), name="turn_open_once"),
            models.CheckConstraint(
                condition=Q(ended_at=None, stop_reason=None) | Q(ended_at__isnull=False, stop_reason__isnull=False),
                name="turn_ended_with_reason",
            ),
        )

    def __str__(self) -> str:
        return self.turn_id
