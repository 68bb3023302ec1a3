"""The whole state, as the traces' DUMP shows it."""

from collections.abc import Sequence
from typing import Any

from runs import canonical
from runs.models import Event, NodeAttempt, Project, Run
from runs.states import ExecutionMode
from tests.conformance.records import document, ms, text


def dump(ranks: Sequence[int]) -> dict[str, Any]:
    """DUMP of the trace format; `ranks` are the keys of all events ever seen, in order."""
    runs = Run.objects.with_documents().select_related("project").prefetch_related("attempts__error")
    events = Event.objects.in_sequence()
    return {
        "projects": sorted(Project.objects.values_list("path", flat=True)),
        "runs": [_run(run) for run in sorted(runs, key=lambda run: run.run_id)],
        "events": [_event(event, ranks.index(event.pk) + 1) for event in events],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "project": run.project.path,
        "workflow_name": run.workflow.name,
        "workflow_ref": run.workflow_ref,
        "definition_digest": bytes(run.definition.digest).hex(),
        "input": document(run.input),
        "launch_options": document(run.launch_options),
        "sources": [[path, *parts] for path, _, *parts in document(run.sources)],
        "lineage": {
            "parent": run.parent.run_id if run.parent else None,
            "root": run.root_run_id,
            "kind": run.lineage_kind,
            "restart_number": run.restart_number,
            "parent_revision": run.parent_run_revision,
        },
        "binding": {"session": run.origin_session_id, "mode": run.execution_mode},
        "run": {
            "status": run.status,
            "paused": run.paused,
            "status_detail": run.status_detail,
            "error": text(run.error),
            "created_at": ms(run.created_at),
            "updated_at": ms(run.updated_at),
            "finished_at": ms(run.finished_at),
        },
        "queue": _queue(run),
        "lease": _lease(run),
        "revision": run.revision,
        "attempts": [_attempt(a) for a in sorted(run.attempts.all(), key=lambda a: a.attempt_id)],
        "effects": [],
        "requests": [],
        "decisions": [],
        "messages": [],
        "turns": [],
    }


def _queue(run: Run) -> dict[str, Any]:
    interactive = run.execution_mode == ExecutionMode.INTERACTIVE
    return {
        "status": run.queue_status,
        "session": run.origin_session_id if interactive else None,
        "available_at": ms(run.available_at),
        "consecutive_errors": run.consecutive_errors,
        "error_code": run.error_code,
        "error_message": text(run.queue_error),
        "created_at": ms(run.created_at),
        "updated_at": ms(run.queue_updated_at),
        "started_at": ms(run.started_at),
        "finished_at": ms(run.queue_finished_at),
    }


def _lease(run: Run) -> dict[str, Any]:
    lease = run.lease
    return {
        "generation": lease.generation,
        "held": lease.owner_id is not None,
        "owner_type": lease.owner_type,
        "owner_id": lease.owner_id,
        "acquired_at": ms(lease.acquired_at),
        "heartbeat_at": ms(lease.heartbeat_at),
        "expires_at": ms(lease.expires_at),
    }


def _attempt(attempt: NodeAttempt) -> dict[str, Any]:
    return {
        "id": attempt.attempt_id,
        "status": attempt.status,
        "error": text(attempt.error),
        "timeout_ms": attempt.timeout_ms,
        "started_at": ms(attempt.started_at),
        "updated_at": ms(attempt.updated_at),
        "finished_at": ms(attempt.finished_at),
        "intervals": [],
    }


def _event(event: Event, rank: int) -> dict[str, Any]:
    return {
        "seq": rank,
        "kind": event.kind,
        "key": event.key,
        "revision": event.revision,
        "type": event.type,
        "actor_type": event.actor_type,
        "actor_id": event.actor_id,
        "lease_generation": event.generation,
        "payload": canonical.loads(event.payload.encode()),
        "at": ms(event.at),
    }
