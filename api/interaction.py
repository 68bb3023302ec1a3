"""Requests to sessions on the wire: a run raises one, the session answers, a runner validates. One method a verb."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.urls import URLPattern, path
from rest_framework.request import Request as HttpRequest
from rest_framework.response import Response

from api import interaction_answers as answers
from api import interaction_requests as requests
from api import paging, shapes
from api.converters import ONE_RUN
from api.endpoint import Endpoint
from api.errors import InvalidRequest, Refusal
from api.requests import HoldRequest
from api.runner import POLL_IN_MS, lease_ms
from api.schema import described
from runs import clock, models, reading, reading_people, transitions
from runs.journal import Actor
from runs.states import ActorType, RequestStatus, Scope
from runs.transitions import Claimant, Hold, RequestAsk, Submission

RAISE = requests.RaiseRequest()
SUBMIT = requests.SubmitRequest()
ACCEPT = requests.AcceptRequest()
REJECT = requests.RejectRequest()
HOLD = HoldRequest()
VALIDATIONS = requests.ValidationsRequest()

_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}


class Either(Endpoint):
    """An address for runners as well as for others: each has its own scope."""

    def need_either(self, scope: Scope) -> None:
        """Refuse a token that neither executes runs nor has this scope."""
        if not self.token.grants(Scope.RUNS_EXECUTE):
            self.need(scope)


class Requests(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_EXECUTE}
    parameters = ("status", "cursor", "limit")

    @described("interaction", "list_requests", gives=answers.RequestPage)
    def get(self, request: HttpRequest, run_id: str) -> Response:
        """A run's requests in the order in which they were raised."""
        found = reading_people.requests(reading.run(self.project, run_id))
        if statuses := listed(self.query, "status", [*RequestStatus]):
            found = found.filter(status__in=statuses)
        return Response(paging.by_key(found, self.query, answers.request_brief))

    @described(
        "interaction",
        "raise_request",
        takes=requests.RaiseRequest,
        gives=answers.Request,
        status=201,
        also={200: answers.Request},
    )
    def post(self, request: HttpRequest, run_id: str) -> Response:
        """Ask something of a session (201): run and attempt wait for the answer.

        200 gives back the request of this id as it stands, with the submission that was accepted, or is to be
        validated: a holder that waits itself asks so whether there is an answer.
        """
        asked = self.asked(RAISE)
        hold = Hold(run_id, asked.pop("token"))

        def command() -> tuple[int, Any]:
            raised, made = transitions.raise_request(self.project, hold, RequestAsk(**asked))
            return 201 if made else 200, whole(raised)

        return self.once(command)


class Request(Either):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": None}

    @described("interaction", "get_request", gives=answers.Request)
    def get(self, request: HttpRequest, run_id: str, request_id: str) -> Response:
        """One request with its contract and its answer. For `runs:read` and for `runs:execute`."""
        self.need_either(Scope.RUNS_READ)
        return Response(whole(reading_people.request(reading.run(self.project, run_id), request_id)))


