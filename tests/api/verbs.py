"""Every call that changes something, ready to be made: who makes it, where, with which body. For tests of all verbs."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.api.cast import Caller, Reply, fresh_token, reservation


@dataclass(frozen=True, slots=True)
class Cast:
    """Those of the cast who may change something, each what the others may not."""

    client: Caller
    runner: Caller
    operator: Caller


@dataclass(frozen=True, slots=True)
class Call:
    """One request that would succeed."""

    caller: Caller
    method: str
    path: str
    body: Any

    def send(self, body: Any = None, **more: Any) -> Reply:
        return self.caller.send(self.method, self.path, self.body if body is None else body, **more)


def _reserve(cast: Cast) -> Call:
    return Call(cast.client, "POST", "runs", _whole_reservation())


def _adopt(cast: Cast) -> Call:
    body = _whole_reservation()
    return Call(cast.client, "PUT", f"runs/{body.pop('run_id')}", body)


def _note(cast: Cast) -> Call:
    return Call(cast.client, "POST", f"runs/{cast.client.reserve()}/events", {"type": "seen", "payload": {"by": "me"}})


def _record_event(cast: Cast) -> Call:
    run_id, token = _running(cast)
    body = {"token": token, "type": "seen", "payload": {"by": "me"}}
    return Call(cast.runner, "POST", f"runs/{run_id}/events", body)


def _claim_next(cast: Cast) -> Call:
    cast.client.reserve()
    body = {
        "owner_id": "host-a",
        "workflows": ["inventory", "other"],
        "tokens": [fresh_token(), fresh_token()],
        "lease_ms": 30_000,
        "exclude_run_ids": ["run-x"],
        "reclaim": False,
    }
    return Call(cast.runner, "POST", "claims", body)


def _claim(cast: Cast) -> Call:
    body = {"owner_id": "host-a", "token": fresh_token(), "lease_ms": 30_000, "reclaim": False}
    return Call(cast.runner, "POST", f"runs/{cast.client.reserve()}/claim", body)


def _renew_all(cast: Cast) -> Call:
    run_id, token = _running(cast)
    return Call(cast.runner, "POST", "renewals", {"leases": [{"run_id": run_id, "token": token}], "lease_ms": 40_000})


def _held(verb: str, **members: Any) -> Callable[[Cast], Call]:
    def call(cast: Cast) -> Call:
        run_id, token = _running(cast)
        return Call(cast.runner, "POST", f"runs/{run_id}/{verb}", {"token": token, **members})

    return call


def _fail_unbegun(cast: Cast) -> Call:
    body = {"error_code": "unwanted", "error_message": "Nobody wants it."}
    return Call(cast.operator, "POST", f"runs/{cast.client.reserve()}/fail", body)


def _cancel(cast: Cast) -> Call:
    return Call(cast.operator, "POST", f"runs/{cast.client.reserve()}/cancel", {"reason": "Nobody wants it."})


def _attempt(verb: str, **members: Any) -> Callable[[Cast], Call]:
    def call(cast: Cast) -> Call:
        run_id, token = _running(cast)
        start = {"token": token, "node_id": "walk", "attempt_id": "walk-1"}
        assert cast.runner.post(f"runs/{run_id}/attempts", start).status == 201
        body = {"token": token, **members}
        return Call(cast.runner, "POST", f"runs/{run_id}/attempts/walk-1/{verb}", body)

    return call


def _reserve_all(cast: Cast) -> Call:
    return Call(cast.client, "POST", "batch/reserve", {"items": [_whole_reservation()]})


def _batch(verb: str, **members: Any) -> Callable[[Cast], Call]:
    def call(cast: Cast) -> Call:
        run_id, token = _running(cast)
        return Call(cast.runner, "POST", f"batch/{verb}", {"items": [{"run_id": run_id, "token": token, **members}]})

    return call


_START = {
    "node_id": "walk",
    "attempt_id": "walk-1",
    "node_type": "step",
    "input": {"folder": "/srv"},
    "timeout_ms": 60_000,
}
_FAILURE = {"error_code": "broken", "error_message": "It broke."}

VERBS: dict[str, Callable[[Cast], Call]] = {
    "reserve": _reserve,
    "adopt": _adopt,
    "note": _note,
    "record_event": _record_event,
    "claim_next": _claim_next,
    "claim": _claim,
    "renew_all": _renew_all,
    "renew": _held("renew", lease_ms=40_000),
    "mark_running": _held("running"),
    "park": _held("park"),
    "complete": _held("complete", output={"files": 3}),
    "fail": _held("fail", **_FAILURE),
    "fail_unbegun": _fail_unbegun,
    "cancel": _cancel,
    "cancel_held": _held("cancel"),
    "start_attempt": _held("attempts", **_START),
    "progress_attempt": _attempt("progress", progress={"files": 3}),
    "complete_attempt": _attempt("complete", output={"files": 3}),
    "fail_attempt": _attempt("fail", error_message="It broke."),
    "reserve_all": _reserve_all,
    "mark_running_all": _batch("running"),
    "park_all": _batch("park"),
    "complete_all": _batch("complete", output={"files": 3}),
    "fail_all": _batch("fail", **_FAILURE),
}
# Whose answer comes from a receipt where a key was sent.
KEYED = sorted(VERBS.keys() - {"claim_next", "claim", "renew_all", "renew"})
BATCHES = sorted(name for name in VERBS if name.endswith("_all"))


def places(body: Any) -> Iterator[tuple[str | int, ...]]:
    """The path of every member and item of a body, outer ones first."""
    inner = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, value in inner:
        yield (name,)
        for rest in places(value):
            yield (name, *rest)


def changed(body: Any, place: tuple[str | int, ...], value: object) -> Any:
    """The same body with another value at this place."""
    copy = deepcopy(body)
    inner = copy
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return copy


def _running(cast: Cast) -> tuple[str, str]:
    run_id = cast.client.reserve()
    return run_id, cast.runner.run(run_id)


def _whole_reservation() -> dict[str, Any]:
    return reservation(
        input={"folder": "/srv"}, launch_options={"quick": True}, execution_mode="headless", priority="high"
    )
