"""What the model of the queue remembers: plain values, times as milliseconds since the walk began. No verbs here.

An independent statement of docs/operations.md: of the product it borrows nothing but the names of statuses and codes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runs.states import DisplayStatus, EffectStatus, ErrorCode, LostRunner, QueueStatus, RunStatus, Wish
from tests.model.dependents import Attempt, Decision, Effect, Message, Request, Turn

RUN_OVER = {RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED}
HELD_BACK = {ErrorCode.WORKFLOW_SOURCE_CHANGED, ErrorCode.RUNNER_NO_PROGRESS, ErrorCode.RUNNER_LOST}


class Refused(Exception):
    """A verb was refused, with the code that callers are told; `cause` of a lost lease."""

    def __init__(self, code: str, cause: str | None = None) -> None:
        super().__init__(code if cause is None else f"{code}: {cause}")


@dataclass
class Intent:
    """What an operator wishes of a holder, and when it happens in any case."""

    wish: Wish
    due_at: int


@dataclass
class Lease:
    """Who holds a run. `swept_token` is of the owner whose expired lease a sweep has released."""

    generation: int = 0
    owner_id: str | None = None
    token: str | None = None
    expires_at: int | None = None
    swept_token: str | None = None
    progressed: bool = False
    backoff_ms: int = 0
    retry_at: int | None = None
    intent: Intent | None = None

    def is_live(self, now: int) -> bool:
        return self.expires_at is not None and self.expires_at > now

    def has_expired(self, now: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    @property
    def takeover_at(self) -> int | None:
        return None if self.expires_at is None else self.expires_at + self.backoff_ms

    def rests_until(self, now: int) -> int | None:
        """Until when a backoff keeps everybody away."""
        ends = [self.retry_at, self.takeover_at if self.backoff_ms and self.has_expired(now) else None]
        return max((end for end in ends if end is not None), default=None)

    def is_overruled(self, now: int) -> bool:
        """Whether a wish has reached its deadline."""
        return self.intent is not None and self.intent.due_at <= now

    def has_intent_due(self, now: int) -> bool:
        """Whether a wish is to be carried out: at its deadline, or since nobody is there to follow it."""
        return self.intent is not None and (self.intent.due_at <= now or not self.is_live(now))

    def release(self) -> None:
        self.owner_id = self.token = self.expires_at = self.swept_token = None


@dataclass
class Order:
    """What a run was reserved with; all of it but the priority counts when it is adopted."""

    workflow: str
    session_id: str
    input: str
    is_interactive: bool
    priority: int
    snapshot: str = "as ever"
    parent_id: str | None = None
    lineage_kind: str | None = None
    restart_number: int | None = None
    parent_revision: int | None = None


@dataclass
class Run:
    """A run with all that hangs on it. `number` is its place in the order of reserving."""

    run_id: str
    number: int
    order: Order
    lost_runner: LostRunner
    restart_number: int
    available_at: int
    status: RunStatus = RunStatus.QUEUED
    queue_status: QueueStatus = QueueStatus.QUEUED
    paused: bool = False
    parked_by_pause: bool = False
    revision: int = 1
    error_code: str | None = None
    crashes: int = 0
    lease: Lease = field(default_factory=Lease)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    messages: dict[str, Message] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.status in RUN_OVER

    @property
    def is_asked(self) -> bool:
        """Whether it waits for a session's answer."""
        return any(request.is_pending for request in self.requests.values())

    @property
    def is_undecided(self) -> bool:
        return any(decision.outcome is None for decision in self.decisions.values())

    @property
    def is_in_doubt(self) -> bool:
        return any(effect.status == EffectStatus.AMBIGUOUS for effect in self.effects.values())

    @property
    def ready_at(self) -> int | None:
        """When it may be handed out were nobody holding it; None while it may not."""
        waits = (self.queue_status, self.status) == (QueueStatus.PARKED, RunStatus.WAITING)
        if self.is_over or self.paused or self.is_asked or waits or self.error_code in HELD_BACK:
            return None
        return max(self.available_at, self.lease.retry_at or 0)

    @property
    def display_status(self) -> DisplayStatus:
        if self.is_over:
            return DisplayStatus(self.status)
        if self.paused:
            return DisplayStatus.PAUSED
        if self.is_in_doubt or self.error_code == ErrorCode.EFFECT_AMBIGUOUS:
            return DisplayStatus.AMBIGUOUS
        return DisplayStatus(self.status)

    def stop_clocks(self) -> None:
        for attempt in self.attempts.values():
            attempt.is_counting = False

    def progress(self) -> None:
        """Something was done under this generation: no crash counts any more."""
        self.crashes = self.lease.backoff_ms = 0
        self.lease.progressed, self.lease.retry_at = True, None


@dataclass
class Queue:
    """All runs of one project by id, and the clock.

    `spread` says how long the product lets a run rest: within a quarter of the rule either way that is its own choice.
    """

    spread: Callable[[str], int]
    now: int = 0
    runs: dict[str, Run] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    reserved: int = 0

    def find(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise Refused("not_found")
        return self.runs[run_id]

    def in_order(self) -> Iterator[Run]:
        """Runs in the order in which they were reserved."""
        return iter(sorted(self.runs.values(), key=lambda run: run.number))

    def moments(self) -> list[int]:
        """When time alone is going to change something, the next one first."""
        found: set[int | None] = set()
        for run in self.runs.values():
            lease = run.lease
            found |= {lease.expires_at, lease.takeover_at, lease.retry_at, run.available_at}
            found |= {lease.intent.due_at if lease.intent else None}
            found |= {effect.next_at for effect in run.effects.values()}
            found |= {decision.deadline_at for decision in run.decisions.values()}
        return sorted(moment for moment in found if moment is not None and moment > self.now)
