"""The runners' verbs for many runs in one call. An item that is refused stands in no other's way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from rest_framework.request import Request
from rest_framework.response import Response

from api import answers, requests, shapes
from api.client import reservation
from api.endpoint import Endpoint
from api.fields import Shape
from api.outcomes import Item, Result, merged, outcome
from api.schema import described
from runs import transitions
from runs.errors import Refusal
from runs.models import Run
from runs.states import Scope
from runs.transitions import Completion, Failure, Hold, Reserved

RESERVE = requests.ReserveBatch()
HOLD = requests.HoldBatch()
COMPLETE = requests.CompleteBatch()
FAIL = requests.FailBatch()

_EXECUTE: Final[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_EXECUTE}
Outcome = Run | Reserved | Refusal


class Batch(Endpoint):
    """What the batches share."""

    def carry_out(self, shape: Shape, verb: Callable[[list[Item]], Sequence[Outcome]]) -> Response:
        """Do `verb` for the items of the body, once for each idempotency key."""
        items = self.asked(shape)["items"]
        self.check_scopes(items)
        return self.once(lambda: (200, {"results": merged(items, lambda whole: _results(whole, verb(whole)))}))

    def check_scopes(self, items: Sequence[Any]) -> None:
        """For verbs whose items decide which scopes are needed."""


class ReserveAll(Batch):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": Scope.RUNS_WRITE}

    @described("batches", "reserve_all", takes=requests.ReserveBatch, gives=answers.RunOutcomes)
    def post(self, request: Request) -> Response:
        """Reserve many runs."""
        return self.carry_out(
            RESERVE, lambda items: transitions.reserve_all(self.project, [reservation(item) for item in items])
        )


class RunningAll(Batch):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("batches", "mark_running_all", takes=requests.HoldBatch, gives=answers.RunOutcomes)
    def post(self, request: Request) -> Response:
        """Say of many runs that they run."""
        return self.carry_out(HOLD, lambda items: transitions.mark_running_all(self.project, _holds(items)))


class ParkAll(Batch):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("batches", "park_all", takes=requests.HoldBatch, gives=answers.RunOutcomes)
    def post(self, request: Request) -> Response:
        """Hand many runs back."""
        return self.carry_out(HOLD, lambda items: transitions.park_all(self.project, _holds(items)))


class CompleteAll(Batch):
    scopes: ClassVar[Mapping[str, Scope | None]] = _EXECUTE

    @described("batches", "complete_all", takes=requests.CompleteBatch, gives=answers.RunOutcomes)
    def post(self, request: Request) -> Response:
        """End many runs well."""
        return self.carry_out(
            COMPLETE, lambda items: transitions.complete_all(self.project, [Completion(**item) for item in items])
        )


class FailAll(Batch):
    scopes: ClassVar[Mapping[str, Scope | None]] = {"POST": None}

    @described("batches", "fail_all", takes=requests.FailBatch, gives=answers.RunOutcomes)
    def post(self, request: Request) -> Response:
        """End many runs as failed: `runs:execute` for items with a token, `runs:control` for items without."""
        return self.carry_out(
            FAIL, lambda items: transitions.fail_all(self.project, [Failure(**item) for item in items])
        )

    def check_scopes(self, items: Sequence[Any]) -> None:
        """Nothing is done where a scope for any of the items is missing."""
        unheld = [item for item in items if isinstance(item, dict) and "token" not in item]
        if unheld:
            self.need(Scope.RUNS_CONTROL)
        if len(unheld) < len(items):
            self.need(Scope.RUNS_EXECUTE)


def _holds(items: list[Item]) -> list[Hold]:
    return [Hold(item["run_id"], item["token"]) for item in items]


def _results(items: list[Item], outcomes: Sequence[Outcome]) -> list[Result]:
    return [outcome(item["run_id"], became, _shown) for item, became in zip(items, outcomes, strict=True)]


def _shown(became: Run | Reserved) -> Result:
    return {"run": shapes.brief(became.run if isinstance(became, Reserved) else became)}
