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


class LeaseNeed(StrEnum):
    """What a verb asks of the lease."""

    HELD = "held by the caller"
    NOT_LIVE = "not live, or one's own and reclaimed"
    LIVE = "live, whoever holds it"
    UNOWNED = "no owner on record"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Verb:
    """One row of the table: where a verb is allowed and where it ends.

    `paused` and `asked` (a request is pending) are demanded where True, refused where False, no matter where None.
    An end of None means that the axis stays, or that the verb's own rule says where it goes.
    """

    name: str
    lease: LeaseNeed
    run: frozenset[RunStatus] = frozenset(RunStatus)
    queue: frozenset[QueueStatus] = frozenset(QueueStatus)
    paused: bool | None = None
    asked: bool | None = None
    ends_run: RunStatus | None = None
    ends_queue: QueueStatus | None = None


_NOT_YET_BEGUN = frozenset({QueueStatus.QUEUED, QueueStatus.STARTING})
_PARKED = frozenset({QueueStatus.PARKED})
_BEGUN = frozenset({RunStatus.RUNNING, RunStatus.WAITING})
_HELD, _NOT_LIVE, _UNOWNED, _ANY = LeaseNeed.HELD, LeaseNeed.NOT_LIVE, LeaseNeed.UNOWNED, LeaseNeed.ANY
_FAILED = (RunStatus.FAILED, QueueStatus.FAILED)
_CANCELLED = (RunStatus.CANCELLED, QueueStatus.CANCELLED)
_TIMED_OUT = (RunStatus.TIMED_OUT, QueueStatus.FAILED)

