"""A workflow by its name, and its definitions by their digests; both per project, both for ever."""

from django.db import models

from runs.models.blob import Blob
from runs.models.fields import choices
from runs.models.project import Project
from runs.states import LostRunner


class Workflow(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="workflows")
    name = models.CharField(max_length=200)
    asked_for_at = models.DateTimeField(null=True, help_text="When a runner last asked for its runs.")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "name"], name="workflow_name_once"),)

    def __str__(self) -> str:
        return self.name


class WorkflowDefinition(models.Model):
    """A digest stands for one workflow and one snapshot."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    workflow = models.ForeignKey(Workflow, on_delete=models.CASCADE, related_name="definitions")
    digest = models.BinaryField(max_length=32)
    snapshot = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    lost_runner = models.CharField(max_length=20, choices=choices(LostRunner), default=LostRunner.RETRY)
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "digest"], name="definition_digest_once"),)

    def __str__(self) -> str:
        return f"{self.workflow} {bytes(self.digest).hex()[:12]}"
