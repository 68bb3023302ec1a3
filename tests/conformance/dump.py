"""The whole state, as the traces' DUMP shows it."""

from collections.abc import Sequence
from typing import Any

from runs import canonical
from runs.models import (
    ActiveInterval,
    DecisionResolution,
    Effect,
    Event,
    HumanDecision,
    InteractiveRequest,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
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
        "attempts": [_attempt(each) for each in sorted(run.attempts.all(), key=lambda each: each.attempt_id)],
        "effects": [_effect(each) for each in sorted(run.effects.all(), key=lambda each: each.effect_id)],
        "requests": [_request(each) for each in sorted(run.requests.all(), key=lambda each: each.request_id)],
        "decisions": [_decision(each) for each in sorted(run.decisions.all(), key=lambda each: each.decision_id)],
        "messages": [_message(each) for each in run.messages.order_by("target_session_id", "order")],
        "turns": [_turn(each) for each in sorted(run.turns.all(), key=lambda each: each.turn_id)],
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
        "intervals": [
            [each.number, each.elapsed_ms, ms(each.started_at), ms(each.observed_at), ms(each.ended_at)]
            for each in ActiveInterval.objects.filter(attempt=attempt).order_by("number")
        ],
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "id": effect.effect_id,
        "type": effect.effect_type,
        "owner_scope": effect.owner_scope,
        "status": effect.status,
        "attempt_count": effect.attempt_count,
        "next_attempt_at": ms(effect.next_attempt_at),
        "error": text(effect.error),
        "updated_at": ms(effect.updated_at),
        "settled_at": ms(effect.settled_at),
        "revision": effect.revision,
        "attempts": [
            {
                "number": each.number,
                "outcome": each.outcome,
                "finished_at": ms(each.finished_at),
                "error": text(each.error),
            }
            for each in effect.attempts.order_by("number")
        ],
    }


def _request(request: InteractiveRequest) -> dict[str, Any]:
    submissions = sorted(request.submissions.all(), key=lambda each: each.submission_id)
    return {
        "id": request.request_id,
        "attempt": request.attempt.attempt_id,
        "session": request.target_session_id,
        "kind": request.kind,
        "status": request.status,
        "revision": request.revision,
        "updated_at": ms(request.updated_at),
        "settled_at": ms(request.settled_at),
        "submissions": [
            {
                "id": each.submission_id,
                "outcome": each.outcome,
                "receipt": None if each.receipt is None else document(each.receipt),
            }
            for each in submissions
        ],
    }


def _decision(decision: HumanDecision) -> dict[str, Any]:
    resolution = DecisionResolution.objects.filter(decision=decision).first()
    return {
        "id": decision.decision_id,
        "resolution": resolution
        and {
            "outcome": resolution.outcome,
            "provenance": resolution.provenance,
            "reason": resolution.reason,
            "channel": resolution.channel,
            "actor_id": resolution.actor_id,
            "resolved_at": ms(resolution.resolved_at),
            "same_digest": bytes(resolution.request_digest) == bytes(decision.request_digest),
        },
    }


def _message(message: WorkflowMessage) -> dict[str, Any]:
    return {
        "id": message.message_id,
        "session": message.target_session_id,
        "kind": message.kind,
        "order": message.order,
        "status": message.status,
        "updated_at": ms(message.updated_at),
    }


def _turn(turn: WorkflowTurn) -> dict[str, Any]:
    return {
        "id": turn.turn_id,
        "message": turn.message.message_id,
        "state": "started" if turn.ended_at is None else "ended",
        "stop_reason": turn.stop_reason,
        "ended_at": ms(turn.ended_at),
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
