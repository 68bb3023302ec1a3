"""The statuses of a run, their sets, and the one table of which verb is allowed where.

Everything that asks "may this happen now?" (rules, buttons, tests) reads the table here.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class RunStatus(StrEnum):
    """How execution stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class QueueStatus(StrEnum):
    """How scheduling stands."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class DisplayStatus(StrEnum):
    """What a person is shown: derived from both axes, stored nowhere."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    AMBIGUOUS = "ambiguous"


class AttemptStatus(StrEnum):
    """How one try of one node stands."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class ExecutionMode(StrEnum):
    INTERACTIVE = "interactive"
    HEADLESS = "headless"


class LineageKind(StrEnum):
    RESTART = "restart"


class OwnerType(StrEnum):
    """Who may hold a lease; `system` only for what the server does itself."""

    SESSION = "session"
    HOST = "host"
    SYSTEM = "system"


class ActorType(StrEnum):
    """Who an event says did it."""

    SESSION = "session"
    HOST = "host"
    HUMAN = "human"
    POLICY = "policy"
    CONTROL = "control"
    SYSTEM = "system"


class AggregateKind(StrEnum):
    """What a revision counts."""

    RUN = "run"
    EFFECT = "effect"
    DECISION = "decision"


class Scope(StrEnum):
    """What an access token may do."""

    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    RUNS_EXECUTE = "runs:execute"
    RUNS_CONTROL = "runs:control"
    DECISIONS_ANSWER = "decisions:answer"


class Priority(IntEnum):
    """Lower numbers are claimed first."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


class ErrorCode(StrEnum):
    """Codes that the queue itself writes on a run; a runner's own codes are free text."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timedOut"
    WORKFLOW_SOURCE_CHANGED = "workflowSourceChanged"
    RUNNER_NO_PROGRESS = "runnerNoProgress"
    EFFECT_AMBIGUOUS = "effectAmbiguous"


RUN_TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED})
RUN_OPEN = frozenset(RunStatus) - RUN_TERMINAL
QUEUE_TERMINAL = frozenset({QueueStatus.DONE, QueueStatus.FAILED, QueueStatus.CANCELLED})
QUEUE_OPEN = frozenset(QueueStatus) - QUEUE_TERMINAL
ATTEMPT_OPEN = frozenset(
    {AttemptStatus.PENDING, AttemptStatus.RUNNING, AttemptStatus.WAITING, AttemptStatus.INTERRUPTED}
)
ATTEMPT_TERMINAL = frozenset(AttemptStatus) - ATTEMPT_OPEN
# Parked with one of these, a run is handed out again only after somebody said so.
HELD_BACK_CODES = frozenset({ErrorCode.WORKFLOW_SOURCE_CHANGED, ErrorCode.RUNNER_NO_PROGRESS})


class LeaseNeed(StrEnum):
    """What a verb asks of the lease."""

    HELD = "held by the caller"
    NOT_LIVE = "not live, or one's own and reclaimed"
    UNOWNED = "no owner on record"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table: where a verb is allowed and where it ends. None as an end means: stays."""

    name: str
    lease: LeaseNeed
    run: frozenset[RunStatus] = frozenset(RunStatus)
    queue: frozenset[QueueStatus] = frozenset(QueueStatus)
    takes_paused: bool = True
    ends_run: RunStatus | None = None
    ends_queue: QueueStatus | None = None


_NOT_YET_BEGUN = frozenset({QueueStatus.QUEUED, QueueStatus.STARTING})

CLAIM = Verb("claim", LeaseNeed.NOT_LIVE, queue=QUEUE_OPEN, takes_paused=False, ends_queue=QueueStatus.STARTING)
RENEW = Verb("renew", LeaseNeed.HELD)
MARK_RUNNING = Verb("mark_running", LeaseNeed.HELD, ends_queue=QueueStatus.RUNNING)
PARK = Verb("park", LeaseNeed.HELD, ends_queue=QueueStatus.PARKED)
COMPLETE = Verb("complete", LeaseNeed.HELD, RUN_OPEN, ends_run=RunStatus.COMPLETED, ends_queue=QueueStatus.DONE)
FAIL = Verb("fail", LeaseNeed.HELD, RUN_OPEN, QUEUE_OPEN, ends_run=RunStatus.FAILED, ends_queue=QueueStatus.FAILED)
FAIL_UNOWNED = Verb(
    "fail_unowned",
    LeaseNeed.UNOWNED,
    RUN_OPEN,
    _NOT_YET_BEGUN,
    ends_run=RunStatus.FAILED,
    ends_queue=QueueStatus.FAILED,
)
CANCEL_HELD = Verb(
    "cancel_held", LeaseNeed.HELD, RUN_OPEN, QUEUE_OPEN, ends_run=RunStatus.CANCELLED, ends_queue=QueueStatus.CANCELLED
)
CANCEL_UNOWNED = Verb(
    "cancel_unowned",
    LeaseNeed.UNOWNED,
    RUN_OPEN,
    _NOT_YET_BEGUN,
    ends_run=RunStatus.CANCELLED,
    ends_queue=QueueStatus.CANCELLED,
)
CANCEL_STALE = Verb(
    "cancel_stale",
    LeaseNeed.NOT_LIVE,
    RUN_OPEN,
    QUEUE_OPEN,
    ends_run=RunStatus.CANCELLED,
    ends_queue=QueueStatus.CANCELLED,
)
CANCEL = Verb(
    "cancel", LeaseNeed.ANY, RUN_OPEN, QUEUE_OPEN, ends_run=RunStatus.CANCELLED, ends_queue=QueueStatus.CANCELLED
)
RECORD_EVENT = Verb("record_event", LeaseNeed.HELD)
WRITE_ATTEMPT = Verb("write_attempt", LeaseNeed.HELD, frozenset({RunStatus.RUNNING}), QUEUE_OPEN)

VERBS = {
    verb.name: verb
    for verb in (
        CLAIM,
        RENEW,
        MARK_RUNNING,
        PARK,
        COMPLETE,
        FAIL,
        FAIL_UNOWNED,
        CANCEL_HELD,
        CANCEL_UNOWNED,
        CANCEL_STALE,
        CANCEL,
        RECORD_EVENT,
        WRITE_ATTEMPT,
    )
}
