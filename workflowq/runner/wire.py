"""The server's answers as typed values. Shapes only: what is asked, and when, is the client's part."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from workflowq.runner.errors import ServerProblem

Json: TypeAlias = Any
"""Whatever JSON can hold."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the server tells it; times are its texts (UTC). The last four are absent from brief answers."""

    run_id: str
    workflow_name: str
    workflow_ref: str
    definition_digest: str
    status: str
    queue_status: str
    display_status: str
    paused: bool
    revision: int
    created_at: str
    status_detail: str | None = None
    priority: str = "normal"
    error_code: str | None = None
    error_message: str | None = None
    origin_session_id: str | None = None
    execution_mode: str | None = None
    parent_run_id: str | None = None
    root_run_id: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    workflow_source: Json = None
    input: Json = None
    launch_options: Json = None
    output: Json = None

    @property
    def unfinished(self) -> bool:
        return self.status in ("queued", "running", "waiting")

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{name: document[name] for name in cls.__slots__ if name in document})


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as granted; its end is counted on the caller's own clock from before the request was sent."""

    generation: int
    owner_id: str
    expires_at: str
    lease_ms: int
    lease_remaining_ms: int
    renew_in_ms: int
    asked_at: float

    @property
    def ends(self) -> float:
        """The tick at which the holder has to take the lease for gone."""
        return self.asked_at + self.lease_remaining_ms / 1000

    @property
    def renews(self) -> float:
        """The tick at which to renew."""
        return self.asked_at + self.renew_in_ms / 1000

    @classmethod
    def read(cls, document: Mapping[str, Any], asked_at: float) -> Self:
        names = (name for name in cls.__slots__ if name != "asked_at")
        return cls(**{name: document[name] for name in names}, asked_at=asked_at)


@dataclass(frozen=True, slots=True)
class Claim:
    """One run handed to this caller; `slot` is the index of the token that holds it."""

    slot: int
    run: Run
    lease: Lease
    definition_snapshot: Json = None

    @classmethod
    def read(cls, document: Mapping[str, Any], asked_at: float) -> Self:
        run = document["run"]
        lease = Lease.read(document["lease"], asked_at)
        return cls(int(document.get("slot", 0)), Run.read(run), lease, run.get("definition_snapshot"))


@dataclass(frozen=True, slots=True)
class Claims:
    """The answer to one claim call; `poll_in` is the server's wish in seconds for the next one."""

    claims: tuple[Claim, ...]
    poll_in: float


@dataclass(frozen=True, slots=True)
class Renewal:
    """What became of one lease in a renewal: either a lease or the problem that ended it."""

    run_id: str
    lease: Lease | None
    problem: ServerProblem | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at one node of a run."""

    attempt_id: str
    node_id: str
    attempt_number: int
    status: str
    output: Json = None
    error_message: str | None = None

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{name: document[name] for name in cls.__slots__ if name in document})


@dataclass(frozen=True, slots=True)
class Reservation:
    """A run that was reserved, or adopted because it was there already."""

    run: Run
    adopted: bool


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, newest run first."""

    runs: tuple[Run, ...]
    next_cursor: str | None
