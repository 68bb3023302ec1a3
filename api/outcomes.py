"""The results of a batch: one for each item, in the order asked, whatever became of the others."""

from collections.abc import Callable, Sequence
from typing import Any

from api.fields import FaultyItem
from api.problems import problem
from runs.errors import Refusal

Item = dict[str, Any]
Result = dict[str, Any]


def merged(items: Sequence[Item | FaultyItem], carry_out: Callable[[list[Item]], list[Result]]) -> list[Result]:
    """Results for all items; only those that are as they must be are carried out."""
    whole = [item for item in items if not isinstance(item, FaultyItem)]
    results = iter(carry_out(whole) if whole else [])
    return [_refused(item.run_id, item.refusal) if isinstance(item, FaultyItem) else next(results) for item in items]


def outcome(run_id: str, became: Any, shape: Callable[[Any], Result]) -> Result:
    """The result of one item that was carried out or refused."""
    if isinstance(became, Refusal):
        return _refused(run_id, became)
    return {"run_id": run_id, "ok": True, **shape(became)}


def _refused(run_id: str | None, refusal: Refusal) -> Result:
    return {"run_id": run_id, "ok": False, "problem": problem(refusal)}
