"""What a proof that fails says."""

from dataclasses import dataclass

from runs.models import Run


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule, and where. `run_key` is the run's key in the database; blobs that no run uses have no run."""

    rule: str
    project: str
    run_id: str | None
    detail: str
    run_key: int = 0

    @classmethod
    def of(cls, run: Run, rule: str, detail: str) -> "Violation":
        return cls(rule, run.project.path, run.run_id, detail, run.pk)

    def __str__(self) -> str:
        """One line."""
        return f"{self.rule}: {self.project} {self.run_id or '-'}: {self.detail}"
