"""The outbox on the wire: effects of a held run, and the settling of those in doubt. One method a verb."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from api import converters, paging
from api import effect_answers as answers
from api import effect_requests as requests
from api.endpoint import Endpoint
from api.errors import InvalidRequest, Refusal
from api.outcomes import Item, Result, merged
from api.problems import problem
from api.requests import HoldRequest
from api.schema import described
from runs import models, reading, reading_effects, transitions
from runs.states import EffectOutcome, EffectStatus, Scope
from runs.transitions import EffectReservation, Hold

RESERVE = requests.EffectReserveRequest()
RESERVE_ALL = requests.EffectReserveBatch()
HOLD = HoldRequest()
APPLY = requests.EffectApplyRequest()
REJECT = requests.EffectRejectRequest()
DOUBT = requests.EffectDoubtRequest()
SETTLE = requests.EffectSettleRequest()

_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}
_BY_TRY: Final = ("token", "number", "result", "error_message")
_BY_OPERATOR: Final = ("reason", "evidence")


class Effects(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ, "POST": Scope.RUNS_EXECUTE}
    parameters = ("status", "cursor", "limit")

    @described("effects", "list_effects", gives=answers.EffectPage)
    def get(self, request: Request, run_id: str) -> Response:
        """A run's effects in the order in which they were reserved."""
        statuses = _statuses(self.query, [*EffectStatus])
        effects = reading_effects.effects(reading.run(self.project, run_id), statuses)
        return Response(paging.by_key(effects, self.query, answers.brief))

    @described(
        "effects",
        "reserve_effect",
        takes=requests.EffectReserveRequest,
        gives=answers.EffectAnswer,
        status=201,
        also={200: answers.EffectAnswer},
    )
    def post(self, request: Request, run_id: str) -> Response:
        """Write down what is going to be done outside (201), before it is done.

        200 gives back the effect of this type, key and payload as it stands: an applied one with its result, and one
        that a lost runner left applying as ambiguous.
        """
        asked = self.asked(RESERVE)
        hold = Hold(run_id, asked.pop("token"))

        def command() -> tuple[int, Any]:
            effect, made = transitions.reserve_effect(self.project, hold, EffectReservation(**asked))
            return 201 if made else 200, answers.answer(effect)

        return self.once(command)


