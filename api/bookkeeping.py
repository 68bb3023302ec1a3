"""The queue's own bookkeeping on the wire: effects settled by type, lost ones doubted, and whose a token was."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, converters, effect_answers, shapes
from api.control import Control
from api.endpoint import Endpoint
from api.fields import Name, Shape
from api.requests import HoldRequest
from api.schema import described
from runs import reading, transitions
from runs.states import Scope
from runs.transitions import Hold


class SettleRequest(Shape):
    effect_type = Name()


class Settled(serializers.Serializer[Any]):
    run_id = serializers.CharField()
    settled = serializers.IntegerField(help_text="How many pending effects of that type there were.")


class Doubted(serializers.Serializer[Any]):
    results = effect_answers.EffectBrief(many=True)


SETTLE = SettleRequest()
HOLD = HoldRequest()


class SettleEffects(Control):
    @described("operators", "settle_effects", takes=SettleRequest, gives=Settled)
    def post(self, request: Request, run_id: str) -> Response:
        """Say that a run's pending effects of a type are applied: those that the queue itself carries out."""
        effect_type = self.asked(SETTLE)["effect_type"]

        def command() -> tuple[int, Any]:
            return 200, {"run_id": run_id, "settled": transitions.settle_effect(self.project, run_id, effect_type)}

        return self.once(command)


class DoubtLostEffects(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}

    @described("effects", "doubt_lost_effects", takes=HoldRequest, gives=Doubted)
    def post(self, request: Request, run_id: str) -> Response:
        """Put in doubt, all at once, what an earlier holder left applying; before going on with a run taken over."""
        hold = Hold(run_id, self.asked(HOLD)["token"])

        def command() -> tuple[int, Any]:
            lost = transitions.doubt_lost_effects(self.project, hold)
            return 200, {"results": [effect_answers.brief(effect) for effect in lost]}

        return self.once(command)


class Authority(Endpoint):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}
    keyed = False

    @described("runners", "authority", takes=HoldRequest, gives=answers.RunBrief)
    def post(self, request: Request, run_id: str) -> Response:
        """The run, if this is the token of its recorded owner, expired or not; `lease_lost` otherwise."""
        return Response(shapes.brief(reading.authority(self.project, run_id, self.asked(HOLD)["token"])))


converters.register()

urlpatterns: list[URLPattern] = [
    path("runs/<run:run_id>/settle-effects", SettleEffects.as_view(), name="settle-effects"),
    path("runs/<run:run_id>/doubt-lost-effects", DoubtLostEffects.as_view(), name="doubt-lost-effects"),
    path("runs/<run:run_id>/authority", Authority.as_view(), name="authority"),
]
