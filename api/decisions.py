"""Decisions of people on the wire: asked by a run, answered by persons, never by a service. One method a verb."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from api import decision_answers as answers
from api import decision_requests as requests
from api import paging, problems
from api.control_requests import NothingRequest
from api.converters import ONE_RUN
from api.decision_answers import DecisionStatus
from api.endpoint import Endpoint
from api.interaction import Either, listed
from api.schema import described
from runs import errors, models, reading, reading_people, transitions
from runs.states import DecisionProvenance, Scope
from runs.transitions import Answered, DecisionAnswer, DecisionAsk, Hold, Person

ASK = requests.AskRequest()
AMEND = requests.AmendRequest()
ANSWER = requests.AnswerRequest()
NOTHING = NothingRequest()

_STATUSES: Final = [*DecisionStatus]


class Decisions(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("status", "cursor", "limit")

    @described("decisions", "list_decisions", gives=answers.DecisionPage)
    def get(self, request: Request) -> Response:
        """The project's decisions as they were asked; with `status=open` those to be made, the most urgent first."""
        if listed(self.query, "status", _STATUSES) == [DecisionStatus.OPEN]:
            return Response(paging.due_first(reading_people.open_decisions(self.project), self.query, answers.brief))
        return Response(
            paging.by_key(_of_status(reading_people.decisions(self.project), self.query), self.query, answers.brief)
        )


class RunDecisions(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_EXECUTE}
    parameters = ("status", "cursor", "limit")

    @described("decisions", "list_run_decisions", gives=answers.DecisionPage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's decisions in the order in which they were asked."""
        found = reading_people.decisions_of(reading.run(self.project, run_id))
        return Response(paging.by_key(_of_status(found, self.query), self.query, answers.brief))

    @described(
        "decisions",
        "ask_decision",
        takes=requests.AskRequest,
        gives=answers.Decision,
        status=201,
        also={200: answers.Decision},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Have people decide something (201): the run waits for them.

        200 gives back the decision of this id and content as it stands, with its resolution, whatever deadline is
        asked now: a step that is repeated finds its answer so.
        """
        asked = self.asked(ASK)
        hold = Hold(run_id, asked.pop("token"))

        def command() -> tuple[int, Any]:
            decision, made = transitions.ask_decision(self.project, hold, DecisionAsk(**asked))
            return 201 if made else 200, answers.whole(decision)

        return self.once(command)


class Decision(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": None}

    @described("decisions", "get_decision", gives=answers.Decision)
    def get(self, request: Request, run_id: str, decision_id: str) -> Response:
        """One decision with all that is shown. For `runs:read` and for `runs:execute`."""
        self.need_either(Scope.RUNS_READ)
        return Response(answers.whole(reading_people.decision(reading.run(self.project, run_id), decision_id)))


class Amend(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}

    @described("decisions", "amend_decision", takes=requests.AmendRequest, gives=answers.Decision)
    def post(self, request: Request, run_id: str, decision_id: str) -> Response:
        """Put an undecided decision anew, under another digest: answers to the former one are void."""
        asked = self.asked(AMEND)
        hold, ask = Hold(run_id, asked.pop("token")), DecisionAsk(decision_id=decision_id, **asked)
        return self.once(lambda: (200, answers.whole(transitions.amend_decision(self.project, hold, ask))))


class Answers(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("cursor", "limit")

    @described("decisions", "list_answers", gives=answers.AnswerPage)
    def get(self, request: Request, run_id: str, decision_id: str) -> Response:
        """What people answered, in order, and what became of each answer."""
        decision = reading_people.decision(reading.run(self.project, run_id), decision_id)
        return Response(paging.by_key(reading_people.answers(decision), self.query, answers.answer))


class Answer(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.DECISIONS_ANSWER}

    @described("decisions", "answer_decision", takes=requests.AnswerRequest, gives=answers.Answered)
    def post(self, request: Request, run_id: str, decision_id: str) -> Response:
        """Answer as the person whose access token this is; a token without a user answers nothing.

        An answer that comes after the resolution or the deadline is recorded as late, and refused with
        `decision_resolved` or `decision_expired` and how the decision was resolved.
        """
        person = self.person
        answer = DecisionAnswer(**self.asked(ANSWER))

        def command() -> tuple[int, Any]:
            answered = transitions.answer_decision(self.project, run_id, decision_id, answer, person)
            # Something was written, so that this is an answer like any other, and has a receipt.
            return (409, _late(answered)) if answered.is_late else (200, _counted(answered))

        response = self.once(command)
        if response.status_code != 200:
            response.content_type = problems.MEDIA_TYPE
        return response

    @property
    def person(self) -> Person:
        """Who answers. Refuses whoever is no person of an active account."""
        user = self.token.user
        if user is None or not user.is_active:
            raise errors.PersonRequired
        return Person(str(user.pk), user.get_username(), frozenset(user.groups.values_list("name", flat=True)))


class Expire(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}

    @described("decisions", "expire_decision", takes=NothingRequest, gives=answers.Decision)
    def post(self, request: Request, run_id: str, decision_id: str) -> Response:
        """Carry out a deadline that has passed, without waiting for the sweep."""
        self.asked(NOTHING)
        return self.once(lambda: (200, answers.whole(transitions.expire_decision(self.project, run_id, decision_id))))


def _of_status(found: QuerySet[models.HumanDecision], parameters: Mapping[str, str]) -> QuerySet[models.HumanDecision]:
    statuses = listed(parameters, "status", _STATUSES)
    return found.filter(resolution__isnull=statuses == [DecisionStatus.OPEN]) if len(set(statuses)) == 1 else found


def _counted(answered: Answered) -> dict[str, Any]:
    return {"answer": answers.answer(answered.submission), "decision": answers.brief(answered.decision)}


def _late(answered: Answered) -> dict[str, Any]:
    resolution = answered.resolution
    assert resolution, "what is late has been resolved"
    by_deadline = resolution.provenance == DecisionProvenance.POLICY
    kind = errors.DecisionExpired if by_deadline else errors.DecisionResolved
    return problems.problem(
        kind(
            decision_id=answered.decision.decision_id,
            recorded=True,
            answer=answers.answer(answered.submission),
            resolution=answers.resolution(resolution),
        )
    )


_DECISION: Final = f"{ONE_RUN}/decisions/<chosen:decision_id>"
urlpatterns: list[URLPattern] = [
    path("decisions", Decisions.as_view(), name="decisions"),
    path(f"{ONE_RUN}/decisions", RunDecisions.as_view(), name="run-decisions"),
    path(_DECISION, Decision.as_view(), name="decision"),
    path(f"{_DECISION}/amend", Amend.as_view(), name="amend-decision"),
    path(f"{_DECISION}/answers", Answers.as_view(), name="answers"),
    path(f"{_DECISION}/answer", Answer.as_view(), name="answer-decision"),
    path(f"{_DECISION}/expire", Expire.as_view(), name="expire-decision"),
]
