"""The one table of which verb is allowed where.

Everything that asks "may this happen now?" (rules, buttons, tests) reads the table here.
"""

from dataclasses import dataclass
from enum import StrEnum

from runs.states import QUEUE_OPEN, RUN_OPEN, QueueStatus, RunStatus


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
