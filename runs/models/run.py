"""A run: its identity, its lineage and both of its status axes in one row, so that they can't drift apart."""

import functools
import operator
from collections.abc import Iterable

from django.db import models
from django.db.models import F, Q

from runs.models.blob import Blob
from runs.models.definition import Workflow, WorkflowDefinition
from runs.models.fields import choices, exactly_when, one_of
from runs.models.project import Project
from runs.models.remembering import Remembering
from runs.states import (
    QUEUE_TERMINAL,
    RUN_OPEN,
    RUN_TERMINAL,
    DisplayStatus,
    ErrorCode,
    ExecutionMode,
    LineageKind,
    Priority,
    QueueStatus,
    RunStatus,
)

SESSION_SLOT = "run_session_slot"
ONE_RESTART = "run_restarted_once"
RUN_ID_ONCE = "run_id_once"


class RunQuerySet(models.QuerySet["Run"]):
    def of(self, project: Project) -> "RunQuerySet":
        return self.filter(project=project)

    def newest_first(self) -> "RunQuerySet":
        return self.order_by("-created_at", "-pk")

    def with_identity(self) -> "RunQuerySet":
        """All that a brief record shows, in one statement."""
        return self.select_related("lease", "workflow", "definition", "parent", "root", "error", "queue_error")

    def with_documents(self) -> "RunQuerySet":
        """All that a full record shows, in one statement."""
        return self.with_identity().select_related(
            "sources", "input", "launch_options", "output", "definition__snapshot"
        )

    def displayed_as(self, statuses: Iterable[DisplayStatus]) -> "RunQuerySet":
        """Those whose `display_status` is one of these."""
        return self.filter(functools.reduce(operator.or_, map(displayed_as, statuses), Q(pk__in=[])))

    def holding_session(self, session_id: str) -> "RunQuerySet":
        """The interactive run of that session that is not over."""
        return self.filter(
            origin_session_id=session_id,
            execution_mode=ExecutionMode.INTERACTIVE,
        ).exclude(queue_status__in=QUEUE_TERMINAL)


def displayed_as(status: DisplayStatus) -> Q:
    """The condition that `Run.display_status` is this one."""
    shown = Q(status__in=sorted(RUN_OPEN), paused=False)
    ambiguous = Q(error_code=ErrorCode.EFFECT_AMBIGUOUS) | Q(lease__effects_in_doubt__gt=0)
    match status:
        case DisplayStatus.PAUSED:
            return Q(status__in=sorted(RUN_OPEN), paused=True)
        case DisplayStatus.AMBIGUOUS:
            return shown & ambiguous
        case DisplayStatus.QUEUED | DisplayStatus.RUNNING | DisplayStatus.WAITING:
            # A code that is null is not another one to a database.
            clear = Q(error_code=None) | ~Q(error_code=ErrorCode.EFFECT_AMBIGUOUS)
            return Q(status=status, paused=False, lease__effects_in_doubt=0) & clear
    return Q(status=status)


