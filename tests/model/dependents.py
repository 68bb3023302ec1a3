"""What hangs on a run of the model: attempts, effects, requests, decisions, messages. No verbs here."""

from dataclasses import dataclass, field

from runs.states import (
    AnswerOutcome,
    AttemptStatus,
    DecisionOutcome,
    DecisionProvenance,
    EffectOutcome,
    EffectStatus,
    MessageKind,
    MessageStatus,
    RequestStatus,
    StopReason,
    SubmissionOutcome,
)

ATTEMPT_OVER = {AttemptStatus.COMPLETED, AttemptStatus.FAILED, AttemptStatus.TIMED_OUT, AttemptStatus.CANCELLED}
SETTLE_QUEUE, PARK_QUEUE = "run.settle_queue", "run.park_queue"


@dataclass
class Attempt:
    """One try of one node. `clocks` are the observed active times of its intervals; the last may be counting."""

    attempt_id: str
    node_id: str
    number: int
    generation: int
    timeout_ms: int | None
    status: AttemptStatus = AttemptStatus.RUNNING
    clocks: list[int] = field(default_factory=lambda: [0])
    is_counting: bool = True

    @property
    def is_open(self) -> bool:
        return self.status not in ATTEMPT_OVER

    def end(self, status: AttemptStatus) -> None:
        self.status, self.is_counting = status, False


@dataclass
class Try:
    """One try of an effect, and who may say later what came of it."""

    generation: int
    token: str | None
    outcome: EffectOutcome | None = None


@dataclass
class Effect:
    """Something to be done outside."""

    effect_type: str
    payload: str
    scope: str = "run"
    status: EffectStatus = EffectStatus.PENDING
    revision: int = 1
    next_at: int | None = None
    tries: list[Try] = field(default_factory=list)

    @property
    def forbids_completing(self) -> bool:
        is_to_do = self.status == EffectStatus.PENDING and self.effect_type != SETTLE_QUEUE
        return self.scope == "run" and (is_to_do or self.status in (EffectStatus.APPLYING, EffectStatus.AMBIGUOUS))

    def move(self, status: EffectStatus) -> None:
        self.status = status
        self.revision += 1

    def doubt(self) -> None:
        """Nobody knows any more; an open try is interrupted."""
        self.move(EffectStatus.AMBIGUOUS)
        self.next_at = None
        if self.tries and self.tries[-1].outcome is None:
            self.tries[-1].outcome = EffectOutcome.INTERRUPTED


@dataclass
class Submission:
    """A session's answer to a request."""

    payload: str
    outcome: SubmissionOutcome = SubmissionOutcome.VALIDATING


@dataclass
class Request:
    """What a run asks of a session."""

    attempt_id: str
    session_id: str
    status: RequestStatus = RequestStatus.PENDING
    revision: int = 1
    submissions: dict[str, Submission] = field(default_factory=dict)

    @property
    def is_pending(self) -> bool:
        return self.status == RequestStatus.PENDING

    def move(self, status: RequestStatus) -> None:
        self.status = status
        self.revision += 1


@dataclass
class Answer:
    """A person's choice, and which of the decision's versions it is about."""

    person: str
    choice: str
    version: int
    outcome: AnswerOutcome


@dataclass
class Question:
    """What people are shown, its deadline apart. With a default the deadline accepts it, without it expires."""

    title: str
    quorum: int
    has_default: bool


@dataclass
class Decision:
    """What people decide. `version` stands for the digest of what is shown, `revision` counts its events."""

    question: Question
    deadline_at: int | None
    version: int = 1
    revision: int = 1
    outcome: DecisionOutcome | None = None
    provenance: DecisionProvenance | None = None
    answers: list[Answer] = field(default_factory=list)

    def is_due(self, now: int) -> bool:
        return self.deadline_at is not None and self.deadline_at <= now

    def resolve(self, outcome: DecisionOutcome, provenance: DecisionProvenance) -> None:
        self.outcome, self.provenance = outcome, provenance


@dataclass
class Message:
    """What a run tells a session."""

    kind: MessageKind
    session_id: str
    status: MessageStatus = MessageStatus.PENDING


@dataclass
class Turn:
    """A session's work on a message; it goes on while it has no reason for its end."""

    message_id: str
    reason: StopReason | None = None
