"""Requests and decisions in any state, made by the verbs, and the people and sessions who answer them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from runs import transitions
from runs.journal import Actor
from runs.models import ActiveInterval, HumanDecision, InteractiveRequest, InteractiveSubmission, Project
from runs.states import ActorType
from runs.transitions import (
    Answered,
    Claimant,
    DecisionAnswer,
    DecisionAsk,
    Person,
    RequestAsk,
    Submission,
)
from tests.builders import LEASE_MS, FrozenClock, Made, RunBuilder

SESSION = Actor(ActorType.SESSION, "session of the request")
YES: Mapping[str, Any] = {"id": "yes", "label": "Delete them"}
NO: Mapping[str, Any] = {"id": "no", "label": "Leave them"}
ANN = Person("1", "ann", frozenset({"operators"}))
BOB = Person("2", "bob", frozenset({"operators", "auditors"}))
CAT = Person("3", "cat")
VALIDATOR = "host-validator"


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that waits for its session."""

    made: Made
    request_id: str = "q1"
    attempt_id: str = "a1"

    @property
    def project(self) -> Project:
        return self.made.project

    @property
    def request(self) -> InteractiveRequest:
        return InteractiveRequest.objects.select_related("contract").get(run=self.made.run, request_id=self.request_id)

    def submission(self, submission_id: str = "s1") -> InteractiveSubmission:
        found = InteractiveSubmission.objects.select_related("receipt", "payload")
        return found.get(request=self.request, submission_id=submission_id)

    def submit(self, submission_id: str = "s1", payload: Any = "an answer", revision: int = 1) -> bool:
        """Whether it was taken now."""
        answer = Submission(self.request_id, submission_id, revision, payload)
        return transitions.submit(self.project, self.made.run_id, answer, SESSION)[1]

    def held_for_validation(self) -> "Asked":
        """The same, held by a runner that validates."""
        claimant, token = Claimant(VALIDATOR, LEASE_MS), f"validator's token for {self.made.run_id}"
        transitions.claim_for_validation(self.project, self.made.run_id, claimant, token)
        return Asked(Made(self.project, self.made.run_id, token), self.request_id, self.attempt_id)

    def accept(self, submission_id: str = "s1") -> InteractiveSubmission:
        return transitions.accept_submission(self.project, self.made.hold, self.request_id, submission_id)


@dataclass(frozen=True, slots=True)
class Decided:
    """A run with a decision."""

    made: Made
    decision_id: str = "d1"

    @property
    def project(self) -> Project:
        return self.made.project

    @property
    def decision(self) -> HumanDecision:
        found = HumanDecision.objects.select_related("request", "resolution__response", "run")
        return found.get(run=self.made.run, decision_id=self.decision_id)

    @property
    def digest(self) -> str:
        return bytes(self.decision.request_digest).hex()

    @property
    def events(self) -> list[str]:
        return [event.type for event in self.made.events if event.kind == "decision"]

    def answer(self, choice: str = "yes", by: Person = ANN, **more: Any) -> Answered:
        answer = DecisionAnswer(choice, **{"request_digest": self.digest, **more})
        return transitions.answer_decision(self.project, self.made.run_id, self.decision_id, answer, by)

    def amend(self, **changes: Any) -> HumanDecision:
        return transitions.amend_decision(self.project, self.made.hold, ask(self.decision_id, **changes))


def intervals(made: Made) -> list[ActiveInterval]:
    """The intervals of the run's one attempt, in order."""
    return list(ActiveInterval.objects.filter(attempt__run=made.run).order_by("number"))


def ask(decision_id: str = "d1", **changes: Any) -> DecisionAsk:
    """A question with two plain choices."""
    return DecisionAsk(**{"decision_id": decision_id, "title": "Delete files?", "choices": [YES, NO], **changes})


def within(clock: FrozenClock, seconds: float) -> datetime:
    """So many seconds from now."""
    return clock.at + timedelta(seconds=seconds)


@dataclass(slots=True)
class PeopleBuilder:
    """Makes runs that wait for sessions and people."""

    make: RunBuilder

    def raised(self, made: Made | None = None, request_id: str = "q1", attempt_id: str = "a1") -> Asked:
        """Held, and waiting for its session."""
        made = made or self.make.running()
        self.make.attempt(made, node_id=f"node of {attempt_id}", attempt_id=attempt_id)
        transitions.raise_request(made.project, made.hold, RequestAsk(request_id, attempt_id, SESSION.id or ""))
        return Asked(made, request_id, attempt_id)

    def waiting(self) -> Asked:
        """Parked until its session answers."""
        asked = self.raised()
        transitions.park(asked.project, asked.made.hold)
        return asked

    def submitted(self) -> Asked:
        """Parked, with a submission to validate."""
        asked = self.waiting()
        asked.submit()
        return asked

    def validated(self) -> Asked:
        """Held for the validation of its submission."""
        return self.submitted().held_for_validation()

    def settled(self) -> Asked:
        asked = self.validated()
        asked.accept()
        return asked

    def asked(self, made: Made | None = None, decision_id: str = "d1", **changes: Any) -> Decided:
        """Held, and waiting for people."""
        made = made or self.make.running()
        transitions.ask_decision(made.project, made.hold, ask(decision_id, **changes))
        return Decided(made, decision_id)

    def undecided(self, **changes: Any) -> Decided:
        """Parked until people have answered."""
        decided = self.asked(**changes)
        transitions.park(decided.project, decided.made.hold)
        return decided

    def next_holder(self, made: Made, owner_id: str = "host-b") -> Made | None:
        """The run as claim next hands it to another runner, or nothing."""
        token = f"the token of {owner_id} for {made.run_id}"
        found = transitions.claim_next(made.project, Claimant(owner_id, LEASE_MS), [token])
        return Made(made.project, made.run_id, token) if [run.run_id for run in found] == [made.run_id] else None
