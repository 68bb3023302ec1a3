"""The model's decisions of people: asked, amended, answered, and carried out at their deadline."""

from runs.states import (
    AnswerOutcome,
    DecisionOutcome,
    DecisionProvenance,
    ErrorCode,
    QueueStatus,
    RunStatus,
)
from tests.model import guards
from tests.model.dependents import Answer, Decision, Question
from tests.model.model import HELD_BACK, Queue, Refused, Run


def ask_decision(
    queue: Queue, run_id: str, token: str, decision_id: str, question: Question, deadline_at: int | None
) -> tuple[DecisionOutcome | None, bool]:
    """How the decision is resolved, and whether it was asked now; the run waits for it."""
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    _well_formed(question, deadline_at)
    if decision_id in run.decisions:
        decision = run.decisions[decision_id]
        if decision.question != question:
            raise Refused("decision_conflict")
        _await_again(queue, run, decision)
        return decision.outcome, False
    guards.running(run)
    guards.unpaused(run)
    _in_time(queue, deadline_at)
    run.decisions[decision_id] = Decision(question, deadline_at)
    run.status = RunStatus.WAITING
    run.progress()
    return None, True


def _await_again(queue: Queue, run: Run, decision: Decision) -> None:
    if decision.outcome is not None:
        return
    if decision.is_due(queue.now):
        _resolve_by_policy(queue, run, decision)
    elif run.status == RunStatus.RUNNING:
        run.status = RunStatus.WAITING
        decision.revision += 1


def amend_decision(
    queue: Queue, run_id: str, token: str, decision_id: str, question: Question, deadline_at: int | None
) -> None:
    """Put it anew: earlier answers are void. The same again changes nothing."""
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    guards.begun(run)
    guards.unpaused(run)
    decision = _undecided(run, decision_id)
    if decision.is_due(queue.now):
        raise Refused("decision_expired")
    _well_formed(question, deadline_at)
    _in_time(queue, deadline_at)
    if (decision.question, decision.deadline_at) == (question, deadline_at):
        return
    for answer in decision.answers:
        if answer.outcome == AnswerOutcome.COUNTED:
            answer.outcome = AnswerOutcome.VOID
    decision.question, decision.deadline_at = question, deadline_at
    decision.version += 1
    decision.revision += 1
    run.status = RunStatus.WAITING


def answer_decision(
    queue: Queue, run_id: str, decision_id: str, person: str, choice: str, version: int
) -> tuple[AnswerOutcome, bool]:
    """What became of the answer, and whether it was given now. At the quorum of equal ones the decision is resolved."""
    run = queue.find(run_id)
    decision = _find(run, decision_id)
    theirs = [answer for answer in decision.answers if answer.person == person]
    for answer in theirs:
        if (answer.choice, answer.version) == (choice, version) and answer.outcome != AnswerOutcome.VOID:
            return answer.outcome, False
    if decision.outcome is not None or decision.is_due(queue.now):
        if decision.outcome is None:
            _resolve_by_policy(queue, run, decision)
        decision.answers.append(Answer(person, choice, version, AnswerOutcome.LATE))
        decision.revision += 1
        return AnswerOutcome.LATE, True
    if version != decision.version:
        raise Refused("decision_outdated")
    if any(answer.outcome == AnswerOutcome.COUNTED for answer in theirs):
        raise Refused("already_answered")
    decision.answers.append(Answer(person, choice, version, AnswerOutcome.COUNTED))
    decision.revision += 1
    equal = [each for each in decision.answers if (each.choice, each.outcome) == (choice, AnswerOutcome.COUNTED)]
    if len(equal) >= decision.question.quorum:
        _resolve(queue, run, decision, DecisionOutcome.ACCEPTED, DecisionProvenance.HUMAN)
    return AnswerOutcome.COUNTED, True


def expire_decision(queue: Queue, run_id: str, decision_id: str) -> None:
    run = queue.find(run_id)
    decision = _undecided(run, decision_id)
    if not decision.is_due(queue.now):
        raise Refused("decision_not_due")
    _resolve_by_policy(queue, run, decision)


def expire_all(queue: Queue) -> int:
    """How many decisions were past their deadline."""
    due = [
        (run, decision)
        for run in queue.in_order()
        for decision in run.decisions.values()
        if decision.outcome is None and decision.is_due(queue.now)
    ]
    for _, decision in due:
        _decide_by_policy(decision)
    for run in {run.run_id: run for run, _ in due}.values():
        _go_on(queue, run)
    return len(due)


def _resolve_by_policy(queue: Queue, run: Run, decision: Decision) -> None:
    _decide_by_policy(decision)
    _go_on(queue, run)


def _decide_by_policy(decision: Decision) -> None:
    has_default = decision.question.has_default
    decision.resolve(DecisionOutcome.ACCEPTED if has_default else DecisionOutcome.EXPIRED, DecisionProvenance.POLICY)
    decision.revision += 1


def _resolve(
    queue: Queue, run: Run, decision: Decision, outcome: DecisionOutcome, provenance: DecisionProvenance
) -> None:
    decision.resolve(outcome, provenance)
    decision.revision += 1
    _go_on(queue, run)


def _go_on(queue: Queue, run: Run) -> None:
    """A run that is parked and waits for nothing else is offered again; a paused one once it is unpaused."""
    is_waiting = (run.queue_status, run.status) == (QueueStatus.PARKED, RunStatus.WAITING)
    is_in_doubt = run.error_code == ErrorCode.EFFECT_AMBIGUOUS and run.is_in_doubt
    is_held_back = run.error_code in HELD_BACK or is_in_doubt
    if not is_waiting or is_held_back or run.is_asked or run.is_undecided:
        return
    run.error_code = None
    if run.paused:
        run.parked_by_pause = True
        return
    run.queue_status, run.available_at = QueueStatus.QUEUED, queue.now
    run.revision += 1


def _find(run: Run, decision_id: str) -> Decision:
    if decision_id not in run.decisions:
        raise Refused("not_found")
    return run.decisions[decision_id]


def _undecided(run: Run, decision_id: str) -> Decision:
    decision = _find(run, decision_id)
    if decision.outcome is not None:
        raise Refused("decision_resolved")
    return decision


def _well_formed(question: Question, deadline_at: int | None) -> None:
    if question.has_default and deadline_at is None:
        raise Refused("invalid_decision")


def _in_time(queue: Queue, deadline_at: int | None) -> None:
    if deadline_at is not None and deadline_at <= queue.now:
        raise Refused("invalid_decision")
