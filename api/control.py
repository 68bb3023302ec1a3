"""What operators do with runs from outside, and the rarer verbs of their holders. One method a verb."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, control_requests, paging, requests, shapes
from api.endpoint import Endpoint
from api.schema import described
from runs import errors, models, reading, transitions
from runs.states import Scope
from runs.transitions import Hold

REASON = control_requests.ReasonRequest()
PAUSE = control_requests.PauseRequest()
TIME_OUT = control_requests.TimeOutRequest()
NOTHING = control_requests.NothingRequest()
INTERACTION_TIMEOUT = control_requests.InteractionTimeoutRequest()
HOLD = requests.HoldRequest()

_CONTROL: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_CONTROL}
_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}


class Control(Endpoint):
    """A verb from outside that answers with the run."""

    scopes: ClassVar[Mapping[str, Scope | None]] = _CONTROL

    def answered(self, verb: Callable[[], models.Run]) -> Response:
        return self.once(lambda: (200, shapes.brief(verb())))


class Pause(Control):
    @described("operators", "pause", takes=control_requests.PauseRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Pause a run at once, or, with a grace, ask its holder to. A paused run stays as it is."""
        asked = self.asked(PAUSE)
        reason, grace_ms = asked.get("reason"), asked.get("grace_ms")
        if grace_ms is None:
            return self.answered(lambda: transitions.pause(self.project, run_id, self.actor, reason))
        return self.answered(lambda: transitions.request_pause(self.project, run_id, grace_ms, self.actor, reason))


class Unpause(Control):
    @described("operators", "unpause", takes=control_requests.ReasonRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Let a paused run go on; or take back a pause or cancel that its holder was asked for."""
        reason = self.asked(REASON).get("reason")

        def verb() -> models.Run:
            try:
                return transitions.unpause(self.project, run_id, self.actor, reason)
            except errors.RunNotPaused as not_paused:
                try:
                    return transitions.withdraw_wish(self.project, run_id, self.actor, reason)
                except errors.NoWish:
                    raise not_paused from None

        return self.answered(verb)


class RunNow(Control):
    @described("operators", "run_now", takes=control_requests.NothingRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Offer a run at once: its backoff, its crash count and what held it back are cleared."""
        self.asked(NOTHING)
        return self.answered(lambda: transitions.run_now(self.project, run_id, self.actor))


class Resume(Control):
    @described("operators", "request_resume", takes=control_requests.NothingRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Offer a run again that was parked, paused or held back; a backoff stays."""
        self.asked(NOTHING)
        return self.answered(lambda: transitions.request_resume(self.project, run_id, self.actor))


class PauseParked(Control):
    @described("operators", "pause_parked", takes=control_requests.NothingRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Pause a parked run that waits for its session; one that is paused stays as it is."""
        self.asked(NOTHING)
        return self.answered(lambda: transitions.pause_parked(self.project, run_id, self.actor))


class ResumeInteraction(Control):
    @described("operators", "resume_interaction", takes=control_requests.NothingRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """Let a paused run wait for its session again."""
        self.asked(NOTHING)
        return self.answered(lambda: transitions.resume_interaction(self.project, run_id, self.actor))


class TimeOut(Control):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("runners", "time_out", takes=control_requests.TimeOutRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """End a run as timed out.

        With a lease token as its holder (scope `runs:execute`), else where nobody has begun it (`runs:control`).
        """
        asked = self.asked(TIME_OUT)
        self.need(Scope.RUNS_EXECUTE if "token" in asked else Scope.RUNS_CONTROL)
        return self.answered(
            lambda: transitions.time_out(self.project, run_id, asked["error_message"], asked.get("token"))
        )


class InteractionTimeout(Control):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described(
        "runners", "interaction_timeout", takes=control_requests.InteractionTimeoutRequest, gives=answers.RunBrief
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Cancel the first pending request of a session that has used up its active time; the run goes on."""
        asked = self.asked(INTERACTION_TIMEOUT)
        hold = Hold(run_id, asked["token"])
        return self.answered(
            lambda: transitions.begin_interaction_timeout(self.project, hold, asked["target_session_id"])
        )


class Delete(Control):
    @described("operators", "delete", takes=requests.HoldRequest, gives=answers.Deleted)
    def post(self, request: Request, run_id: str) -> Response:
        """Delete a run that one holds (claim it for control first) with all that hangs on it."""
        hold = Hold(run_id, self.asked(HOLD)["token"])

        def command() -> tuple[int, Any]:
            transitions.delete(self.project, hold)
            return 200, {"run_id": run_id, "deleted": True}

        return self.once(command)


class LateResults(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("cursor", "limit")

    @described("clients", "late_results", gives=answers.LateResultPage)
    def get(self, request: Request, run_id: str) -> Response:
        """What runners reported as the run's result after they had lost it: evidence, never applied."""
        found = reading.late_results(reading.run(self.project, run_id))
        return Response(paging.by_key(found, self.query, shapes.late_result))
