"""A run as the fake server keeps it, and as it tells it."""

from dataclasses import dataclass, field
from typing import Any

TERMINAL = ("completed", "failed", "cancelled")


@dataclass
class FakeRun:
    run_id: str
    workflow_name: str
    definition_digest: str
    input: Any = None
    status: str = "queued"
    paused: bool = False
    generation: int = 0
    token: str | None = None
    ends: float = 0.0
    lease_ms: int = 30_000
    output: Any = None
    error_code: str | None = None
    error_message: str | None = None
    parked: int = 0
    attempts: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)


def detail(run: FakeRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "workflow_name": run.workflow_name,
        "workflow_ref": "tests:workflow",
        "definition_digest": run.definition_digest,
        "status": run.status,
        "queue_status": run.status,
        "display_status": run.status,
        "paused": run.paused,
        "revision": 1,
        "created_at": "2026-12-01T03:00:00.000Z",
        "input": run.input,
        "output": run.output,
        "error_code": run.error_code,
        "error_message": run.error_message,
        "a_later_version_says": "more",
    }