class Withdraw(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("interaction", "withdraw_request", takes=HoldRequest, gives=answers.Request)
    def post(self, request: HttpRequest, run_id: str, request_id: str) -> Response:
        """Cancel a pending request: the run goes on without an answer."""
        hold = Hold(run_id, self.asked(HOLD)["token"])
        return self.once(lambda: (200, whole(transitions.withdraw_request(self.project, hold, request_id))))


class Submissions(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_WRITE}
    parameters = ("cursor", "limit")

    @described("interaction", "list_submissions", gives=answers.SubmissionPage)
    def get(self, request: HttpRequest, run_id: str, request_id: str) -> Response:
        """The submissions to a request in the order in which they came, with their receipts."""
        asked = reading_people.request(reading.run(self.project, run_id), request_id)
        return Response(paging.by_key(reading_people.submissions(asked), self.query, answers.submission_brief))

    @described(
        "interaction",
        "submit",
        takes=requests.SubmitRequest,
        gives=answers.Submission,
        status=201,
        also={200: answers.Submission},
    )
    def post(self, request: HttpRequest, run_id: str, request_id: str) -> Response:
        """Answer a request (201); a runner validates the answer.

        200 gives back the submission of this id and payload as it stands, with its receipt, whatever became of the run.
        """
        asked = self.asked(SUBMIT)
        by = Actor(ActorType.SESSION, asked.pop("session_id"))

        def command() -> tuple[int, Any]:
            taken, made = transitions.submit(self.project, run_id, Submission(request_id, **asked), by)
            return 201 if made else 200, answers.submission(taken)

        return self.once(command)


class Accept(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("interaction", "accept_submission", takes=requests.AcceptRequest, gives=answers.Submission)
    def post(self, request: HttpRequest, run_id: str, request_id: str, submission_id: str) -> Response:
        """Settle the request with this submission: run and attempt run on."""
        asked = self.asked(ACCEPT)
        hold = Hold(run_id, asked["token"])

        def command() -> tuple[int, Any]:
            accepted = transitions.accept_submission(self.project, hold, request_id, submission_id, asked["receipt"])
            return 200, answers.submission(accepted)

        return self.once(command)


class Reject(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("interaction", "reject_submission", takes=requests.RejectRequest, gives=answers.Submission)
    def post(self, request: HttpRequest, run_id: str, request_id: str, submission_id: str) -> Response:
        """Turn this submission down; the request stays pending and takes another one."""
        asked = self.asked(REJECT)
        hold, why = Hold(run_id, asked["token"]), asked["error_message"]

        def command() -> tuple[int, Any]:
            rejected = transitions.reject_submission(
                self.project, hold, request_id, submission_id, why, asked["receipt"]
            )
            return 200, answers.submission(rejected)

        return self.once(command)


class Validations(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE
    keyed = False

    @described("interaction", "claim_validations", takes=requests.ValidationsRequest, gives=answers.Validations)
    def post(self, request: HttpRequest) -> Response:
        """Claim up to as many runs with a submission to validate as there are tokens; others may be faster.

        The same tokens again bring the same live claims again. Accept or reject, then go on with the run or park it.
        """
        asked = self.asked(VALIDATIONS)
        transitions.own(self.token, asked["owner_id"])
        at = clock.now()
        held = reading.held_with(self.project, asked["owner_id"], asked["tokens"], at)
        claims = {token: shapes.claimed(run, run.lease, at) | _to_validate(run) for token, run in held.items()}
        claims |= self._claimed(asked, [token for token in asked["tokens"] if token not in held])
        return Response(
            {
                "claims": [
                    {"slot": slot, **claims[token]} for slot, token in enumerate(asked["tokens"]) if token in claims
                ],
                "poll_in_ms": POLL_IN_MS,
            }
        )

    def _claimed(self, asked: Mapping[str, Any], tokens: list[str]) -> dict[str, shapes.Answer]:
        """New claims by token: what is found is tried one by one, until there are enough."""
        claims: dict[str, shapes.Answer] = {}
        claimant = Claimant(asked["owner_id"], lease_ms(asked))
        workflows, excluded = asked["workflows"], set(asked["exclude_run_ids"])
        for run_id in reading_people.awaiting_validation(self.project, workflows, clock.now(), 2 * len(tokens) + 8):
            if len(claims) == len(tokens):
                break
            if run_id in excluded:
                continue
            token = tokens[len(claims)]
            try:
                run = transitions.claim_for_validation(self.project, run_id, claimant, token)
            except Refusal:
                continue  # somebody else was faster, or the run is over
            (full,) = reading.with_documents([run])
            claims[token] = shapes.claimed(full, run.lease) | _to_validate(full)
        return claims


def whole(request: models.InteractiveRequest) -> shapes.Answer:
    """A request with the submissions that matter."""
    accepted, validating = reading_people.accepted_and_validating(request)
    return answers.request(request, accepted, validating)


def listed(parameters: Mapping[str, str], name: str, allowed: list[Any]) -> list[str]:
    """The values of a parameter that takes one or several, parted by commas; none where it is absent."""
    wanted = parameters[name].split(",") if name in parameters else []
    if any(value not in allowed for value in wanted):
        raise InvalidRequest({name: [f"This must be one of, or several parted by commas: {', '.join(allowed)}."]})
    return wanted


def _to_validate(run: models.Run) -> shapes.Answer:
    return {"requests": [whole(request) for request in reading_people.requests_to_validate(run)]}


_REQUEST: Final = f"{ONE_RUN}/requests/<chosen:request_id>"
_SUBMISSION: Final = f"{_REQUEST}/submissions/<chosen:submission_id>"
urlpatterns: list[URLPattern] = [
    path("validations", Validations.as_view(), name="validations"),
    path(f"{ONE_RUN}/requests", Requests.as_view(), name="requests"),
    path(_REQUEST, Request.as_view(), name="request"),
    path(f"{_REQUEST}/withdraw", Withdraw.as_view(), name="withdraw-request"),
    path(f"{_REQUEST}/submissions", Submissions.as_view(), name="submissions"),
    path(f"{_SUBMISSION}/accept", Accept.as_view(), name="accept-submission"),
    path(f"{_SUBMISSION}/reject", Reject.as_view(), name="reject-submission"),
]
