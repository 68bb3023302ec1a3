"""Who calls the API in these tests, and the runs they call about, all made over the wire."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from django.test import Client

from runs.models import Project
from runs.states import Scope
from runs.transitions import issue_access_token
from tests.builders import SOURCE, digest_of

ROOT = "/api/v1/"
LEASE_MS = 30_000
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: Any
    headers: Mapping[str, str]
    content: bytes

    @property
    def code(self) -> str | None:
        """The problem's code; none where there was no problem."""
        return self.body.get("code") if isinstance(self.body, dict) else None

    @property
    def problem(self) -> tuple[int, str]:
        """Status and code of a refusal."""
        assert self.headers["Content-Type"] == "application/problem+json", self.content
        return self.status, self.body["code"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with an access token, or without."""

    secret: str | None = None
    owner_id: str = "host-a"
    http: Client = field(default_factory=Client)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        key: str | None = None,
        **headers: Any,
    ) -> Reply:
        """One request. A body of bytes goes out as it is, anything else as JSON; `path` is below /api/v1/ or whole."""
        if self.secret is not None:
            headers.setdefault("HTTP_AUTHORIZATION", f"Bearer {self.secret}")
        if key is not None:
            headers["HTTP_IDEMPOTENCY_KEY"] = key
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        path = path if path.startswith("/") else ROOT + path
        response = self.http.generic(method, path, data, content_type, **headers)
        content = response.content
        is_json = content and "json" in response.headers.get("Content-Type", "")
        return Reply(response.status_code, json.loads(content) if is_json else None, response.headers, content)

    def get(self, path: str, **more: Any) -> Reply:
        return self.send("GET", path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Reply:
        return self.send("POST", path, body, **more)

    def put(self, path: str, body: object = None, **more: Any) -> Reply:
        return self.send("PUT", path, body, **more)

    # What most tests need before they begin; each asserts that it went well.

    def reserve(self, **changes: Any) -> str:
        """The id of a new run."""
        body = reservation(**changes)
        assert self.post("runs", body).status == 201
        return str(body["run_id"])

    def claim(self, run_id: str, *, lease_ms: int = LEASE_MS) -> str:
        """The token that holds this run now."""
        token = fresh_token()
        body = {"owner_id": self.owner_id, "token": token, "lease_ms": lease_ms}
        assert self.post(f"runs/{run_id}/claim", body).status == 200
        return token

    def run(self, run_id: str, *, lease_ms: int = LEASE_MS) -> str:
        """The token that holds this run, which is marked running."""
        token = self.claim(run_id, lease_ms=lease_ms)
        assert self.post(f"runs/{run_id}/running", {"token": token}).status == 200
        return token


def caller(project: Project, *scopes: Scope, name: str, owner_id: str = "host-a") -> Caller:
    """Somebody with a new access token of the project."""
    _, secret = issue_access_token(project, name, scopes)
    return Caller(secret, owner_id)


def fresh_token() -> str:
    """A lease token that nobody has had."""
    return secrets.token_urlsafe(32)


def reservation(**changes: Any) -> dict[str, Any]:
    """A body that reserves a run of an id and a session of its own."""
    number = next(_numbers)
    name = changes.get("workflow_name", "inventory")
    return {
        "run_id": f"run-{number}",
        "workflow_name": name,
        "workflow_ref": "inventory@1",
        "workflow_source": SOURCE,
        "definition_digest": digest_of(str(name)),
        "definition_snapshot": {"name": name},
        "origin_session_id": f"session-{number}",
        **changes,
    }
