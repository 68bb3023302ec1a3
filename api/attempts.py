"""Durable steps on the wire: attempts of a held run's nodes. One method a verb."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final

from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, paging, requests, shapes
from api.endpoint import Endpoint
from api.schema import described
from runs import reading, transitions
from runs.states import Scope
from runs.transitions import AttemptStart, Hold, Observation

START = requests.AttemptStartRequest()
PROGRESS = requests.AttemptProgressRequest()
COMPLETE = requests.AttemptCompleteRequest()
FAIL = requests.AttemptFailRequest()

_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}


class Attempts(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_EXECUTE}
    parameters = ("cursor", "limit")

    @described("attempts", "list_attempts", gives=answers.AttemptPage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's attempts in the order in which they were started."""
        attempts = reading.attempts(reading.run(self.project, run_id))
        return Response(paging.by_key(attempts, self.query, shapes.attempt))

    @described(
        "attempts",
        "start_attempt",
        takes=requests.AttemptStartRequest,
        gives=answers.Attempt,
        status=201,
        also={200: answers.Attempt},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Start an attempt of a node (201).

        200 gives back the completed attempt, with its output, of a node that has been done, or this very attempt where
        it was started before and is still open.
        """
        asked = self.asked(START)
        hold = Hold(run_id, asked.pop("token"))

        def command() -> tuple[int, Any]:
            attempt, made = transitions.start_attempt(self.project, hold, AttemptStart(**asked))
            return 201 if made else 200, shapes.attempt(attempt)

        return self.once(command)


class Progress(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("attempts", "progress_attempt", takes=requests.AttemptProgressRequest, gives=answers.Attempt)
    def post(self, request: Request, run_id: str, attempt_id: str) -> Response:
        """Say how far an open attempt is."""
        asked = self.asked(PROGRESS)
        hold, seen = Hold(run_id, asked["token"]), Observation(attempt_id, asked["progress"], asked["active_ms"])
        return self.once(lambda: (200, shapes.attempt(transitions.progress_attempt(self.project, hold, seen))))


class CompleteAttempt(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("attempts", "complete_attempt", takes=requests.AttemptCompleteRequest, gives=answers.Attempt)
    def post(self, request: Request, run_id: str, attempt_id: str) -> Response:
        """Store a node's output for good."""
        asked = self.asked(COMPLETE)
        hold = Hold(run_id, asked.pop("token"))
        verb = partial(transitions.complete_attempt, self.project, hold, attempt_id, **asked)
        return self.once(lambda: (200, shapes.attempt(verb())))


class FailAttempt(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("attempts", "fail_attempt", takes=requests.AttemptFailRequest, gives=answers.Attempt)
    def post(self, request: Request, run_id: str, attempt_id: str) -> Response:
        """End an attempt as failed; its node may be tried again."""
        asked = self.asked(FAIL)
        hold, message = Hold(run_id, asked["token"]), asked["error_message"]
        verb = partial(transitions.fail_attempt, self.project, hold, attempt_id, message, asked["active_ms"])
        return self.once(lambda: (200, shapes.attempt(verb())))
