"""The kinds of entries in a view: where in it each kind stands, by what key, and what its entries show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runs.models import (
    ActiveInterval,
    DecisionSubmission,
    Effect,
    EffectAttempt,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    Lease,
    NodeAttempt,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.models.remembering import Remembering
from runs.states import Priority
from runs.view.members import Members, digests, excerpt, key_of, named, plain, references, times

# What renewals move without an event: it travels as pulses, and a change may bring it up to date.
PULSES = {
    ("summary",): frozenset({"heartbeat_at", "expires_at", "takeover_at"}),
    ("timeline", "attempts"): frozenset({"progress", "updated_at"}),
    ("timeline", "intervals"): frozenset({"elapsed_ms", "observed_at"}),
}

RUN: Members = {
    **plain("run_id", "workflow_ref", "status", "status_detail", "paused", "queue_status", "error_code"),
    **plain("origin_session_id", "execution_mode", "lineage_kind", "restart_number", "parent_run_revision"),
    **plain("revision", "consecutive_errors"),
    **named("workflow_name", lambda run: run.workflow.name, "workflow_id"),
    **named("definition_digest", lambda run: "sha256:" + bytes(run.definition.digest).hex(), "definition_id"),
    **named("priority", lambda run: Priority(run.priority).name.lower(), "priority"),
    **named("parent_run_id", lambda run: run.parent and run.parent.run_id, "parent_id"),
    **named("root_run_id", lambda run: run.root_run_id, "root_id", "run_id"),
    **times("created_at", "updated_at", "finished_at", "available_at", "queue_updated_at", "started_at"),
    **times("queue_finished_at"),
    **references("input", "launch_options", "sources", "output", "error", "queue_error"),
    **excerpt("error_message", of="error"),
    **excerpt("queue_error_message", of="queue_error"),
}
LEASE: Members = {
    **plain("generation", "owner_type", "owner_id", "pending_requests", "open_work", "effects_in_doubt"),
    **plain("wish", "wish_actor_type", "wish_actor_id", "wish_reason"),
    **times("ready_at", "acquired_at", "heartbeat_at", "expires_at", "retry_at", "takeover_at", "wish_due_at"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Where the entries of a kind of row stand in the view, and what its rows are read with.

    `run` is the way from a row to its run. `always` is told along with whatever has moved.
    """

    path: tuple[str, str]
    key: Callable[[Any], str]
    members: Members
    run: str = "run"
    related: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    always: frozenset[str] = frozenset()

    def run_of(self, row: Any) -> int:
        """The key of the row's run."""
        *ways, last = self.run.split("__")
        for way in ways:
            row = getattr(row, way)
        key: int = getattr(row, f"{last}_id")
        return key


