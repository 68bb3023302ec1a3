"""Which access token an owner id belongs to. No claim or recovery leans on this register."""

from django.db import models

from runs.models.access_token import AccessToken
from runs.models.project import Project


class Owner(models.Model):
    """The first access token that used an owner id keeps it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    owner_id = models.CharField(max_length=200)
    access_token = models.ForeignKey(AccessToken, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "owner_id"], name="owner_id_once"),)

    def __str__(self) -> str:
        return self.owner_id
