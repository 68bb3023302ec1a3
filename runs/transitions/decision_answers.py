"""Answers of people to decisions. What was shown, by whom and until when is judged under the run's lock."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_decisions, rules_sessions
from runs.journal import Actor
from runs.models import Blob, DecisionResolution, DecisionSubmission, Event, HumanDecision, Project, Run
from runs.models.blob import JSON
from runs.rules_decisions import Person
from runs.states import ANSWER_DECISION, ActorType, AnswerOutcome
from runs.transitions import blobs, decisions, mutex, resolving
from runs.transitions.blobs import Content
from runs.transitions.mutex import transition


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
    given = _content(decisions.shown(decision), answer)
    resolution: DecisionResolution | None = getattr(decision, "resolution", None)
    theirs = list(decision.submissions.select_related("input").filter(person_id=by.id))
    standing = next((one for one in theirs if _is_same(one, answer, digest, given)), None)
    if standing is not None:
        return Answered(decision, standing, resolution, made=False)
    if resolution is not None or rules_decisions.is_due(decision.deadline_at, at):
        return _late(project, run, decision, answer, digest, given, by, at)
    response = _judged(run, decision, answer, digest, by, theirs, at)

    whole = blobs.document(response)
    stored = blobs.stored(project, [whole] if given is None else [whole, given], at)
    taken = None if given is None else stored[given]
    submission = _submission(decision, answer, digest, taken, by, AnswerOutcome.COUNTED, at)
    events = [_entered(run, submission, "decision.answered", by, at)]
    equal = decision.submissions.filter(outcome=AnswerOutcome.COUNTED, choice=answer.choice, input=taken)
    if equal.count() >= decisions.shown(decision)["quorum"]:
        person = _actor(by)
        events.append(resolving.by_people(run, decision, stored[whole], person, answer.channel, answer.reason, at))
        events += resolving.store([run], [decision], person, at)
    else:
        mutex.write([decision], ["revision"])
        mutex.write([run], journal.HEAD_FIELDS)

    journal.write(events)
    return Answered(decision, submission, getattr(decision, "resolution", None), made=True)


def _judged(
    run: Run,
    decision: HumanDecision,
    answer: Answer,
    digest: bytes,
    by: Person,
    theirs: list[DecisionSubmission],
    at: datetime,
) -> rules_decisions.Document:
    """The response that the answer makes. Refuses one that does not count."""
    rules.permit(ANSWER_DECISION, run, run.lease, at)
    if digest != bytes(decision.request_digest):
        raise errors.DecisionOutdated(
            decision_id=decision.decision_id,
            revision=decision.request_revision,
            request_digest="sha256:" + bytes(decision.request_digest).hex(),
        )
    document = decisions.shown(decision)
    rules_decisions.may_answer(document, by)
    response = rules_decisions.response(document["choices"], answer.choice, answer.input)
    for vote in theirs:
        if vote.outcome == AnswerOutcome.COUNTED:
            raise errors.AlreadyAnswered(decision_id=decision.decision_id, choice=vote.choice)
    _room(decision)
    return response


def _late(
    project: Project,
    run: Run,
    decision: HumanDecision,
    answer: Answer,
    digest: bytes,
    given: Content | None,
    by: Person,
    at: datetime,
) -> Answered:
    """Record an answer that came too late, and carry out a deadline that nobody has carried out yet."""
    _room(decision)
    taken = None if given is None else blobs.stored(project, [given], at)[given]
    submission = _submission(decision, answer, digest, taken, by, AnswerOutcome.LATE, at)
    events: list[Event] = []
    is_due = getattr(decision, "resolution", None) is None
    if is_due:
        events.append(resolving.by_policy(run, decision, at))
    events.append(_entered(run, submission, "decision.answered_late", by, at))
    if is_due:
        events += resolving.store([run], [decision], resolving.POLICY, at)
    else:
        mutex.write([decision], ["revision"])
        mutex.write([run], journal.HEAD_FIELDS)

    journal.write(events)
    return Answered(decision, submission, decision.resolution, made=True)


def _check(answer: Answer) -> None:
    rules_sessions.identifier(answer.choice, "choice")
    rules_sessions.identifier(answer.channel, "channel", rules_decisions.CHANNEL_LIMIT)
    if answer.reason is not None:
        rules_sessions.text(answer.reason, "reason", rules_decisions.REASON_LIMIT)


def _content(document: rules_decisions.Document, answer: Answer) -> Content | None:
    """The input that is meant, bounded."""
    meant = rules_decisions.entered(document["choices"], answer.choice, answer.input)
    return None if meant is None else (JSON, blobs.encoded(meant, rules_decisions.INPUT_BYTES))


def _is_same(one: DecisionSubmission, answer: Answer, digest: bytes, given: Content | None) -> bool:
    """Whether this is the same answer, counted or late; a void one was to another request."""
    if one.outcome == AnswerOutcome.VOID or one.choice != answer.choice or bytes(one.request_digest) != digest:
        return False
    return (None if one.input is None else bytes(one.input.content)) == (None if given is None else given[1])


def _room(decision: HumanDecision) -> None:
    rules_sessions.room(decision.submissions.count(), rules_decisions.ANSWER_LIMIT, "answers to this decision")


def _submission(
    decision: HumanDecision,
    answer: Answer,
    digest: bytes,
    taken: Blob | None,
    by: Person,
    outcome: AnswerOutcome,
    at: datetime,
) -> DecisionSubmission:
    is_present = digest == bytes(decision.request_digest)
    return DecisionSubmission.objects.create(
        decision=decision,
        person_id=by.id,
        username=by.username,
        choice=answer.choice,
        input=taken,
        reason=answer.reason,
        channel=answer.channel,
        request_digest=digest,
        request_revision=decision.request_revision if is_present else None,
        outcome=outcome,
        created_at=at,
    )


def _actor(person: Person) -> Actor:
    return Actor(ActorType.HUMAN, person.username)


def _entered(run: Run, submission: DecisionSubmission, type: str, by: Person, at: datetime) -> Event:
    decision = submission.decision
    payload = resolving.facts(decision) | {
        "choice": submission.choice,
        "answerOutcome": submission.outcome,
        "channel": submission.channel,
        "answeredDigest": bytes(submission.request_digest).hex(),
    }
    return journal.entered_on_decision(run, decision, type, _actor(by), payload, at)