ATTEMPT = Kind(
    ("timeline", "attempts"),
    lambda attempt: attempt.attempt_id,
    {
        **plain("attempt_id", "node_id", "node_type", "attempt_number", "status", "generation", "timeout_ms"),
        # As JSON text: it may be any document, and a merge patch would merge two of them.
        **plain("progress"),
        **references("input", "output"),
        **excerpt("error_message", of="error"),
        **times("started_at", "updated_at", "finished_at"),
    },
    documents=("input", "output"),
    texts=("error",),
    always=frozenset({"updated_at"}),
)
INTERVAL = Kind(
    ("timeline", "intervals"),
    lambda interval: key_of(interval.attempt.attempt_id, interval.number),
    {
        **named("attempt_id", lambda interval: interval.attempt.attempt_id, "attempt_id"),
        **plain("number", "elapsed_ms"),
        **times("started_at", "observed_at", "ended_at"),
    },
    run="attempt__run",
    related=("attempt",),
    always=frozenset({"elapsed_ms", "observed_at"}),
)
EFFECT = Kind(
    ("inspector", "effects"),
    lambda effect: effect.effect_id,
    {
        **plain("effect_id", "effect_type", "idempotency_key", "owner_scope", "status", "attempt_count", "revision"),
        **references("payload", "result"),
        **excerpt("error_message", of="error"),
        **times("next_attempt_at", "created_at", "updated_at", "settled_at"),
    },
    documents=("payload", "result"),
    texts=("error",),
)
TRY = Kind(
    ("inspector", "tries"),
    lambda attempt: key_of(attempt.effect.effect_id, attempt.number),
    {
        **named("effect_id", lambda attempt: attempt.effect.effect_id, "effect_id"),
        **plain("number", "generation", "owner_id", "outcome"),
        **excerpt("error_message", of="error"),
        **times("started_at", "finished_at"),
    },
    run="effect__run",
    related=("effect",),
    texts=("error",),
)
REQUEST = Kind(
    ("inspector", "requests"),
    lambda request: request.request_id,
    {
        **plain("request_id", "target_session_id", "kind", "status", "revision", "accepted_submission_id"),
        **named("attempt_id", lambda request: request.attempt.attempt_id, "attempt_id"),
        **references("contract"),
        **times("created_at", "updated_at", "settled_at"),
    },
    related=("attempt",),
    documents=("contract",),
)
SUBMISSION = Kind(
    ("inspector", "submissions"),
    lambda submission: key_of(submission.request.request_id, submission.submission_id),
    {
        **named("request_id", lambda submission: submission.request.request_id, "request_id"),
        **plain("submission_id", "outcome"),
        **references("payload", "receipt"),
        **times("created_at"),
    },
    run="request__run",
    related=("request",),
    documents=("payload", "receipt"),
)


def _of_resolution(name: str) -> Callable[[Any], Any]:
    def shown(decision: HumanDecision) -> Any:
        resolution = getattr(decision, "resolution", None)
        return resolution and getattr(resolution, name)

    return shown


DECISION = Kind(
    ("inspector", "decisions"),
    lambda decision: decision.decision_id,
    {
        **plain("decision_id", "title", "request_revision", "revision"),
        **named("attempt_id", lambda decision: decision.attempt and decision.attempt.attempt_id, "attempt_id"),
        **references("request", "default_response"),
        **digests("request_digest"),
        **times("deadline_at", "created_at", "updated_at", "resolved_at"),
        **named("outcome", _of_resolution("outcome"), "resolved_at"),
        **named("provenance", _of_resolution("provenance"), "resolved_at"),
        **named("resolved_by", _of_resolution("actor_id"), "resolved_at"),
        **named("reason", _of_resolution("reason"), "resolved_at"),
    },
    related=("attempt", "resolution"),
    documents=("request", "default_response"),
)
ANSWER = Kind(
    ("inspector", "answers"),
    lambda answer: str(answer.pk),
    {
        **named("decision_id", lambda answer: answer.decision.decision_id, "decision_id"),
        **plain("person_id", "username", "choice", "reason", "channel", "outcome", "request_revision"),
        **references("input"),
        **times("created_at"),
    },
    run="decision__run",
    related=("decision",),
    documents=("input",),
)
MESSAGE = Kind(
    ("conversation", "messages"),
    lambda message: message.message_id,
    {
        **plain("message_id", "target_session_id", "kind", "order", "status"),
        **references("content", "evidence"),
        **times("created_at", "updated_at"),
    },
    documents=("content", "evidence"),
)
TURN = Kind(
    ("conversation", "turns"),
    lambda turn: turn.turn_id,
    {
        **named("message_id", lambda turn: turn.message.message_id, "message_id"),
        **plain("turn_id", "stop_reason"),
        **times("started_at", "ended_at"),
    },
    related=("message",),
)

KINDS: dict[type[Remembering], Kind] = {
    NodeAttempt: ATTEMPT,
    ActiveInterval: INTERVAL,
    Effect: EFFECT,
    EffectAttempt: TRY,
    InteractiveRequest: REQUEST,
    InteractiveSubmission: SUBMISSION,
    HumanDecision: DECISION,
    DecisionSubmission: ANSWER,
    WorkflowMessage: MESSAGE,
    WorkflowTurn: TURN,
}
SUMMARY: dict[type[Remembering], Members] = {Run: RUN, Lease: LEASE}
