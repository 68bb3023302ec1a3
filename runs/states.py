"""The statuses of a run and of what hangs on it, their sets, and the queue's own codes."""

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


class EffectStatus(StrEnum):
    """How an effect of the outbox stands."""

    PENDING = "pending"
    APPLYING = "applying"
    APPLIED = "applied"
    REJECTED = "rejected"
    AMBIGUOUS = "ambiguous"  # nobody knows whether it happened; only a person may say
    CANCELLED = "cancelled"


class EffectOutcome(StrEnum):
    """How one try of an effect ended."""

    APPLIED = "applied"
    REJECTED = "rejected"
    AMBIGUOUS = "ambiguous"
    INTERRUPTED = "interrupted"


class RequestStatus(StrEnum):
    PENDING = "pending"
    SETTLED = "settled"
    CANCELLED = "cancelled"


class SubmissionOutcome(StrEnum):
    VALIDATING = "validating"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class DecisionOutcome(StrEnum):
    ACCEPTED = "accepted"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class DecisionProvenance(StrEnum):
    """By whom a decision was resolved."""

    HUMAN = "human"
    POLICY = "policy"
    EXPLICIT_CANCEL = "explicit_cancel"


class AnswerOutcome(StrEnum):
    """What became of a person's answer to a decision."""

    COUNTED = "counted"
    LATE = "late"  # the decision was over already
    VOID = "void"  # the decision was changed after it


class MessageKind(StrEnum):
    STEP = "step"
    DECISION = "decision"
    NOTIFICATION = "notification"
    TERMINAL = "terminal"
    FOLLOW_UP = "followUp"


class MessageStatus(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    CANCELLED = "cancelled"


class StopReason(StrEnum):
    """Why a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"  # nobody knows, or the run ended under it


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


class Wish(StrEnum):
    """What an operator may wish of a live holder."""

    PAUSE = "pause"
    CANCEL = "cancel"


class LostRunner(StrEnum):
    """What it means for a run that its runner was lost; the definition's snapshot says so in `lostRunner`."""

    RETRY = "retry"
    PARK = "park"
    FAIL = "fail"


class ErrorCode(StrEnum):
    """Codes that the queue itself writes on a run; a runner's own codes are free text."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timedOut"
    WORKFLOW_SOURCE_CHANGED = "workflowSourceChanged"
    RUNNER_NO_PROGRESS = "runnerNoProgress"
    RUNNER_LOST = "runnerLost"
    EFFECT_AMBIGUOUS = "effectAmbiguous"


RUN_TERMINAL = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED})
RUN_OPEN = frozenset(RunStatus) - RUN_TERMINAL
QUEUE_TERMINAL = frozenset({QueueStatus.DONE, QueueStatus.FAILED, QueueStatus.CANCELLED})
QUEUE_OPEN = frozenset(QueueStatus) - QUEUE_TERMINAL
# The pairs of both axes that the queue's verbs can bring about.
POSSIBLE_AXES = frozenset(
    {
        (RunStatus.QUEUED, QueueStatus.QUEUED),
        (RunStatus.QUEUED, QueueStatus.STARTING),
        (RunStatus.QUEUED, QueueStatus.PARKED),
        *((status, queue) for status in (RunStatus.RUNNING, RunStatus.WAITING) for queue in sorted(QUEUE_OPEN)),
        (RunStatus.COMPLETED, QueueStatus.DONE),
        (RunStatus.FAILED, QueueStatus.FAILED),
        (RunStatus.TIMED_OUT, QueueStatus.FAILED),
        (RunStatus.CANCELLED, QueueStatus.CANCELLED),
    }
)
TERMINAL_EVENTS = frozenset({"run.queue_done", "run.queue_failed", "run.queue_cancelled"})
ATTEMPT_OPEN = frozenset(
    {AttemptStatus.PENDING, AttemptStatus.RUNNING, AttemptStatus.WAITING, AttemptStatus.INTERRUPTED}
)
ATTEMPT_TERMINAL = frozenset(AttemptStatus) - ATTEMPT_OPEN
EFFECT_SETTLED = frozenset(
    {EffectStatus.APPLIED, EffectStatus.REJECTED, EffectStatus.AMBIGUOUS, EffectStatus.CANCELLED}
)
# How an effect must stand for a verb that moves it. The last two need no hold of the run, which may be over.
EFFECT_NEEDS = {
    "start_effect": EffectStatus.PENDING,
    "apply_effect": EffectStatus.APPLYING,
    "reject_effect": EffectStatus.APPLYING,
    "doubt_effect": EffectStatus.APPLYING,
    "settle_ambiguous_effect": EffectStatus.AMBIGUOUS,
    "settle_own_try": EffectStatus.AMBIGUOUS,
}
# Effects of the queue's own bookkeeping: the verb that they stand for applies them.
PARK_EFFECT = "run.park_queue"
SETTLE_EFFECT = "run.settle_queue"
RUN_SCOPE = "run"
# Parked with one of these, a run is handed out again only after somebody said so.
HELD_BACK_CODES = frozenset({ErrorCode.WORKFLOW_SOURCE_CHANGED, ErrorCode.RUNNER_NO_PROGRESS, ErrorCode.RUNNER_LOST})
