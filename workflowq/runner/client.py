"""The REST API as typed calls, one method a verb. Repeats, deadlines and JSON are the transport's part."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx

from workflowq.runner.clock import Deadline, Ticks, ticks
from workflowq.runner.definition import Definition
from workflowq.runner.errors import ServerAway, problem_from
from workflowq.runner.transport import Answer, Transport
from workflowq.runner.wire import Attempt, Claim, Claims, Json, Lease, Page, Renewal, Reservation, Run

_T = TypeVar("_T")

_PROGRESS_TIMEOUT = 3.0  # the work waits for it


class Client:
    """One server and one access token.

    Every method raises a ServerProblem where the server refuses. A state change carries one idempotency key however
    often it is sent, so that a repeat after a lost answer is the same call; `until` is the tick that ends the repeats.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 10.0,
        through: httpx.BaseTransport | None = None,
        clock: Ticks = ticks,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, through=through, clock=clock, sleep=sleep)
        self.clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # Reserving and reading

    def reserve(self, run_id: str, definition: Definition, input: Json = None, **members: Json) -> Run:
        """A new run; `members` are further fields of the request, such as execution_mode or priority."""
        body = {"run_id": run_id, **_reservation(definition, input, members)}
        return _read(self._change("runs", body), _run)

    def adopt(self, run_id: str, definition: Definition, input: Json = None, **members: Json) -> Reservation:
        """As reserve, but an equal run that is there already is adopted; one that differs is a refusal."""
        body = _reservation(definition, input, members)
        answer = self._transport.call("PUT", _path(run_id), body=body, key=_key())
        return _read(answer, lambda body, _: Reservation(Run.read(body["run"]), body["state"] == "adopted"))

    def get(self, run_id: str) -> Run:
        return _read(self._transport.call("GET", _path(run_id)), _run)

    def list(self, *, limit: int = 50, cursor: str | None = None, **filters: str) -> Page:
        """One page of runs, newest first; `filters` are the API's own, an unknown one is refused."""
        params: dict[str, str | int] = {"limit": limit, **filters}
        if cursor is not None:
            params["cursor"] = cursor
        answer = self._transport.call("GET", "runs", params=params)
        return _read(answer, lambda body, _: Page(tuple(Run.read(run) for run in body["results"]), body["next"]))

    # Holding

    def claim_next(
        self,
        owner_id: str,
        workflows: Sequence[str],
        tokens: Sequence[str],
        *,
        lease_ms: int | None = None,
        exclude_run_ids: Sequence[str] = (),
    ) -> Claims:
        """Up to one run for each token, asked for once; the same tokens after a lost answer bring the same claims."""
        body = {"owner_id": owner_id, "workflows": [*workflows], "tokens": [*tokens], **_lease_ms(lease_ms)}
        if exclude_run_ids:
            body["exclude_run_ids"] = [*exclude_run_ids]
        answer = self._transport.call_once("POST", "claims", body=body)
        return _read(answer, _claims)

    def claim(
        self, run_id: str, owner_id: str, token: str, *, lease_ms: int | None = None, until: Deadline | None = None
    ) -> Claim:
        body = {"owner_id": owner_id, "token": token, **_lease_ms(lease_ms)}
        return _read(self._change(_path(run_id, "claim"), body, until), Claim.read)

    def renew_all(
        self, leases: Sequence[tuple[str, str]], *, lease_ms: int | None = None, timeout: float | None = None
    ) -> tuple[Renewal, ...]:
        """What became of each (run id, token), in order; asked once, since the heartbeat has its own rhythm."""
        body = {"leases": [{"run_id": run_id, "token": token} for run_id, token in leases], **_lease_ms(lease_ms)}
        answer = self._transport.call_once("POST", "renewals", body=body, timeout=timeout)
        renewals = _read(answer, lambda body, at: tuple(_renewal(item, at) for item in body["results"]))
        if [renewal.run_id for renewal in renewals] != [run_id for run_id, _ in leases]:
            raise ServerAway.because("the renewals in the answer are not those that were asked for")
        return renewals

    def mark_running(self, run_id: str, token: str, *, until: Deadline | None = None) -> Run:
        return self._verb(run_id, "running", {"token": token}, until)

    def park(self, run_id: str, token: str, *, until: Deadline | None = None) -> Run:
        """Hands the run back; it can be claimed at once."""
        return self._verb(run_id, "park", {"token": token}, until)

    # Ending

    def complete(self, run_id: str, token: str, output: Json = None, *, until: Deadline | None = None) -> Run:
        return self._verb(run_id, "complete", {"token": token, "output": output}, until)

    def fail(
        self,
        run_id: str,
        token: str | None = None,
        *,
        error_code: str,
        error_message: str,
        until: Deadline | None = None,
    ) -> Run:
        body = {"error_code": error_code, "error_message": error_message, **_token(token)}
        return self._verb(run_id, "fail", body, until)

    def cancel(self, run_id: str, token: str | None = None, *, until: Deadline | None = None) -> Run:
        return self._verb(run_id, "cancel", _token(token), until)

    def record_event(
        self,
        run_id: str,
        type: str,
        payload: Mapping[str, Json] | None = None,
        *,
        token: str | None = None,
        until: Deadline | None = None,
    ) -> dict[str, Any]:
        """One event of the caller's own type; a note where no lease token is given."""
        body = {"type": type, "payload": dict(payload or {}), **_token(token)}
        return self._change(_path(run_id, "events"), body, until).body

    # Attempts

    def start_attempt(
        self,
        run_id: str,
        token: str,
        *,
        node_id: str,
        attempt_id: str,
        node_type: str = "step",
        until: Deadline | None = None,
    ) -> Attempt:
        """A running attempt, or the completed one with its output where this node has been done before."""
        body = {"token": token, "node_id": node_id, "attempt_id": attempt_id, "node_type": node_type}
        return _read(self._change(_path(run_id, "attempts"), body, until), _attempt)

    def progress_attempt(self, run_id: str, token: str, attempt_id: str, progress: Json) -> Attempt:
        """Tells how far the attempt is; sent once, since the next one says more."""
        path = _path(run_id, "attempts", attempt_id, "progress")
        body = {"token": token, "progress": progress}
        return _read(self._transport.call_once("POST", path, body=body, timeout=_PROGRESS_TIMEOUT), _attempt)

    def complete_attempt(
        self, run_id: str, token: str, attempt_id: str, output: Json = None, *, until: Deadline | None = None
    ) -> Attempt:
        path = _path(run_id, "attempts", attempt_id, "complete")
        return _read(self._change(path, {"token": token, "output": output}, until), _attempt)

    def fail_attempt(
        self, run_id: str, token: str, attempt_id: str, error_message: str, *, until: Deadline | None = None
    ) -> Attempt:
        path = _path(run_id, "attempts", attempt_id, "fail")
        body = {"token": token, "error_message": error_message}
        return _read(self._change(path, body, until), _attempt)

    def _change(self, path: str, body: Mapping[str, Any], until: Deadline | None = None) -> Answer:
        return self._transport.call("POST", path, body=body, key=_key(), until=until)

    def _verb(self, run_id: str, verb: str, body: Mapping[str, Any], until: Deadline | None) -> Run:
        return _read(self._change(_path(run_id, verb), body, until), _run)


