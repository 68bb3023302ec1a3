"""Runs that wait for sessions and people, made over the wire, and the persons who answer."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group, User

from runs.models import Project
from runs.states import Scope
from runs.transitions import issue_access_token
from tests.api.cast import Caller, Reply, fresh_token
from tests.builders import Picture, snapshot_of_everything

SESSION = "session of the request"
CHOICES = [{"id": "yes", "label": "Delete them"}, {"id": "no", "label": "Leave them"}]


def person(project: Project, username: str, *groups: str, is_active: bool = True) -> Caller:
    """Somebody with an account, who answers decisions and looks at runs."""
    user = User.objects.create_user(username, is_active=is_active)
    user.groups.set([Group.objects.get_or_create(name=name)[0] for name in groups])
    scopes = [Scope.RUNS_READ, Scope.DECISIONS_ANSWER]
    return Caller(issue_access_token(project, f"token of {username}", scopes, user=user)[1])


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits, and the token of its holder."""

    runner: Caller
    run_id: str
    token: str

    @property
    def path(self) -> str:
        return f"runs/{self.run_id}"

    def post(self, path: str, **body: Any) -> Reply:
        """What the holder does."""
        return self.runner.post(f"{self.path}/{path}", {"token": self.token, **body})

    def raise_request(self, request_id: str = "q1", **more: Any) -> Reply:
        body = {"request_id": request_id, "attempt_id": "a1", "target_session_id": SESSION}
        return self.post("requests", **{**body, **more})

    def ask(self, decision_id: str = "d1", **more: Any) -> Reply:
        return self.post("decisions", **{"decision_id": decision_id, "title": "Delete?", "choices": CHOICES, **more})

    def park(self) -> None:
        assert self.post("park").status == 200

    def submit(self, client: Caller, submission_id: str = "s1", **more: Any) -> Reply:
        body = {"submission_id": submission_id, "session_id": SESSION, "request_revision": 1, "payload": "an answer"}
        return client.post(f"{self.path}/requests/q1/submissions", {**body, **more})

    def answer(
        self, by: Caller, choice: str = "yes", *, decision_id: str = "d1", key: str | None = None, **more: Any
    ) -> Reply:
        path = f"{self.path}/decisions/{decision_id}"
        digest = self.runner.get(path).body["request_digest"]
        return by.post(f"{path}/answer", {"choice": choice, "request_digest": digest, **more}, key=key)


def rows() -> Picture:
    """All that is stored, but for when access tokens were used."""
    return {table: rows for table, rows in snapshot_of_everything().items() if table != "runs_accesstoken"}


def held(client: Caller, runner: Caller) -> Waiting:
    """A running run with the open attempt `a1`."""
    run_id = client.reserve()
    waiting = Waiting(runner, run_id, runner.run(run_id))
    assert waiting.post("attempts", node_id="node", attempt_id="a1").status == 201
    return waiting


def raised(client: Caller, runner: Caller) -> Waiting:
    """Parked, with the request `q1`."""
    waiting = held(client, runner)
    assert waiting.raise_request(contract={"type": "text"}).status == 201
    waiting.park()
    return waiting


def asked(client: Caller, runner: Caller, **more: Any) -> Waiting:
    """Parked, with the decision `d1`."""
    waiting = held(client, runner)
    assert waiting.ask(**more).status == 201
    waiting.park()
    return waiting


def validations(runner: Caller, tokens: int = 1, **more: Any) -> tuple[list[str], Reply]:
    """Fresh tokens, and what they claimed for validation."""
    secrets = [fresh_token() for _ in range(tokens)]
    body = {"owner_id": runner.owner_id, "workflows": ["inventory"], "tokens": secrets, **more}
    return secrets, runner.post("validations", body)
