"""Runs, leases, attempts and events as the objects that callers get. Formats what it is given and reads nothing.

Stored documents go out as the very bytes that are stored, wrapped in orjson fragments: no digit gets lost.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import orjson

from runs import canonical, clock, sources
from runs.models import Blob, Event, LateResult, Lease, NodeAttempt, Run
from runs.rules_waiting import Reason
from runs.states import Priority

Answer: TypeAlias = dict[str, Any]
_PRIORITIES = {priority.value: priority.name.lower() for priority in Priority}
_MILLISECOND = timedelta(milliseconds=1)


def brief(run: Run) -> Answer:
    """A run without its documents, as lists and verbs answer it."""
    error = run.error or run.queue_error
    return {
        "run_id": run.run_id,
        "workflow_name": run.workflow.name,
        "workflow_ref": run.workflow_ref,
        "definition_digest": sha256(run.definition.digest),
        "status": run.status,
        "queue_status": run.queue_status,
        "display_status": run.display_status,
        "paused": run.paused,
        "status_detail": run.status_detail,
        "priority": _PRIORITIES[run.priority],
        "error_code": run.error_code,
        "error_message": text(error),
        "origin_session_id": run.origin_session_id,
        "execution_mode": run.execution_mode,
        "parent_run_id": run.parent.run_id if run.parent else None,
        "root_run_id": run.root_run_id,
        "lineage_kind": run.lineage_kind,
        "restart_number": run.restart_number,
        "parent_run_revision": run.parent_run_revision,
        "revision": run.revision,
        "consecutive_errors": run.consecutive_errors,
        "available_at": time(run.available_at),
        "created_at": time(run.created_at),
        # Each axis has times of its own; a caller wants to know when anything changed.
        "updated_at": time(max(run.updated_at, run.queue_updated_at)),
        "started_at": time(run.started_at),
        "finished_at": time(run.finished_at),
        "lease": _lease_on_record(run.lease),
    }


def detail(run: Run) -> Answer:
    """A run with its documents."""
    return brief(run) | {
        "workflow_source": sources.shown(_value(run.sources)),
        "input": document(run.input),
        "launch_options": document(run.launch_options),
        "output": document(run.output),
    }


def waiting_for(reason: Reason | None) -> Answer | None:
    """Why a run waits."""
    if reason is None:
        return None
    facts = {name: time(fact) if isinstance(fact, datetime) else fact for name, fact in reason.facts.items()}
    return {"code": reason.code, "sentence": reason.sentence, "facts": facts}


def claimed(run: Run, lease: Lease, at: datetime | None = None) -> Answer:
    """A run as its new holder gets it. The lease is the one granted, however the run's row stands by now."""
    shown = detail(run) | {"definition_snapshot": document(run.definition.snapshot), "lease": _lease_on_record(lease)}
    return {"run": shown, "lease": held(lease, at)}


def held(lease: Lease, at: datetime | None = None) -> Answer:
    """A live lease with its durations, counted from `at`, or from when it was granted or renewed."""
    assert lease.expires_at, "the lease is owned"
    assert lease.heartbeat_at, "the lease is owned"
    lease_ms = (lease.expires_at - lease.heartbeat_at) // _MILLISECOND
    remaining_ms = max(0, (lease.expires_at - (at or lease.heartbeat_at)) // _MILLISECOND)
    return {
        "generation": lease.generation,
        "owner_type": lease.owner_type,
        "owner_id": lease.owner_id,
        "acquired_at": time(lease.acquired_at),
        "expires_at": time(lease.expires_at),
        "lease_ms": lease_ms,
        "lease_remaining_ms": remaining_ms,
        # A third of the way through the lease.
        "renew_in_ms": max(0, remaining_ms - (lease_ms - lease_ms // 3)),
        "wish": _wish(lease, at or lease.heartbeat_at),
    }


def _wish(lease: Lease, at: datetime) -> Answer | None:
    """What an operator wishes of the holder."""
    if lease.wish is None or lease.wish_due_at is None:
        return None
    return {
        "wish": lease.wish,
        "due_at": time(lease.wish_due_at),
        "due_in_ms": max(0, (lease.wish_due_at - at) // _MILLISECOND),
        "reason": lease.wish_reason,
    }


def attempt(attempt: NodeAttempt) -> Answer:
    """One try of one node."""
    return {
        "attempt_id": attempt.attempt_id,
        "node_id": attempt.node_id,
        "node_type": attempt.node_type,
        "attempt_number": attempt.attempt_number,
        "status": attempt.status,
        "generation": attempt.generation,
        "input": document(attempt.input),
        "output": document(attempt.output),
        "error_message": text(attempt.error),
        "progress": None if attempt.progress is None else orjson.Fragment(attempt.progress),
        "timeout_ms": attempt.timeout_ms,
        "started_at": time(attempt.started_at),
        "updated_at": time(attempt.updated_at),
        "finished_at": time(attempt.finished_at),
    }


def late_result(late: LateResult) -> Answer:
    """What was reported as a result after the run was lost."""
    return {
        "verb": late.verb,
        "generation": late.generation,
        "result": document(late.result),
        "created_at": time(late.created_at),
    }


def event(event: Event) -> Answer:
    """One entry of the journal."""
    return {
        "seq": event.pk,
        "run_id": event.run.run_id,
        "kind": event.kind,
        "key": event.key,
        "revision": event.revision,
        "type": event.type,
        "actor_type": event.actor_type,
        "actor_id": event.actor_id,
        "generation": event.generation,
        "payload": orjson.Fragment(event.payload),
        "at": time(event.at),
        "digest": sha256(event.digest),
    }


def document(blob: Blob | None) -> orjson.Fragment | None:
    """A stored document as it is; null where there is none."""
    return None if blob is None else orjson.Fragment(bytes(blob.content))


def text(blob: Blob | None) -> str | None:
    """A stored text."""
    return None if blob is None else bytes(blob.content).decode()


def time(at: datetime | None) -> str | None:
    """UTC with milliseconds: 2026-12-01T03:00:00.123Z."""
    return None if at is None else clock.text(at)


def sha256(digest: bytes | memoryview) -> str:
    return "sha256:" + bytes(digest).hex()


def _lease_on_record(lease: Lease) -> Answer:
    return {
        "generation": lease.generation,
        "owner_type": lease.owner_type,
        "owner_id": lease.owner_id,
        "acquired_at": time(lease.acquired_at),
        "heartbeat_at": time(lease.heartbeat_at),
        "expires_at": time(lease.expires_at),
    }


def _value(blob: Blob) -> Sequence[Sequence[str]]:
    value: Any = canonical.loads(bytes(blob.content))
    return value  # type: ignore[no-any-return]  # the stored form of sources