CLAIM = Verb("claim", _NOT_LIVE, queue=QUEUE_OPEN, paused=False, asked=False, ends_queue=QueueStatus.STARTING)
CLAIM_FOR_VALIDATION = Verb("claim_for_validation", _NOT_LIVE, queue=QUEUE_OPEN, ends_queue=QueueStatus.STARTING)
CLAIM_FOR_CONTROL = Verb("claim_for_control", _NOT_LIVE, queue=QUEUE_OPEN)
RENEW = Verb("renew", _HELD)
MARK_RUNNING = Verb("mark_running", _HELD, ends_queue=QueueStatus.RUNNING)
PARK = Verb("park", _HELD, ends_queue=QueueStatus.PARKED)
PARK_HELD_BACK = Verb("park_held_back", _HELD, RUN_OPEN, QUEUE_OPEN, ends_queue=QueueStatus.PARKED)
PARK_AMBIGUOUS_EFFECT = Verb(
    "park_ambiguous_effect",
    _HELD,
    frozenset({RunStatus.RUNNING}),
    QUEUE_OPEN - {QueueStatus.QUEUED},
    ends_run=RunStatus.WAITING,
    ends_queue=QueueStatus.PARKED,
)
COMPLETE = Verb("complete", _HELD, RUN_OPEN, ends_run=RunStatus.COMPLETED, ends_queue=QueueStatus.DONE)
FAIL = Verb("fail", _HELD, RUN_OPEN, QUEUE_OPEN, None, None, *_FAILED)
FAIL_UNOWNED = Verb("fail_unowned", _UNOWNED, RUN_OPEN, _NOT_YET_BEGUN, None, None, *_FAILED)
TIME_OUT = Verb("time_out", _HELD, RUN_OPEN, QUEUE_OPEN, None, None, *_TIMED_OUT)
TIME_OUT_UNOWNED = Verb("time_out_unowned", _UNOWNED, RUN_OPEN, _NOT_YET_BEGUN, None, None, *_TIMED_OUT)
CANCEL_HELD = Verb("cancel_held", _HELD, RUN_OPEN, QUEUE_OPEN, None, None, *_CANCELLED)
CANCEL_UNOWNED = Verb("cancel_unowned", _UNOWNED, RUN_OPEN, _NOT_YET_BEGUN, None, None, *_CANCELLED)
CANCEL_STALE = Verb("cancel_stale", _NOT_LIVE, RUN_OPEN, QUEUE_OPEN, None, None, *_CANCELLED)
CANCEL = Verb("cancel", _ANY, RUN_OPEN, QUEUE_OPEN, None, None, *_CANCELLED)
PAUSE = Verb("pause", _ANY, RUN_OPEN, QUEUE_OPEN, ends_queue=QueueStatus.PARKED)
UNPAUSE = Verb("unpause", _ANY, RUN_OPEN, QUEUE_OPEN, paused=True)
WISH = Verb("wish", LeaseNeed.LIVE, RUN_OPEN, QUEUE_OPEN, paused=False)
WITHDRAW_WISH = Verb("withdraw_wish", _ANY, RUN_OPEN, QUEUE_OPEN)
RUN_NOW = Verb("run_now", _NOT_LIVE, RUN_OPEN, QUEUE_OPEN, paused=False, asked=False, ends_queue=QueueStatus.QUEUED)
PAUSE_PARKED = Verb("pause_parked", _NOT_LIVE, _BEGUN, _PARKED, asked=True)
RESUME_INTERACTION = Verb("resume_interaction", _NOT_LIVE, _BEGUN, _PARKED, paused=True, asked=True)
REQUEST_RESUME = Verb("request_resume", _NOT_LIVE, RUN_OPEN, QUEUE_OPEN, asked=False, ends_queue=QueueStatus.QUEUED)
BEGIN_INTERACTION_TIMEOUT = Verb(
    "begin_interaction_timeout",
    _HELD,
    frozenset({RunStatus.WAITING}),
    _PARKED,
    paused=False,
    ends_run=RunStatus.RUNNING,
    ends_queue=QueueStatus.STARTING,
)
DELETE = Verb("delete", _HELD)
RECORD_EVENT = Verb("record_event", _HELD)
WRITE_ATTEMPT = Verb("write_attempt", _HELD, frozenset({RunStatus.RUNNING}), QUEUE_OPEN)
_RUNNING = frozenset({RunStatus.RUNNING})
RAISE_REQUEST = Verb(
    "raise_request", _HELD, _RUNNING, QUEUE_OPEN, paused=False, asked=False, ends_run=RunStatus.WAITING
)
SUBMIT = Verb("submit", _ANY, RUN_OPEN, QUEUE_OPEN)
SETTLE_SUBMISSION = Verb("settle_submission", _HELD, _BEGUN, QUEUE_OPEN, paused=False)
WITHDRAW_REQUEST = Verb("withdraw_request", _HELD, _BEGUN, QUEUE_OPEN, paused=False)
ASK_DECISION = Verb("ask_decision", _HELD, _RUNNING, QUEUE_OPEN, paused=False, ends_run=RunStatus.WAITING)
AMEND_DECISION = Verb("amend_decision", _HELD, _BEGUN, QUEUE_OPEN, paused=False)
ANSWER_DECISION = Verb("answer_decision", _ANY, RUN_OPEN, QUEUE_OPEN)
QUEUE_MESSAGE = Verb("queue_message", _HELD, RUN_OPEN, QUEUE_OPEN)
WRITE_TURN = Verb("write_turn", _ANY, RUN_OPEN, QUEUE_OPEN)
RESERVE_EFFECT = Verb("reserve_effect", _HELD, frozenset({RunStatus.RUNNING}), QUEUE_OPEN)
WRITE_EFFECT = Verb("write_effect", _HELD, RUN_OPEN, QUEUE_OPEN)

VERBS = {
    verb.name: verb
    for verb in (
        CLAIM,
        CLAIM_FOR_VALIDATION,
        CLAIM_FOR_CONTROL,
        RENEW,
        MARK_RUNNING,
        PARK,
        PARK_HELD_BACK,
        PARK_AMBIGUOUS_EFFECT,
        COMPLETE,
        FAIL,
        FAIL_UNOWNED,
        TIME_OUT,
        TIME_OUT_UNOWNED,
        CANCEL_HELD,
        CANCEL_UNOWNED,
        CANCEL_STALE,
        CANCEL,
        PAUSE,
        UNPAUSE,
        WISH,
        WITHDRAW_WISH,
        RUN_NOW,
        PAUSE_PARKED,
        RESUME_INTERACTION,
        REQUEST_RESUME,
        BEGIN_INTERACTION_TIMEOUT,
        DELETE,
        RECORD_EVENT,
        WRITE_ATTEMPT,
        RAISE_REQUEST,
        SUBMIT,
        SETTLE_SUBMISSION,
        WITHDRAW_REQUEST,
        ASK_DECISION,
        AMEND_DECISION,
        ANSWER_DECISION,
        QUEUE_MESSAGE,
        WRITE_TURN,
        RESERVE_EFFECT,
        WRITE_EFFECT,
    )
}
