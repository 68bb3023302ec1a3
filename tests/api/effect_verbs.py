"""The calls that change effects, ready to be made, in the form of those in verbs.py."""

from collections.abc import Callable
from typing import Any

from tests.api.cast import Caller
from tests.api.verbs import Call, Cast

MAIL: dict[str, Any] = {"effect_type": "mail.send", "idempotency_key": "order-7", "payload": {"to": "x@example.org"}}


def running(cast: Cast) -> tuple[str, str]:
    """The id and the token of a run that the runner holds."""
    run_id = cast.client.reserve()
    return run_id, cast.runner.run(run_id)


def reserve(runner: Caller, run_id: str, token: str, **changes: Any) -> str:
    """The address of a new effect."""
    reply = runner.post(f"runs/{run_id}/effects", {"token": token, **MAIL, **changes})
    assert reply.status == 201, reply.content
    return f"runs/{run_id}/effects/{reply.body['effect_id']}"


def start(runner: Caller, address: str, token: str) -> int:
    """The number of a new try."""
    reply = runner.post(f"{address}/start", {"token": token})
    assert reply.status == 200, reply.content
    return int(reply.body["number"])


def in_doubt(cast: Cast) -> tuple[str, str]:
    """The address of an ambiguous effect, whose run was parked for it, and the token of its try."""
    run_id, token = running(cast)
    address = reserve(cast.runner, run_id, token)
    start(cast.runner, address, token)
    body = {"token": token, "number": 1, "error_message": "The line went dead."}
    assert cast.runner.post(f"{address}/doubt", body).status == 200
    return address, token


def _reserve(cast: Cast) -> Call:
    run_id, token = running(cast)
    return Call(cast.runner, "POST", f"runs/{run_id}/effects", {"token": token, **MAIL})


def _reserve_all(cast: Cast) -> Call:
    run_id, token = running(cast)
    return Call(cast.runner, "POST", f"runs/{run_id}/effects/batch", {"token": token, "items": [MAIL]})


def _start(cast: Cast) -> Call:
    run_id, token = running(cast)
    return Call(cast.runner, "POST", f"{reserve(cast.runner, run_id, token)}/start", {"token": token})


def _reported(verb: str, **members: Any) -> Callable[[Cast], Call]:
    def call(cast: Cast) -> Call:
        run_id, token = running(cast)
        address = reserve(cast.runner, run_id, token)
        number = start(cast.runner, address, token)
        return Call(cast.runner, "POST", f"{address}/{verb}", {"token": token, "number": number, **members})

    return call


def _settle(cast: Cast) -> Call:
    body = {"outcome": "applied", "reason": "It is in the provider's log.", "evidence": {"id": 7}}
    return Call(cast.operator, "POST", f"{in_doubt(cast)[0]}/settle", body)


def _settle_own(cast: Cast) -> Call:
    address, token = in_doubt(cast)
    body = {"outcome": "rejected", "token": token, "number": 1, "error_message": "It came back."}
    return Call(cast.runner, "POST", f"{address}/settle", body)


EFFECT_VERBS: dict[str, Callable[[Cast], Call]] = {
    "reserve_effect": _reserve,
    "reserve_effects": _reserve_all,
    "start_effect": _start,
    "apply_effect": _reported("apply", result={"id": 7}),
    "reject_effect": _reported("reject", error_message="No such address.", retry_in_ms=1_000),
    "doubt_effect": _reported("doubt", error_message="The line went dead."),
    "settle_effect": _settle,
    "settle_own_try": _settle_own,
}
