"""What clients and operators do with runs: reserve, adopt, look, cancel. One method a verb."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, examples, filters, paging, requests, shapes
from api.endpoint import Endpoint
from api.errors import InvalidRequest
from api.schema import described
from runs import models, reading, transitions, waiting
from runs.states import Scope
from runs.transitions import Hold, Reservation

RESERVE = requests.ReserveRequest()
ADOPT = requests.AdoptRequest()
CANCEL = requests.CancelRequest()


def reservation(asked: Mapping[str, Any], **more: str) -> Reservation:
    """What a validated body asks for."""
    return Reservation(**{**asked, **more, "priority": requests.PRIORITIES[asked["priority"]]})


def _shown(run: models.Run) -> shapes.Answer:
    return shapes.detail(run) | {"waiting_for": shapes.waiting_for(waiting.waiting_reason(run))}


class Runs(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_WRITE}
    parameters = filters.NAMES | {"limit", "cursor"}

    @described("clients", "list_runs", gives=answers.RunPage)
    def get(self, request: Request) -> Response:
        """The project's runs, newest first."""
        runs = filters.filtered(reading.runs(self.project), self.project, self.query)
        return Response(paging.newest_first(runs, self.query, shapes.brief))

    @described(
        "clients",
        "reserve",
        takes=requests.ReserveRequest,
        gives=answers.RunBrief,
        status=201,
        examples=examples.RESERVE,
    )
    def post(self, request: Request) -> Response:
        """Reserve a run. Without an idempotency key, a repeat after a lost answer meets `already_reserved`."""
        asked = reservation(self.asked(RESERVE))
        return self.once(lambda: (201, shapes.brief(transitions.reserve(self.project, asked))))


class Run(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "PUT": Scope.RUNS_WRITE}

    @described("clients", "get_run", gives=answers.RunShown)
    def get(self, request: Request, run_id: str) -> Response:
        """One run with its documents."""
        return Response(_shown(reading.run(self.project, run_id)))

    @described(
        "clients",
        "adopt",
        takes=requests.AdoptRequest,
        gives=answers.Adopted,
        status=201,
        also={200: answers.Adopted},
        examples=examples.ADOPT,
    )
    def put(self, request: Request, run_id: str) -> Response:
        """Reserve a run, or adopt the one of this id (200) where it was reserved with equal content."""
        asked = reservation(self.asked(ADOPT), run_id=run_id)

        def command() -> tuple[int, Any]:
            reserved = transitions.reserve_or_adopt(self.project, asked)
            state = "adopted" if reserved.adopted else "reserved"
            return 200 if reserved.adopted else 201, {"state": state, "run": shapes.brief(reserved.run)}

        return self.once(command)


class SessionReservation(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("session",)

    @described("clients", "session_reservation", gives=answers.RunShown)
    def get(self, request: Request) -> Response:
        """The newest interactive run of a session that is not over."""
        if "session" not in self.query:
            raise InvalidRequest({"session": ["This is required."]})
        return Response(_shown(reading.session_reservation(self.project, self.query["session"])))


class Cancel(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("clients", "cancel", takes=requests.CancelRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Cancel a run at once.

        With a lease token as its holder (scope `runs:execute`), else from outside (`runs:control`), over a live lease
        too.
        """
        asked = self.asked(CANCEL)
        if "token" in asked:
            self.need(Scope.RUNS_EXECUTE)
            if outside := [name for name in ("reason", "grace_ms", "if_idle") if asked.get(name)]:
                raise InvalidRequest({name: ["Only for who cancels from outside."] for name in outside})
            hold = Hold(run_id, asked["token"])
            return self.once(lambda: (200, shapes.brief(transitions.cancel_held(self.project, hold))))
        self.need(Scope.RUNS_CONTROL)
        if asked["if_idle"] and "grace_ms" in asked:
            raise InvalidRequest({"grace_ms": ["A grace is for a run that somebody holds."]})
        return self.once(lambda: (200, shapes.brief(self._cancelled(run_id, asked))))

    def _cancelled(self, run_id: str, asked: Mapping[str, Any]) -> models.Run:
        reason, grace_ms = asked.get("reason"), asked.get("grace_ms")
        if grace_ms is not None:
            return transitions.request_cancel(self.project, run_id, grace_ms, self.actor, reason)
        if asked["if_idle"]:
            return transitions.cancel_stale(self.project, run_id, self.actor)
        return transitions.cancel(self.project, run_id, self.actor, reason)