def _read(answer: Answer, shape: Callable[[dict[str, Any], float], _T]) -> _T:
    try:
        return shape(answer.body, answer.asked_at)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServerAway.because(f"the answer has not the API's shape: {error!r}") from error


def _path(run_id: str, *rest: str) -> str:
    return "/".join(["runs", quote(run_id, safe=""), *(quote(part, safe="") for part in rest)])


def _key() -> str:
    return secrets.token_urlsafe(24)


def _token(token: str | None) -> dict[str, str]:
    return {} if token is None else {"token": token}


def _lease_ms(lease_ms: int | None) -> dict[str, Any]:
    return {} if lease_ms is None else {"lease_ms": lease_ms}


def _reservation(definition: Definition, input: Json, members: Mapping[str, Json]) -> dict[str, Any]:
    return {
        "workflow_name": definition.name,
        "workflow_ref": definition.ref,
        "workflow_source": definition.source,
        "definition_digest": definition.digest,
        "definition_snapshot": definition.snapshot,
        "input": input,
        **members,
    }


def _run(body: dict[str, Any], _: float) -> Run:
    return Run.read(body)


def _attempt(body: dict[str, Any], _: float) -> Attempt:
    return Attempt.read(body)


def _claims(body: dict[str, Any], asked_at: float) -> Claims:
    return Claims(tuple(Claim.read(item, asked_at) for item in body["claims"]), body["poll_in_ms"] / 1000)


def _renewal(item: dict[str, Any], asked_at: float) -> Renewal:
    if item["ok"]:
        return Renewal(item["run_id"], Lease.read(item["lease"], asked_at), None)
    problem = item["problem"]
    return Renewal(item["run_id"], None, problem_from(problem, int(problem.get("status", 0))))
