"""Content-addressed bytes of a project: inputs, outputs, error texts. Stored once, verified by digest."""

from django.db import models
from django.db.models import F
from django.db.models.lookups import Exact

from runs.models.project import Project

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


class Blob(models.Model):
    """The media type is part of the identity: a text and a document of the same bytes are two blobs."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    digest = models.BinaryField(max_length=32)
    media_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    content = models.BinaryField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["project", "digest", "media_type"], name="blob_once"),
            models.CheckConstraint(
                condition=Exact(
                    models.Func(F("content"), function="LENGTH", output_field=models.IntegerField()), F("size")
                ),
                name="blob_size_is_true",
            ),
        )

    def __str__(self) -> str:
        return f"sha256:{bytes(self.digest).hex()[:12]} ({self.size} bytes)"