class Run(Remembering):
    """`queue_` times belong to the scheduling axis, `updated_at` and `finished_at` to the execution axis."""

    # Every index below begins with it.
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="runs", db_index=False)
    run_id = models.CharField(max_length=200)
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="runs")
    definition = models.ForeignKey(WorkflowDefinition, on_delete=models.PROTECT, related_name="runs")
    workflow_ref = models.TextField()
    sources = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    origin_session_id = models.TextField()
    execution_mode = models.CharField(max_length=20, choices=choices(ExecutionMode))
    priority = models.SmallIntegerField(default=Priority.NORMAL, choices=[(p.value, p.name.lower()) for p in Priority])

    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="restarts")
    # Null where a run is its own root: it has no key yet when it is inserted.
    root = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="descendants")
    lineage_kind = models.CharField(max_length=20, null=True, choices=choices(LineageKind))
    restart_number = models.PositiveIntegerField(default=0)
    parent_run_revision = models.PositiveBigIntegerField(null=True)

    input = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    launch_options = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    output = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    error = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")

    status = models.CharField(max_length=20, choices=choices(RunStatus), default=RunStatus.QUEUED)
    status_detail = models.TextField(null=True)
    paused = models.BooleanField(default=False)
    # Whether the pause took the run off the queue, so that unpausing puts it back.
    parked_by_pause = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    queue_status = models.CharField(max_length=20, choices=choices(QueueStatus), default=QueueStatus.QUEUED)
    available_at = models.DateTimeField()
    consecutive_errors = models.PositiveIntegerField(default=0)
    error_code = models.TextField(null=True)
    queue_error = models.ForeignKey(Blob, null=True, on_delete=models.PROTECT, related_name="+")
    queue_updated_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    queue_finished_at = models.DateTimeField(null=True)

    revision = models.PositiveBigIntegerField(default=0)
    # The digest and time of the run's newest event: the next one builds on them.
    head_digest = models.BinaryField(max_length=32, default=bytes(32))
    head_at = models.DateTimeField()

    objects = RunQuerySet.as_manager()

    class Meta:
        permissions = (("control_run", "Can cancel runs"),)
        constraints = (
            models.UniqueConstraint(fields=["project", "run_id"], name=RUN_ID_ONCE),
            models.UniqueConstraint(
                fields=["project", "origin_session_id"],
                condition=Q(execution_mode=ExecutionMode.INTERACTIVE) & ~Q(queue_status__in=sorted(QUEUE_TERMINAL)),
                name=SESSION_SLOT,
            ),
            models.UniqueConstraint(fields=["parent"], condition=Q(parent__isnull=False), name=ONE_RESTART),
            one_of("status", RunStatus, "run_status_known"),
            one_of("queue_status", QueueStatus, "run_queue_status_known"),
            one_of("execution_mode", ExecutionMode, "run_mode_known"),
            models.CheckConstraint(condition=Q(priority__in=[p.value for p in Priority]), name="run_priority_known"),
            exactly_when("finished_at", "status", RUN_TERMINAL, "run_finished_when_terminal"),
            exactly_when("queue_finished_at", "queue_status", QUEUE_TERMINAL, "run_queue_finished_when_terminal"),
            models.CheckConstraint(
                name="run_lineage_whole",
                condition=Q(parent=None, root=None, lineage_kind=None, restart_number=0, parent_run_revision=None)
                | Q(
                    parent__isnull=False,
                    root__isnull=False,
                    lineage_kind=LineageKind.RESTART,
                    restart_number__gt=0,
                    parent_run_revision__isnull=False,
                ),
            ),
        )
        indexes = (
            models.Index(F("project"), F("created_at").desc(), F("id").desc(), name="run_newest"),
            models.Index(F("project"), F("workflow"), F("created_at").desc(), F("id").desc(), name="run_by_workflow"),
            models.Index(F("project"), F("status"), F("created_at").desc(), F("id").desc(), name="run_by_status"),
            models.Index(
                F("project"), F("queue_status"), F("created_at").desc(), F("id").desc(), name="run_by_queue_status"
            ),
            models.Index(
                F("project"), F("created_at").desc(), F("id").desc(), condition=Q(paused=True), name="run_paused"
            ),
            models.Index(F("project"), F("origin_session_id"), F("created_at").desc(), name="run_by_session"),
            models.Index(
                F("project"),
                F("error_code"),
                F("created_at").desc(),
                F("id").desc(),
                condition=Q(error_code__isnull=False),
                name="run_by_error_code",
            ),
            models.Index(
                fields=["project", "run_id"], opclasses=["int8_ops", "varchar_pattern_ops"], name="run_id_prefix"
            ),
        )

    def __str__(self) -> str:
        return self.run_id

    @property
    def is_over(self) -> bool:
        """Terminal on both axes."""
        return self.status in RUN_TERMINAL and self.queue_status in QUEUE_TERMINAL

    @property
    def root_run_id(self) -> str:
        return self.root.run_id if self.root else self.run_id

    @property
    def display_status(self) -> DisplayStatus:
        """The terminal status; else paused; else ambiguous; else the run's status."""
        if self.status in RUN_TERMINAL:
            return DisplayStatus(self.status)
        if self.paused:
            return DisplayStatus.PAUSED
        if self.error_code == ErrorCode.EFFECT_AMBIGUOUS or self.lease.effects_in_doubt:
            return DisplayStatus.AMBIGUOUS
        return DisplayStatus(self.status)
