"""How the traces show runs, views and events; read from the models."""

from datetime import datetime
from typing import Any

from runs import canonical, clock, rules, sources
from runs.models import Blob, Event, Run
from runs.states import ExecutionMode


def ms(at: datetime | None) -> int | None:
    """A time as the traces write it."""
    return None if at is None else clock.to_ms(at)


def document(blob: Blob) -> Any:
    """The JSON value of a blob."""
    return canonical.loads(bytes(blob.content))


def text(blob: Blob | None) -> str | None:
    """The text of a blob."""
    return None if blob is None else bytes(blob.content).decode()


def run_record(run: Run, token: str | None = None) -> dict[str, Any]:
    """RUN of the trace format."""
    lease = run.lease
    return _common(run) | {
        "workflow_source": sources.shown(document(run.sources)),
        "input": document(run.input),
        "launch_options": document(run.launch_options),
        "runner_id": lease.owner_id,
        "claim_token": token,
        "claim_generation": lease.generation if lease.owner_id is not None else None,
        "claim_expires_at": ms(lease.expires_at),
    }


def view_record(run: Run) -> dict[str, Any]:
    """VIEW of the trace format."""
    return _common(run) | {
        "workflow_source": sources.shown(document(run.sources), mounts=False),
        "run_state_status": run.status,
        "paused": run.paused,
    }


def _common(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "workflow_name": run.workflow.name,
        "workflow_source_ref": run.workflow_ref,
        "initialized": run.status != "queued",
        "definition_digest": "sha256:" + bytes(run.definition.digest).hex(),
        "status": run.queue_status,
        "origin_session_id": run.origin_session_id if run.execution_mode == ExecutionMode.INTERACTIVE else None,
        "execution_mode": run.execution_mode,
        "parent_run_id": run.parent.run_id if run.parent else None,
        "root_run_id": run.root_run_id,
        "lineage_kind": run.lineage_kind,
        "restart_number": run.restart_number,
        "parent_run_revision": run.parent_run_revision,
        "error_code": run.error_code,
        "error_message": text(run.queue_error),
        "created_at": ms(run.created_at),
        "updated_at": ms(run.queue_updated_at),
        "started_at": ms(run.started_at),
        "finished_at": ms(run.queue_finished_at),
    }


def event_record(event: Event, rank: int) -> dict[str, Any]:
    """An event as record_event and list_events_after show it."""
    return {
        "seq": rank,
        "recorded_at": ms(event.at),
        "run_id": event.run.run_id,
        "workflow_ref": event.run.workflow_ref,
        "type": event.type,
        "runner_id": event.actor_id,
        "payload": canonical.loads(event.payload.encode()),
    }


def authority_record(run: Run, token: str) -> dict[str, Any]:
    """Who holds a run, as `authority` answers."""
    owner_id = run.lease.owner_id
    assert owner_id is not None, "authority is for a recorded owner"
    kind = rules.owner_type(owner_id)
    return {
        "actor": {"type": kind, "id": owner_id},
        "owner_type": kind,
        "owner_id": owner_id,
        "token": token,
        "generation": run.lease.generation,
    }
