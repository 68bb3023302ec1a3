"""Rules of a walk: what people are asked to decide, and what they answer."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.models import HumanDecision
from runs.transitions import DecisionAnswer, DecisionAsk, Hold, Person
from tests.model import decisions
from tests.model.dependents import Question
from tests.model.walk import SLOTS
from tests.model.walk_leases import TOKENS, Leases

DECISIONS = st.sampled_from(["decision-1", "decision-1", "decision-2"])
QUESTIONS = st.builds(Question, st.sampled_from(["Go on?", "Stop?"]), st.sampled_from([1, 2]), st.booleans())
WITHIN = st.sampled_from([60_000, 5_000, None, 0])  # milliseconds from now to the deadline
PEOPLE = {"ann": Person("1", "ann"), "bob": Person("2", "bob")}
CHOICES = ["yes", "no"]
NEVER_SHOWN = "0" * 64


class Decisions(Leases):
    """A run asks people."""

    def __init__(self) -> None:
        super().__init__()
        # What stands for each version of each decision outside: by the run's number, the decision and the version.
        self.digests: dict[tuple[int, str, int], str] = {}

    @rule(slot=SLOTS, which=TOKENS, decision_id=DECISIONS, question=QUESTIONS, within_ms=WITHIN)
    def ask_decision(self, slot: str, which: str, decision_id: str, question: Question, within_ms: int | None) -> None:
        (run_id, token), deadline_at = self.aim(slot, which), self._deadline(within_ms)
        self.both(
            lambda: decisions.ask_decision(self.queue, run_id, token, decision_id, question, deadline_at),
            lambda: transitions.ask_decision(
                self.project, Hold(run_id, token), self._ask(decision_id, question, within_ms)
            ),
            lambda asked: (_outcome(asked[0]), asked[1]),
        )
        self._remember(run_id, decision_id)

    @rule(slot=SLOTS, which=TOKENS, decision_id=DECISIONS, question=QUESTIONS, within_ms=WITHIN)
    def amend_decision(
        self, slot: str, which: str, decision_id: str, question: Question, within_ms: int | None
    ) -> None:
        (run_id, token), deadline_at = self.aim(slot, which), self._deadline(within_ms)
        decision_id = self.known(run_id, "decisions", decision_id)
        self.both(
            lambda: decisions.amend_decision(self.queue, run_id, token, decision_id, question, deadline_at),
            lambda: transitions.amend_decision(
                self.project, Hold(run_id, token), self._ask(decision_id, question, within_ms)
            ),
        )
        self._remember(run_id, decision_id)

    @rule(
        slot=SLOTS,
        decision_id=DECISIONS,
        person=st.sampled_from(list(PEOPLE)),
        choice=st.sampled_from(CHOICES),
        behind=st.sampled_from([0, 0, 0, 1]),
    )
    def answer_decision(self, slot: str, decision_id: str, person: str, choice: str, behind: int) -> None:
        run_id = self.run_ids[slot]
        run, decision_id = self.queue.runs.get(run_id), self.known(run_id, "decisions", decision_id)
        version = run.decisions[decision_id].version - behind if run and run.decisions else 0
        digest = self.digests[run.number, decision_id, version] if run and version else NEVER_SHOWN
        self.both(
            lambda: decisions.answer_decision(self.queue, run_id, decision_id, person, choice, version),
            lambda: transitions.answer_decision(
                self.project, run_id, decision_id, DecisionAnswer(choice, digest), PEOPLE[person]
            ),
            lambda answered: (answered.submission.outcome, answered.made),
        )

    @rule(slot=SLOTS, decision_id=DECISIONS)
    def expire_decision(self, slot: str, decision_id: str) -> None:
        run_id = self.run_ids[slot]
        decision_id = self.known(run_id, "decisions", decision_id)
        self.both(
            lambda: decisions.expire_decision(self.queue, run_id, decision_id),
            lambda: transitions.expire_decision(self.project, run_id, decision_id),
        )

    @rule(
        slot=SLOTS,
        decision_id=DECISIONS,
        question=QUESTIONS,
        parks=st.booleans(),
        answers=st.lists(st.tuples(st.sampled_from(list(PEOPLE)), st.sampled_from(CHOICES)), max_size=3),
    )
    def decide(
        self, slot: str, decision_id: str, question: Question, parks: bool, answers: list[tuple[str, str]]
    ) -> None:
        """A question and its answers, up to some point."""
        self.ask_decision(slot=slot, which="a holder's", decision_id=decision_id, question=question, within_ms=60_000)
        if parks:
            self.park(slot=slot, which="the latest", code=None)
        for person, choice in answers:
            self.answer_decision(slot=slot, decision_id=decision_id, person=person, choice=choice, behind=0)

    def _deadline(self, within_ms: int | None) -> int | None:
        return None if within_ms is None else self.queue.now + within_ms

    def _ask(self, decision_id: str, question: Question, within_ms: int | None) -> DecisionAsk:
        return DecisionAsk(
            decision_id,
            question.title,
            [{"id": choice, "label": choice} for choice in CHOICES],
            quorum=question.quorum,
            deadline_at=None if within_ms is None else self.clock.at + timedelta(milliseconds=within_ms),
            default_response={"choice": "yes"} if question.has_default else None,
        )

    def _remember(self, run_id: str, decision_id: str) -> None:
        run = self.queue.runs.get(run_id)
        if run is None or decision_id not in run.decisions:
            return
        shown = HumanDecision.objects.values_list("request_digest", flat=True)
        digest = shown.get(run__project=self.project, run__run_id=run_id, decision_id=decision_id)
        self.digests[run.number, decision_id, run.decisions[decision_id].version] = bytes(digest).hex()


def _outcome(decision: HumanDecision) -> str | None:
    return decision.resolution.outcome if hasattr(decision, "resolution") else None
