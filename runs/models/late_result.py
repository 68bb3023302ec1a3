"""What a runner reported as a run's result after it had lost the run: evidence, never applied."""

from django.db import models

from runs.models.blob import Blob
from runs.models.run import Run


class LateResult(models.Model):
    """Bounded per run; the oldest ones stay."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="late_results")
    verb = models.CharField(max_length=20, help_text="complete or fail.")
    token_hash = models.BinaryField(max_length=32)
    generation = models.PositiveBigIntegerField(help_text="The lease generation at the time of the report.")
    result = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            # The same report again is the same evidence.
            models.UniqueConstraint(fields=["run", "verb", "token_hash", "result"], name="late_result_once"),
        )

    def __str__(self) -> str:
        return f"{self.verb} at generation {self.generation}"
