"""Answers of people to decisions. What was shown, by whom and until when is judged under the run's lock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_decisions, rules_sessions
from runs.journal import Actor
from runs.models import DecisionResolution, DecisionSubmission, Event, HumanDecision, Project, Run
from runs.models.blob import JSON
from runs.rules_decisions import Person
from runs.states import ActorType, AnswerOutcome
from runs.transitions import blobs, decisions, mutex, resolving
from runs.transitions.blobs import Content
from runs.transitions.mutex import transition
from runs.verbs import ANSWER_DECISION


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person chose, and the digest of what that person was shown."""

    choice: str
    request_digest: str
    input: Any = None
    reason: str | None = None
    channel: str = "api"


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of an answer: it counted, or it came late; how the decision is resolved, if it is."""

    decision: HumanDecision
    submission: DecisionSubmission
    resolution: DecisionResolution | None
    made: bool

    @property
    def is_late(self) -> bool:
        return self.submission.outcome == AnswerOutcome.LATE


@dataclass(frozen=True, slots=True)
class _Given:
    """An answer as it is looked at: by whom, the digest in bytes, and the input that is meant."""

    answer: Answer
    by: Person
    digest: bytes
    input: Content | None

    @property
    def actor(self) -> Actor:
        return Actor(ActorType.HUMAN, self.by.username)


@transition
def answer_decision(project: Project, run_id: str, decision_id: str, answer: Answer, by: Person) -> Answered:
    """Count the answer of a verified person; at the quorum of equal answers the decision is resolved.

    After a resolution or the deadline an answer is recorded as late, and nothing else: the outcome says so instead of a
    refusal, since something was written. A deadline that has passed is carried out in the same commit. The same answer
    of the same person again is given back as it stands. Refuses an answer to what was not shown, of somebody who may
    not answer, of a choice or input that there is not, and a second, different vote.
    """
    _check(answer)
    digest = rules.digest(answer.request_digest)
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    decision = decisions.found(run, decision_id)
    given = _Given(answer, by, digest, _meant(decisions.shown(decision), answer))
    resolution: DecisionResolution | None = getattr(decision, "resolution", None)
    theirs = list(decision.submissions.select_related("input").filter(person_id=by.id))
    standing = next((one for one in theirs if _is_same(one, given)), None)
    if standing is not None:
        return Answered(decision, standing, resolution, made=False)
    if resolution is not None or rules_decisions.is_due(decision.deadline_at, at):
        submission, events = _late(project, run, decision, given, at)
    else:
        response = _response(run, decision, given, theirs, at)
        submission, events = _counted(project, run, decision, given, response, at)

    journal.write(events)
    return Answered(decision, submission, getattr(decision, "resolution", None), made=True)


def _response(
    run: Run, decision: HumanDecision, given: _Given, theirs: Sequence[DecisionSubmission], at: datetime
) -> rules_decisions.Document:
    """The response that the answer makes. Refuses one that does not count."""
    rules.permit(ANSWER_DECISION, run, run.lease, at)
    if given.digest != bytes(decision.request_digest):
        raise errors.DecisionOutdated(
            decision_id=decision.decision_id,
            revision=decision.request_revision,
            request_digest="sha256:" + bytes(decision.request_digest).hex(),
        )
    document = decisions.shown(decision)
    rules_decisions.may_answer(document, given.by)
    response = rules_decisions.response(document["choices"], given.answer.choice, given.answer.input)
    for vote in theirs:
        if vote.outcome == AnswerOutcome.COUNTED:
            raise errors.AlreadyAnswered(decision_id=decision.decision_id, choice=vote.choice)
    return response


def _counted(
    project: Project, run: Run, decision: HumanDecision, given: _Given, response: rules_decisions.Document, at: datetime
) -> tuple[DecisionSubmission, list[Event]]:
    """Store a vote, and resolve the decision where it completes the quorum; the events to write."""
    document = blobs.enclosing(response)
    submission = _stored(project, decision, given, AnswerOutcome.COUNTED, at)
    events = [_entered(run, submission, "decision.answered", given.actor, at)]
    equal = decision.submissions.filter(outcome=AnswerOutcome.COUNTED, choice=submission.choice, input=submission.input)
    if equal.count() < decisions.shown(decision)["quorum"]:
        _write_heads(run, decision)
        return submission, events
    blob = blobs.stored(project, [document], at)[document]
    answer = given.answer
    events.append(resolving.by_people(run, decision, blob, given.actor, answer.channel, answer.reason, at))
    return submission, events + resolving.store([run], [decision], given.actor, at)


def _late(
    project: Project, run: Run, decision: HumanDecision, given: _Given, at: datetime
) -> tuple[DecisionSubmission, list[Event]]:
    """Store an answer that came too late, and carry out a deadline that nobody has carried out yet."""
    submission = _stored(project, decision, given, AnswerOutcome.LATE, at)
    events: list[Event] = []
    if decision.resolved_at is None:
        events.append(resolving.by_policy(run, decision, at))
        events.append(_entered(run, submission, "decision.answered_late", given.actor, at))
        return submission, events + resolving.store([run], [decision], resolving.POLICY, at)
    events.append(_entered(run, submission, "decision.answered_late", given.actor, at))
    _write_heads(run, decision)
    return submission, events


def _check(answer: Answer) -> None:
    rules_sessions.identifier(answer.choice, "choice")
    rules_sessions.identifier(answer.channel, "channel", rules_decisions.CHANNEL_LIMIT)
    if answer.reason is not None:
        rules_sessions.text(answer.reason, "reason", rules_decisions.REASON_LIMIT)


def _meant(document: rules_decisions.Document, answer: Answer) -> Content | None:
    """The input that is meant, bounded."""
    meant = rules_decisions.entered(document["choices"], answer.choice, answer.input)
    return None if meant is None else (JSON, blobs.encoded(meant, rules_decisions.INPUT_BYTES))


def _is_same(one: DecisionSubmission, given: _Given) -> bool:
    """Whether this is the same answer, counted or late; a void one was to another request."""
    if one.outcome == AnswerOutcome.VOID or one.choice != given.answer.choice:
        return False
    stands = one.input and bytes(one.input.content)
    return bytes(one.request_digest) == given.digest and stands == (given.input and given.input[1])


def _stored(
    project: Project, decision: HumanDecision, given: _Given, outcome: AnswerOutcome, at: datetime
) -> DecisionSubmission:
    """The answer as a row. Refuses one more than a decision may have."""
    count = decision.submissions.count()
    rules_sessions.room(count, rules_decisions.ANSWER_LIMIT, "answers to this decision")
    is_present = given.digest == bytes(decision.request_digest)
    return DecisionSubmission.objects.create(
        decision=decision,
        person_id=given.by.id,
        username=given.by.username,
        choice=given.answer.choice,
        input=blobs.stored(project, [given.input], at)[given.input] if given.input else None,
        reason=given.answer.reason,
        channel=given.answer.channel,
        request_digest=given.digest,
        request_revision=decision.request_revision if is_present else None,
        outcome=outcome,
        created_at=at,
    )


def _write_heads(run: Run, decision: HumanDecision) -> None:
    mutex.write([decision], ["revision"])
    mutex.write([run], journal.HEAD_FIELDS)


def _entered(run: Run, submission: DecisionSubmission, type: str, by: Actor, at: datetime) -> Event:
    payload = resolving.facts(submission.decision) | {
        "choice": submission.choice,
        "answerOutcome": submission.outcome,
        "channel": submission.channel,
        "answeredDigest": bytes(submission.request_digest).hex(),
    }
    return journal.entered_on_decision(run, submission.decision, type, by, payload, at, moved=[submission])
