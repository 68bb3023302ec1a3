"""HTTP exchanges until the server has answered: headers, JSON, deadlines and repeats. Knows no verbs."""

import ipaddress
import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from workflowq.runner.backoff import Backoff
from workflowq.runner.clock import Deadline, Ticks, ticks
from workflowq.runner.errors import ServerAway, ServerProblem, TryLater, WrongInput, problem_from

PATIENCE_SECONDS = 30.0
_CONFLICT = 409
_FAULTY_TRIES = 5
_KEEPALIVE_SECONDS = 4.0  # shorter than what common servers keep an idle connection for
_LONGEST_WAIT = 5.0
_SHORTEST_WAIT = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object and the tick from before the request that brought it."""

    body: dict[str, Any]
    asked_at: float
    replayed: bool


class Transport:
    """Sends JSON with the bearer token; safe to share between threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        through: httpx.BaseTransport | None = None,
        clock: Ticks = ticks,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        base = _base(url)
        self.timeout = timeout
        self.clock = clock
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=base,
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json, application/problem+json"},
            limits=httpx.Limits(max_connections=None, keepalive_expiry=_KEEPALIVE_SECONDS),
            trust_env=not _is_loopback(base.host),  # a proxy set for the outer world can't reach this machine's own
            transport=through,
        )

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        params: Mapping[str, str | int] | None = None,
        key: str | None = None,
        until: Deadline | None = None,
    ) -> Answer:
        """The answer, asked for again after trouble until the deadline; raises the ServerProblem that ended it."""
        request = self._request(method, path, body, params, key)
        end = until or _fixed(self.clock() + PATIENCE_SECONDS)
        backoff = Backoff(cap=_LONGEST_WAIT)
        trouble: TryLater = ServerAway.because("no time was left for this call")
        while (left := end() - self.clock()) > 0:
            try:
                return self._exchange(request, min(self.timeout, left))
            except TryLater as problem:
                trouble = problem
                self._wait_or_give_up(problem, backoff, end)
        raise trouble

    def call_once(self, method: str, path: str, *, body: object, timeout: float | None = None) -> Answer:
        """One try, for callers whose own loop decides what comes after trouble."""
        seconds = self.timeout if timeout is None else min(timeout, self.timeout)
        return self._exchange(self._request(method, path, body, None, None), seconds)

    def _wait_or_give_up(self, problem: TryLater, backoff: Backoff, end: Deadline) -> None:
        if problem.status == _CONFLICT:  # an answer about the run, not trouble: the caller decides whether to wait
            raise problem
        if problem.code == "internal_error" and backoff.failures + 1 >= _FAULTY_TRIES:
            raise problem
        wait = backoff.next(problem.retry_after)
        left = max(0.0, end() - self.clock())
        # Never past the end, so that the last try still has time; the very last moment is waited out, no longer used.
        self._sleep(min(wait, left / 2) if left > _SHORTEST_WAIT else left)

    def _request(
        self, method: str, path: str, body: object, params: Mapping[str, str | int] | None, key: str | None
    ) -> httpx.Request:
        headers = {"Idempotency-Key": key} if key else {}
        content: bytes | None = None
        if body is not None:
            content = _encode(body)
            headers["Content-Type"] = "application/json"
        return self._http.build_request(method, path, content=content, params=params, headers=headers)

    def _exchange(self, request: httpx.Request, seconds: float) -> Answer:
        request.extensions = {**request.extensions, "timeout": httpx.Timeout(seconds).as_dict()}
        asked_at = self.clock()
        try:
            response = self._http.send(request)
        except httpx.RequestError as error:
            raise ServerAway.because(f"{type(error).__name__}: {error}") from error
        document = _decode(response)
        if response.is_success:
            if document is None:
                raise ServerAway.because(f"something other than the API answered at {request.url.host}")
            return Answer(document, asked_at, response.headers.get("Idempotency-Replayed") == "true")
        raise _problem(response, document)


def _base(url: str) -> httpx.URL:
    try:
        base = httpx.URL(url.rstrip("/") + "/api/v1/")
    except httpx.InvalidURL as error:
        raise ValueError(f"not an address: {error}") from None
    if base.scheme not in ("http", "https") or not base.host or base.userinfo:
        raise ValueError("the server's address must look like http://host:port, with no name or password in it")
    return base


def _fixed(tick: float) -> Deadline:
    return lambda: tick


def _encode(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, which only an escape can spell: the server says what is wrong with it, and where.
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongInput("invalid_json", "mend", 0, f"this can't be sent as JSON: {error}") from None


def _decode(response: httpx.Response) -> dict[str, Any] | None:
    try:
        document = json.loads(response.content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _problem(response: httpx.Response, document: dict[str, Any] | None) -> ServerProblem:
    if document is None and response.status_code in (502, 503, 504):
        return ServerAway("server_away", "retry", response.status_code, "a server in between has no answer")
    after = _retry_after(response.headers.get("Retry-After", ""))
    return problem_from(document or {"detail": response.reason_phrase}, response.status_code, after)


def _retry_after(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
