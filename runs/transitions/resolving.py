"""How a decision gets its one resolution, and what that means for its run. For transitions that hold the lock."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from runs import canonical, clock, journal, rules, rules_decisions
from runs.journal import Actor
from runs.models import Blob, DecisionResolution, Event, HumanDecision, Run
from runs.states import ActorType, DecisionOutcome, DecisionProvenance, QueueStatus
from runs.transitions import derived, mutex

POLICY = Actor(ActorType.POLICY)
_DECISION_FIELDS = ("revision", "resolved_at", "updated_at")
_RUN_FIELDS = (
    "queue_status",
    "queue_updated_at",
    "available_at",
    "parked_by_pause",
    "error_code",
    "queue_error",
    *journal.HEAD_FIELDS,
)


def by_people(
    run: Run, decision: HumanDecision, response: Blob, by: Actor, channel: str, reason: str | None, at: datetime
) -> Event:
    """The decision is resolved by the answers of people; in memory; its event."""
    decision.resolution = DecisionResolution(
        decision=decision,
        outcome=DecisionOutcome.ACCEPTED,
        provenance=DecisionProvenance.HUMAN,
        response=response,
        reason=reason,
        channel=channel,
        actor_id=by.id,
        request_digest=decision.request_digest,
        resolved_at=at,
    )
    return _resolved(run, decision, by, at)


def by_policy(run: Run, decision: HumanDecision, at: datetime) -> Event:
    """The decision is resolved by its deadline: with its default response, or as expired; in memory; its event."""
    has_default = decision.default_response_id is not None
    decision.resolution = DecisionResolution(
        decision=decision,
        outcome=DecisionOutcome.ACCEPTED if has_default else DecisionOutcome.EXPIRED,
        provenance=DecisionProvenance.POLICY,
        response=decision.default_response,
        request_digest=decision.request_digest,
        resolved_at=at,
    )
    return _resolved(run, decision, POLICY, at)


def store(runs: Sequence[Run], decisions: Sequence[HumanDecision], by: Actor, now: datetime) -> list[Event]:
    """Store what was resolved, and offer again every run that waits for nothing else; the events of that."""
    DecisionResolution.objects.bulk_create(decision.resolution for decision in decisions)
    mutex.write(decisions, _DECISION_FIELDS)
    undecided = set(HumanDecision.objects.filter(run__in=runs, resolution=None).values_list("run_id", flat=True))
    events = []
    for run in runs:
        if rules_decisions.goes_on(run, run.lease.pending_requests, run.pk in undecided):
            events += _offered(run, by, mutex.never_back(run, now))
    mutex.write([run.lease for run in runs], derived.DERIVED_FIELDS)
    mutex.write(runs, _RUN_FIELDS)
    return events


def facts(decision: HumanDecision) -> dict[str, Any]:
    """What an event says of the decision as it was shown."""
    return {
        "decisionId": decision.decision_id,
        "requestRevision": decision.request_revision,
        "requestDigest": bytes(decision.request_digest).hex(),
        "deadlineAt": None if decision.deadline_at is None else clock.to_ms(decision.deadline_at),
    }


def _resolved(run: Run, decision: HumanDecision, by: Actor, at: datetime) -> Event:
    resolution = decision.resolution
    decision.resolved_at = decision.updated_at = at
    if not rules.has_ended(run):
        run.lease.open_work -= 1
    response: Any = None if resolution.response is None else canonical.loads(bytes(resolution.response.content))
    payload = facts(decision) | {
        "outcome": resolution.outcome,
        "provenance": resolution.provenance,
        "choice": response and response["choice"],
    }
    return journal.entered_on_decision(run, decision, "decision.resolved", by, payload, at)


def _offered(run: Run, by: Actor, at: datetime) -> list[Event]:
    """The run is handed out next; a paused one once it is unpaused."""
    if run.paused:
        run.parked_by_pause = True
        return []
    run.error_code = run.queue_error = None
    run.queue_status, run.queue_updated_at, run.available_at = QueueStatus.QUEUED, at, at
    run.lease.ready_at = rules.ready_at(run, run.lease)
    payload = {"status": QueueStatus.QUEUED}
    return [journal.entered(run, "run.resume_requested", by, payload, at, generation=0)]
