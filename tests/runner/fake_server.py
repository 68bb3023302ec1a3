"""A server that plays the wire of `/api/v1/` from memory: enough of the rules for the kit's tests, no database.

Trouble can be ordered for calls to come: `lose` does the work and drops the answer, `away` drops the call, `answer`
puts something else in its place; `meanwhile` is called between the work and its answer.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.runner.fake_clock import FakeClock
from tests.runner.fake_run import TERMINAL, FakeRun, detail
from workflowq.runner import Client, Definition
from workflowq.runner.clock import ticks

TOKEN = "wq_" + "t" * 43


class Refused(Exception):
    def __init__(self, status: int, code: str, action: str, **facts: Any) -> None:
        self.status, self.body = status, {"status": status, "code": code, "action": action, "detail": code, **facts}


@dataclass
class Call:
    method: str
    path: str
    body: Any
    headers: httpx.Headers
    params: dict[str, str]


@dataclass
class Trouble:
    path_end: str
    kind: str
    response: httpx.Response | None = None


class FakeServer:
    def __init__(self, clock: Callable[[], float] = ticks) -> None:
        self.clock = clock
        self.runs: dict[str, FakeRun] = {}
        self.calls: list[Call] = []
        self.troubles: list[Trouble] = []
        self.down = False
        self.renew_fraction = 3
        self.meanwhile: Callable[[str], None] = lambda path: None
        self._receipts: dict[str, tuple[int, Any]] = {}
        self._mutex = threading.RLock()

    # What a test orders and looks at

    def reserve(self, run_id: str, definition: Definition, input: Any = None) -> FakeRun:
        run = FakeRun(run_id, definition.name, definition.digest, input)
        self.runs[run_id] = run
        return run

    def lose(self, path_end: str) -> None:
        self.troubles.append(Trouble(path_end, "lose"))

    def away(self, path_end: str, times: int = 1) -> None:
        self.troubles += [Trouble(path_end, "away")] * times

    def answer(self, path_end: str, response: httpx.Response) -> None:
        self.troubles.append(Trouble(path_end, "answer", response))

    def said(self, path_end: str) -> list[Call]:
        return [call for call in self.calls if call.path.endswith(path_end)]

    def client(self, clock: FakeClock | None = None, timeout: float = 10.0) -> Client:
        through = httpx.MockTransport(self.handle)
        if clock is None:
            return Client("http://queue.test", TOKEN, through=through, timeout=timeout)
        return Client("http://queue.test", TOKEN, through=through, timeout=timeout, clock=clock, sleep=clock.sleep)

    # The wire

    def handle(self, request: httpx.Request) -> httpx.Response:
        with self._mutex:
            body = json.loads(request.content) if request.content else None
            path = request.url.path.removeprefix("/api/v1/")
            self.calls.append(Call(request.method, path, body, request.headers, dict(request.url.params)))
            if self.down:
                raise httpx.ConnectError("connection refused", request=request)
            trouble = next((one for one in self.troubles if path.endswith(one.path_end)), None)
            if trouble is not None:
                self.troubles.remove(trouble)
                if trouble.kind == "away":
                    raise httpx.ConnectError("connection refused", request=request)
                if trouble.response is not None:
                    return trouble.response
            response = self._answer(request, path, body)
            self.meanwhile(path)
            if trouble is not None and trouble.kind == "lose":
                raise httpx.ReadTimeout("no answer in time", request=request)
            return response

    def _answer(self, request: httpx.Request, path: str, body: Any) -> httpx.Response:
        key = request.headers.get("Idempotency-Key")
        if key in self._receipts:
            status, answer = self._receipts[key]
            return httpx.Response(status, json=answer, headers={"Idempotency-Replayed": "true"})
        try:
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                raise Refused(401, "unauthenticated", "stop")
            status, answer = self._route(request.method, path.split("/"), body, dict(request.url.params))
        except Refused as refused:
            headers = {"Content-Type": "application/problem+json"}
            return httpx.Response(refused.status, content=json.dumps(refused.body), headers=headers)
        if key is not None:
            self._receipts[key] = (status, answer)
        return httpx.Response(status, json=answer)

    def _route(self, method: str, path: list[str], body: Any, params: dict[str, str]) -> tuple[int, Any]:
        match method, path:
            case "POST", ["claims"]:
                return 200, self._claims(body)
            case "POST", ["renewals"]:
                return 200, {"results": [self._renewal(one, body.get("lease_ms")) for one in body["leases"]]}
            case "GET", ["runs"]:
                return 200, self._list(params)
            case "PUT", ["runs", run_id]:
                return self._adopt(run_id, body)
            case "GET", ["runs", run_id]:
                return 200, detail(self._find(run_id))
            case "POST", ["runs", run_id, "attempts"]:
                return self._start_attempt(self._held(run_id, body["token"]), body)
            case "POST", ["runs", run_id, "attempts", attempt_id, verb]:
                return 200, self._attempt(self._held(run_id, body["token"]), attempt_id, verb, body)
            case "POST", ["runs", run_id, verb]:
                return self._verb(run_id, verb, body)
        raise Refused(404, "not_found", "stop")

    def _adopt(self, run_id: str, body: Any) -> tuple[int, Any]:
        if run_id in self.runs:
            return 200, {"state": "adopted", "run": detail(self.runs[run_id])}
        run = FakeRun(run_id, body["workflow_name"], body["definition_digest"], body["input"], members=body)
        self.runs[run_id] = run
        return 201, {"state": "reserved", "run": detail(run)}

    def _list(self, params: dict[str, str]) -> Any:
        name, status = params.get("workflow_name"), params.get("status")
        found = [run for run in self.runs.values() if run.workflow_name == name and run.status == status]
        return {"results": [detail(run) for run in found], "next": None, "limit": int(params["limit"])}

    def _claims(self, body: Any) -> Any:
        claims = []
        for slot, token in enumerate(body["tokens"]):
            run = self._claimable(token, body)
            if run is None:
                continue
            if run.token != token or run.ends <= self.clock():
                run.generation += 1
                run.token, run.lease_ms = token, body["lease_ms"]
                run.ends = self.clock() + run.lease_ms / 1000
            claims.append({"slot": slot, "run": detail(run), "lease": self._lease(run)})
        return {"claims": claims, "poll_in_ms": 200}

    def _claimable(self, token: str, body: Any) -> FakeRun | None:
        mine = next((run for run in self.runs.values() if run.token == token and run.ends > self.clock()), None)
        if mine is not None:
            return mine
        for run in self.runs.values():
            free = run.token is None or run.ends <= self.clock()
            wanted = run.workflow_name in body["workflows"] and run.run_id not in body.get("exclude_run_ids", [])
            if free and wanted and run.status not in TERMINAL and not run.paused:
                return run
        return None

    def _renewal(self, one: Any, lease_ms: int | None) -> Any:
        try:
            run = self._held(one["run_id"], one["token"])
        except Refused as refused:
            return {"run_id": one["run_id"], "ok": False, "problem": refused.body}
        run.lease_ms = lease_ms or run.lease_ms
        run.ends = self.clock() + run.lease_ms / 1000
        return {"run_id": run.run_id, "ok": True, "lease": self._lease(run)}

    def _verb(self, run_id: str, verb: str, body: Any) -> tuple[int, Any]:
        run = self._held(run_id, body["token"])
        if verb == "events":
            run.events.append({"type": body["type"], "payload": body["payload"]})
            return 201, {"seq": len(run.events), **run.events[-1]}
        if verb == "running":
            run.status = "running"
        elif verb == "park":
            run.parked, run.token = run.parked + 1, None
        elif verb == "complete":
            run.status, run.output, run.token = "completed", body["output"], None
        elif verb == "fail":
            run.status, run.token = "failed", None
            run.error_code, run.error_message = body["error_code"], body["error_message"]
        return 200, detail(run)

    def _start_attempt(self, run: FakeRun, body: Any) -> tuple[int, Any]:
        before = run.attempts.get(body["node_id"])
        if before is not None and (before["status"] == "completed" or before["attempt_id"] == body["attempt_id"]):
            return 200, before
        number = 1 if before is None else before["attempt_number"] + 1
        attempt = {
            "attempt_id": body["attempt_id"],
            "node_id": body["node_id"],
            "attempt_number": number,
            "status": "running",
            "output": None,
            "progress": [],
        }
        run.attempts[body["node_id"]] = attempt
        return 201, attempt

    def _attempt(self, run: FakeRun, attempt_id: str, verb: str, body: Any) -> Any:
        attempt = next(one for one in run.attempts.values() if one["attempt_id"] == attempt_id)
        if verb == "progress":
            attempt["progress"].append(body["progress"])
        elif verb == "complete":
            attempt |= {"status": "completed", "output": body["output"]}
        else:
            attempt |= {"status": "failed", "error_message": body["error_message"]}
        return attempt

    def _find(self, run_id: str) -> FakeRun:
        if run_id not in self.runs:
            raise Refused(404, "not_found", "stop")
        return self.runs[run_id]

    def _held(self, run_id: str, token: str) -> FakeRun:
        run = self._find(run_id)
        if run.status in TERMINAL:
            code = "run_cancelled" if run.status == "cancelled" else "run_finished"
            raise Refused(409, code, "stop")
        if run.paused:
            raise Refused(409, "run_paused", "stop")
        if run.token != token or run.ends <= self.clock():
            raise Refused(409, "lease_lost", "stop", cause="superseded" if run.token != token else "expired")
        return run

    def _lease(self, run: FakeRun) -> Any:
        return {
            "generation": run.generation,
            "owner_type": "host",
            "owner_id": "host-test",
            "acquired_at": "2026-12-01T03:00:00.000Z",
            "expires_at": "2026-12-01T03:00:30.000Z",
            "lease_ms": run.lease_ms,
            "lease_remaining_ms": int((run.ends - self.clock()) * 1000),
            "renew_in_ms": run.lease_ms // self.renew_fraction,
        }
