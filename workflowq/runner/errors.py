"""What a server can answer instead of doing as asked, and what the kit tells a workflow. Nothing is sent from here."""

from collections.abc import Mapping
from typing import Any, Self


class ServerProblem(Exception):
    """The server refused; `code` is stable, `action` says what to do about it: stop, retry or mend."""

    def __init__(
        self, code: str, action: str, status: int, detail: str = "", facts: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(code, action, status, detail)
        self.code = code
        self.action = action
        self.status = status
        self.detail = detail
        self.facts: dict[str, Any] = dict(facts or {})

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code

    def again(self) -> Self:
        """A fresh exception that says the same, for raising once more."""
        return type(self)(self.code, self.action, self.status, self.detail, self.facts)


class HoldLost(ServerProblem):
    """The run is no longer this runner's: nothing more may be written for it."""


class LeaseLost(HoldLost):
    """The lease ran out, was taken over or was given back; `facts["cause"]` tells which."""


class RunCancelled(HoldLost):
    """Somebody cancelled the run."""


class RunFinished(HoldLost):
    """The run has ended already."""


class RunPaused(HoldLost):
    """Somebody paused the run; its lease is gone."""


class TryLater(ServerProblem):
    """The same call may work later."""

    @property
    def retry_after(self) -> float:
        """The seconds that the server asked to wait at least, 0 where it named none."""
        value = self.facts.get("retry_after", 0)
        return float(value) if isinstance(value, int | float) and 0 <= value < 1e6 else 0.0


class ServerAway(TryLater):
    """No answer, or none that came from the API: network trouble, a timeout, a proxy's page."""

    @classmethod
    def because(cls, detail: str) -> Self:
        return cls("server_away", "retry", 0, detail)


class WrongInput(ServerProblem):
    """The request can't be taken as it is; repeating it is of no use."""

    @property
    def errors(self) -> dict[str, Any]:
        """The complaints by field, where the server gave them."""
        value = self.facts.get("errors")
        return value if isinstance(value, dict) else {}


_BY_CODE: dict[str, type[ServerProblem]] = {
    "lease_lost": LeaseLost,
    "run_cancelled": RunCancelled,
    "run_finished": RunFinished,
    "run_paused": RunPaused,
}
_BY_ACTION: dict[str, type[ServerProblem]] = {"retry": TryLater, "mend": WrongInput}
_BUSY = frozenset({429, 500, 502, 503, 504})
_MEMBERS = frozenset({"type", "title", "status", "detail", "code", "action"})


def problem_from(document: Mapping[str, Any], status: int, retry_after: float | None = None) -> ServerProblem:
    """The exception for one problem document; a document without a code is judged by its HTTP status."""
    code = str(document.get("code") or f"http_{status}")
    action = str(document.get("action") or ("retry" if status in _BUSY else "stop"))
    detail = str(document.get("detail") or document.get("title") or "")
    facts = {name: value for name, value in document.items() if name not in _MEMBERS}
    if retry_after is not None:
        facts.setdefault("retry_after", retry_after)
    kind = _BY_CODE.get(code) or _BY_ACTION.get(action, ServerProblem)
    return kind(code, action, int(document.get("status") or status), detail, facts)


def lease_expired() -> LeaseLost:
    """What the kit raises when its own clock says that the lease has run out."""
    return LeaseLost("lease_lost", "stop", 409, "the lease ran out before it was renewed", {"cause": "expired"})


class Drained(BaseException):
    """The runner is stopping; the run is handed back at this boundary and goes on elsewhere.

    Not an Exception, so that a workflow's own `except Exception` doesn't take it for a failed step.
    """


class KitError(Exception):
    """The kit was used in a way that it doesn't allow."""


class NodeRepeated(KitError):
    """A node id was used twice in one run, which would give the second step the first one's output."""


class WorkflowUnusable(KitError):
    """A function can't be served as a workflow."""


class SettingsWrong(KitError):
    """An option, environment variable or file doesn't hold what it should."""
