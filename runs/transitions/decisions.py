"""Decisions of people: a held run asks for one and waits; its holder may amend it, which voids earlier answers."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from django.db.models import QuerySet

from runs import canonical, clock, errors, journal, rules, rules_decisions, rules_sessions
from runs.models import Event, HumanDecision, NodeAttempt, Project, Run
from runs.models.remembering import Remembering
from runs.rules_decisions import DecisionAsk
from runs.states import AnswerOutcome, RunStatus
from runs.transitions import blobs, crashes, mutex, resolving, waiting
from runs.transitions.mutex import Hold, transition
from runs.verbs import AMEND_DECISION, ASK_DECISION

WAITING = "waiting for a decision"
_ASKED_FIELDS = ("title", "request", "request_digest", "request_revision", "default_response", "deadline_at")


@transition
def ask_decision(project: Project, hold: Hold, ask: DecisionAsk) -> tuple[HumanDecision, bool]:
    """The decision, and whether it was asked now; the run waits for it.

    A decision that was asked before with the same content is given back as it stands, with its resolution, whatever
    deadline is asked now. Refuses whoever does not hold the run, other content under the same id, and a run that is
    not running.
    """
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.hold(run, run.lease, hold.token, at)
    ask = rules_decisions.check(_whole(ask))
    standing = _decisions(run).filter(decision_id=ask.decision_id).first()
    if standing is not None:
        return _awaited(run, _same(standing, ask, run), at), False
    rules.permit(ASK_DECISION, run, run.lease, at, token=hold.token)
    rules_decisions.in_time(ask, at)
    rules_sessions.room(
        HumanDecision.objects.filter(run=run).count(), rules_decisions.DECISION_LIMIT, "decisions in this run"
    )

    attempt, moved = _rested_attempt(run, ask.attempt_id, at)
    decision = HumanDecision(project=project, run=run, attempt=attempt, decision_id=ask.decision_id, created_at=at)
    crashes.progressed(run)
    run.lease.open_work += 1
    event = _put(project, run, decision, ask, "decision.asked", at, moved)
    decision.save(force_insert=True)
    waiting.write(run)

    journal.write([event])
    return decision, True


@transition
def amend_decision(project: Project, hold: Hold, ask: DecisionAsk) -> HumanDecision:
    """Put an undecided decision anew, under another revision and digest: answers to the former one are void.

    The same content and deadline again change nothing. Refuses whoever does not hold the run, and a decision that is
    resolved or past its deadline.
    """
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(AMEND_DECISION, run, run.lease, at, token=hold.token)
    decision = found(run, ask.decision_id)
    refuse_resolved(decision)
    if rules_decisions.is_due(decision.deadline_at, at):
        raise errors.DecisionExpired(decision_id=decision.decision_id)
    ask = rules_decisions.check(_whole(ask))
    rules_decisions.in_time(ask, at)
    if rules_decisions.asks_the_same(shown(decision), rules_decisions.shown(ask, run.run_id, 0)) and (
        ask.deadline_at == decision.deadline_at
    ):
        return decision

    void = list(decision.submissions.filter(outcome=AnswerOutcome.COUNTED).select_related("decision"))
    for submission in void:
        submission.outcome = AnswerOutcome.VOID
    mutex.write(void, ["outcome"])
    decision.request_revision += 1
    event = _put(project, run, decision, ask, "decision.amended", at, void)
    mutex.write([decision], (*_ASKED_FIELDS, "revision", "updated_at"))
    waiting.write(run)

    journal.write([event])
    return decision


def found(run: Run, decision_id: str) -> HumanDecision:
    """The run's decision of this id, with its request and resolution. Refuses an id that the run does not have."""
    decision = _decisions(run).filter(decision_id=decision_id).first()
    if decision is None:
        raise errors.DecisionNotFound(run_id=run.run_id, decision_id=decision_id)
    return decision


def shown(decision: HumanDecision) -> rules_decisions.Document:
    """The document that people are shown."""
    document: rules_decisions.Document = cast(Any, canonical.loads(bytes(decision.request.content)))
    return document


def refuse_resolved(decision: HumanDecision) -> None:
    """Refuse a decision that is over, naming how."""
    resolution = getattr(decision, "resolution", None)
    if resolution is not None:
        raise errors.DecisionResolved(decision_id=decision.decision_id, outcome=resolution.outcome)


def _decisions(run: Run) -> QuerySet[HumanDecision]:
    return HumanDecision.objects.filter(run=run).select_related(
        "attempt", "request", "default_response", "resolution", "resolution__response"
    )


def _whole(ask: DecisionAsk) -> DecisionAsk:
    return ask if ask.deadline_at is None else replace(ask, deadline_at=clock.truncated(ask.deadline_at))


def _same(decision: HumanDecision, ask: DecisionAsk, run: Run) -> HumanDecision:
    if not rules_decisions.asks_the_same(shown(decision), rules_decisions.shown(ask, run.run_id, 0)):
        raise errors.DecisionConflict(decision_id=ask.decision_id, revision=decision.request_revision)
    return decision


def _awaited(run: Run, decision: HumanDecision, at: datetime) -> HumanDecision:
    """A standing decision, asked once more: past its deadline it is resolved, undecided the run waits for it again."""
    events: list[Event] = []
    if decision.resolved_at is not None:
        return decision
    if rules_decisions.is_due(decision.deadline_at, at):
        events.append(resolving.by_policy(run, decision, at))
        events += resolving.store([run], [decision], resolving.POLICY, at)
    elif run.status == RunStatus.RUNNING:
        waiting.rest(run, WAITING, at)
        events.append(_entered(run, decision, "decision.asked", at))
        mutex.write([decision], ["revision"])
        waiting.write(run)
    journal.write(events)
    return decision


def _put(
    project: Project,
    run: Run,
    decision: HumanDecision,
    ask: DecisionAsk,
    event_type: str,
    at: datetime,
    moved: Sequence[Remembering],
) -> Event:
    """Put the ask into the decision, in memory, and let the run wait; the event of that."""
    document = blobs.enclosing(rules_decisions.shown(ask, run.run_id, decision.request_revision))
    default = None if ask.default_response is None else blobs.document(ask.default_response)
    stored = blobs.stored(project, [document] if default is None else [document, default], at)
    decision.title, decision.deadline_at, decision.updated_at = ask.title, ask.deadline_at, at
    decision.request, decision.request_digest = stored[document], canonical.digest(document[1])
    decision.default_response = None if default is None else stored[default]
    waiting.rest(run, WAITING, at)
    return _entered(run, decision, event_type, at, moved)


def _entered(run: Run, decision: HumanDecision, type: str, at: datetime, moved: Sequence[Remembering] = ()) -> Event:
    payload = resolving.facts(decision) | {"title": decision.title} | waiting.facts(run)
    by, generation = journal.owner_of(run.lease), run.lease.generation
    return journal.entered_on_decision(run, decision, type, by, payload, at, generation=generation, moved=moved)


def _rested_attempt(run: Run, attempt_id: str | None, at: datetime) -> tuple[NodeAttempt | None, Sequence[Remembering]]:
    """The attempt that asks: it waits, too, so that its active time leaves the wait out. And what moved of it."""
    if attempt_id is None:
        return None, ()
    attempt = NodeAttempt.objects.filter(run=run, attempt_id=attempt_id).first()
    attempt = rules_sessions.open_attempt(attempt, attempt_id, run.lease.generation)
    return attempt, waiting.rest_attempt(attempt, at)
