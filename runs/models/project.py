"""A project: the tenant that everything else belongs to."""

from django.db import models
from django.db.models.functions import Now


class Project(models.Model):
    path = models.CharField(max_length=500, unique=True, help_text="The name that callers know the project by.")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("path",)

    def __str__(self) -> str:
        return self.path