class ReserveAll(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("effects", "reserve_effects", takes=requests.EffectReserveBatch, gives=answers.ReservedEffects)
    def post(self, request: Request, run_id: str) -> Response:
        """The same for many effects of one run. An item that is refused stands in no other's way."""
        asked = self.asked(RESERVE_ALL)
        hold = Hold(run_id, asked["token"])

        def carry_out(items: list[Item]) -> list[Result]:
            wanted = [EffectReservation(**item) for item in items]
            return [_became(outcome) for outcome in transitions.reserve_effects(self.project, hold, wanted)]

        def command() -> tuple[int, Any]:
            results = merged(asked["items"], carry_out)
            # An effect's item names no run: it is the address that does.
            return 200, {"results": [_without_run(result) for result in results]}

        return self.once(command)


class Effect(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}

    @described("effects", "get_effect", gives=answers.EffectDetail)
    def get(self, request: Request, run_id: str, effect_id: str) -> Response:
        """One effect with its documents and its latest tries, newest first."""
        return Response(answers.detail(*reading_effects.effect(self.project, run_id, effect_id)))


class Start(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("effects", "start_effect", takes=HoldRequest, gives=answers.StartedEffect)
    def post(self, request: Request, run_id: str, effect_id: str) -> Response:
        """Begin a try, whose number goes with every report of it.

        No number comes back where a lost runner's try turned out to be in doubt: then nothing may be done outside.
        """
        hold = Hold(run_id, self.asked(HOLD)["token"])

        def command() -> tuple[int, Any]:
            effect, number = transitions.start_effect(self.project, hold, effect_id)
            return 200, answers.answer(effect) | {"number": number}

        return self.once(command)


class Reporting(Endpoint):
    """What the reports of a try share."""

    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    def answered(self, verb: Callable[[], models.Effect]) -> Response:
        return self.once(lambda: (200, answers.answer(verb())))


class Apply(Reporting):
    @described("effects", "apply_effect", takes=requests.EffectApplyRequest, gives=answers.EffectAnswer)
    def post(self, request: Request, run_id: str, effect_id: str) -> Response:
        """Say that the effect has happened. A try that is in doubt may still say so after its run was lost or ended."""
        asked = self.asked(APPLY)
        hold = Hold(run_id, asked["token"])
        return self.answered(
            lambda: transitions.apply_effect(self.project, hold, effect_id, asked["number"], asked["result"])
        )


class Reject(Reporting):
    @described("effects", "reject_effect", takes=requests.EffectRejectRequest, gives=answers.EffectAnswer)
    def post(self, request: Request, run_id: str, effect_id: str) -> Response:
        """Say that a try has not happened: with `retry_in_ms` it may be tried again then, else never."""
        asked = self.asked(REJECT)
        hold = Hold(run_id, asked["token"])
        return self.answered(
            lambda: transitions.reject_effect(
                self.project, hold, effect_id, asked["number"], asked["error_message"], asked["retry_in_ms"]
            )
        )


class Doubt(Reporting):
    @described("effects", "doubt_effect", takes=requests.EffectDoubtRequest, gives=answers.EffectAnswer)
    def post(self, request: Request, run_id: str, effect_id: str) -> Response:
        """Say that nobody knows whether a try has happened: an operator is to settle it."""
        asked = self.asked(DOUBT)
        hold = Hold(run_id, asked["token"])
        return self.answered(
            lambda: transitions.doubt_effect(self.project, hold, effect_id, asked["number"], asked["error_message"])
        )


class Settle(Reporting):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("effects", "settle_effect", takes=requests.EffectSettleRequest, gives=answers.EffectAnswer)
    def post(self, request: Request, run_id: str, effect_id: str) -> Response:
        """Settle an effect in doubt, once; also when its run is over.

        With the lease token and the number of the very try (scope `runs:execute`), else with a reason
        (`runs:control`). A run that is parked for it and has no other one in doubt is offered again.
        """
        asked = self.asked(SETTLE)
        outcome = EffectOutcome(asked.pop("outcome"))
        if "token" in asked:
            self.need(Scope.RUNS_EXECUTE)
            _only(asked, _BY_TRY, needed="number")
            return self.answered(
                lambda: transitions.settle_own_try(
                    self.project,
                    run_id,
                    effect_id,
                    asked["number"],
                    asked["token"],
                    outcome,
                    result=asked.get("result"),
                    error=asked.get("error_message"),
                )
            )
        self.need(Scope.RUNS_CONTROL)
        _only(asked, _BY_OPERATOR, needed="reason")
        reason, evidence = asked["reason"], asked.get("evidence")
        return self.answered(
            lambda: transitions.settle_ambiguous_effect(
                self.project, run_id, effect_id, outcome, self.actor, reason, evidence
            )
        )


class InDoubt(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"GET": Scope.RUNS_READ}
    parameters = ("status", "cursor", "limit")

    @described("effects", "list_ambiguous_effects", gives=answers.EffectPage)
    def get(self, request: Request) -> Response:
        """What waits for a person: the effects in doubt of all runs, over or not. The only status is `ambiguous`."""
        _statuses(self.query, [EffectStatus.AMBIGUOUS])
        return Response(paging.by_key(reading_effects.ambiguous_effects(self.project), self.query, answers.brief))


def _statuses(parameters: Mapping[str, str], allowed: list[EffectStatus]) -> list[EffectStatus]:
    wanted = parameters["status"].split(",") if "status" in parameters else []
    if any(name not in allowed for name in wanted):
        raise InvalidRequest({"status": [f"This must be one of, or several parted by commas: {', '.join(allowed)}."]})
    return [EffectStatus(name) for name in wanted]


def _only(asked: Mapping[str, Any], members: tuple[str, ...], *, needed: str) -> None:
    """Refuse members that belong to the other way of settling, and one that is missing."""
    faults = {name: ["This belongs to the other way of settling."] for name in asked if name not in members}
    if needed not in asked:
        faults[needed] = ["This is required."]
    if faults:
        raise InvalidRequest(faults)


def _became(outcome: tuple[models.Effect, bool] | Refusal) -> Result:
    if isinstance(outcome, Refusal):
        return {"ok": False, "problem": problem(outcome)}
    effect, made = outcome
    return {"ok": True, "made": made, "effect": answers.answer(effect)}


def _without_run(result: Result) -> Result:
    return {name: value for name, value in result.items() if name != "run_id"}


converters.register()

_EFFECT: Final = "runs/<run:run_id>/effects/<effect:effect_id>"
urlpatterns: list[URLPattern] = [
    path("effects", InDoubt.as_view(), name="ambiguous-effects"),
    path("runs/<run:run_id>/effects", Effects.as_view(), name="effects"),
    path("runs/<run:run_id>/effects/batch", ReserveAll.as_view(), name="reserve-effects"),
    path(_EFFECT, Effect.as_view(), name="effect"),
    path(f"{_EFFECT}/start", Start.as_view(), name="start-effect"),
    path(f"{_EFFECT}/apply", Apply.as_view(), name="apply-effect"),
    path(f"{_EFFECT}/reject", Reject.as_view(), name="reject-effect"),
    path(f"{_EFFECT}/doubt", Doubt.as_view(), name="doubt-effect"),
    path(f"{_EFFECT}/settle", Settle.as_view(), name="settle-effect"),
]
