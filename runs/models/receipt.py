"""Receipts of accepted commands: the same idempotency key gets the same answer for a day."""

from django.db import models

from runs.models.access_token import AccessToken
from runs.models.project import Project


class Receipt(models.Model):
    """Made in the command's own transaction. Holds a fingerprint of the request and the answer, no secrets."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    access_token = models.ForeignKey(AccessToken, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    answer = models.TextField(help_text="The answer's canonical JSON.")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["project", "access_token", "key"], name="receipt_key_once"),)

    def __str__(self) -> str:
        return self.key
