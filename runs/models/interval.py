"""The stretches of time that an attempt was really worked on: what its time budget counts."""

from django.db import models
from django.db.models import Q

from runs.models.attempt import NodeAttempt
from runs.models.remembering import Remembering


class ActiveInterval(Remembering):
    """`elapsed_ms` is measured by the runner's own monotonic clock, so that no jump of a wall clock moves it."""

    attempt = models.ForeignKey(NodeAttempt, on_delete=models.CASCADE, related_name="intervals")
    number = models.PositiveIntegerField()
    elapsed_ms = models.PositiveBigIntegerField()
    started_at = models.DateTimeField()
    observed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["attempt", "number"], name="interval_number_once"),
            models.UniqueConstraint(fields=["attempt"], condition=Q(ended_at=None), name="interval_open_once"),
        )

    def __str__(self) -> str:
        return f"{self.attempt} interval {self.number}"
