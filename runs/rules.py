"""Pure decisions: values in, a verdict or a refusal out. No database, no clock of its own."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from runs import errors
from runs.states import (
    ATTEMPT_OPEN,
    HELD_BACK_CODES,
    QUEUE_TERMINAL,
    RUN_TERMINAL,
    AttemptStatus,
    ExecutionMode,
    LineageKind,
    OwnerType,
    QueueStatus,
    RunStatus,
    Scope,
    Wish,
)
from runs.verbs import LeaseNeed, Verb

MAX_SAFE_INTEGER = 2**53 - 1  # what every JSON reader keeps exactly
GRACE_LIMIT_MS = 600_000
DETAIL_LIMIT = 8_192  # Unicode code points
RESERVED_EVENTS = frozenset({"run", "lease", "attempt", "effect", "request", "decision", "message", "turn"})
RESERVED_OWNERS = frozenset({"system", "workflow-control"})
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")


class RunFacts(Protocol):
    """What the rules look at in a run."""

    run_id: str
    status: str
    queue_status: str
    paused: bool
    error_code: str | None
    available_at: datetime


class AxesFacts(Protocol):
    """Both statuses of a run."""

    status: str
    queue_status: str


class LeaseFacts(Protocol):
    """What the rules look at in a lease."""

    generation: int
    owner_id: str | None
    token_hash: bytes | memoryview | None
    swept_token_hash: bytes | memoryview | None
    expires_at: datetime | None
    pending_requests: int
    open_work: int
    progressed: bool
    backoff_ms: int
    takeover_at: datetime | None
    retry_at: datetime | None
    wish: str | None
    wish_due_at: datetime | None


def is_run_id(value: str) -> bool:
    """Whether a run could have this id."""
    return _RUN_ID.fullmatch(value) is not None


def run_id(value: str) -> str:
    """`value`, if it is a run id."""
    if not is_run_id(value):
        raise errors.InvalidRunId
    return value


def digest(value: str) -> bytes:
    """The 32 bytes that a SHA-256 digest in hexadecimal stands for, "sha256:" before it or not."""
    match = _DIGEST.fullmatch(value)
    if match is None:
        raise errors.InvalidDigest
    return bytes.fromhex(match[1])


def token_hash(token: str) -> bytes:
    """What is stored of a token."""
    # What no text can hold is no error here: it is nobody's token.
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def detail(text: str) -> str:
    """A detail text, cut at its limit of code points."""
    return text[:DETAIL_LIMIT]


def owner_type(owner_id: str) -> OwnerType:
    """Which kind of owner an owner id names."""
    return OwnerType.HOST if owner_id.startswith("host-") else OwnerType.SESSION


def token_matches(lease: LeaseFacts, token: str) -> bool:
    """Whether this token is the recorded owner's, expired or not, swept or not; compared in constant time."""
    recorded = lease.token_hash or lease.swept_token_hash
    return recorded is not None and hmac.compare_digest(bytes(recorded), token_hash(token))


def is_live(lease: LeaseFacts, at: datetime) -> bool:
    """Owned and not yet expired; at `expires_at` itself it is over."""
    return lease.expires_at is not None and lease.expires_at > at


def is_held(lease: LeaseFacts, token: str | None, at: datetime) -> bool:
    """Live, the token is the owner's, and no operator's wish has come due over it."""
    return token is not None and is_live(lease, at) and not is_overruled(lease, at) and token_matches(lease, token)


def is_overruled(lease: LeaseFacts, at: datetime) -> bool:
    """Whether an operator's wish has reached its deadline, carried out or not."""
    return lease.wish_due_at is not None and lease.wish_due_at <= at


def permit(
    verb: Verb,
    run: RunFacts,
    lease: LeaseFacts,
    at: datetime,
    *,
    token: str | None = None,
    owner_id: str | None = None,
    reclaim: bool = False,
) -> None:
    """Refuse unless the table allows `verb` on this run at `at`; first of all whoever must hold the run and does not.

    `token` is the caller's claim on a verb that needs the lease held; `owner_id` and `reclaim` belong to claims.
    """
    if verb.lease is LeaseNeed.HELD:
        hold(run, lease, token, at)
    if run.status not in verb.run or run.queue_status not in verb.queue:
        raise _not_allowed_here(verb, run)
    if verb.paused is not None and run.paused != verb.paused:
        raise (errors.RunPaused if run.paused else errors.RunNotPaused)(run_id=run.run_id)
    if verb.asked is not None and bool(lease.pending_requests) != verb.asked:
        raise (errors.RequestPending if lease.pending_requests else errors.NoPendingRequest)(run_id=run.run_id)
    if verb.lease is LeaseNeed.LIVE and not is_live(lease, at):
        raise errors.NobodyHolds(run_id=run.run_id)
    if verb.lease is LeaseNeed.UNOWNED and lease.owner_id is not None:
        raise _somebody_has(run, lease, at)
    if verb.lease is LeaseNeed.NOT_LIVE and is_live(lease, at) and not (reclaim and lease.owner_id == owner_id):
        raise _somebody_has(run, lease, at)


def hold(run: RunFacts, lease: LeaseFacts, token: str | None, at: datetime) -> None:
    """Refuse whoever does not hold the run, with what happened to the hold."""
    if not is_held(lease, token, at):
        raise _lost(run, lease, token, at)


def active_ms(value: int) -> int:
    """A reported active time in milliseconds, if it can be one."""
    if not 0 <= value <= MAX_SAFE_INTEGER:
        raise errors.Invalid("An active time is a number of milliseconds.", active_ms=value)
    return value


def grace_ms(value: int) -> int:
    """The grace of a wish in milliseconds, if it may be that long."""
    if not 0 < value <= GRACE_LIMIT_MS:
        raise errors.Invalid(f"A grace is 1 to {GRACE_LIMIT_MS} ms.", grace_ms=value)
    return value


def has_ended(run: AxesFacts) -> bool:
    """Whether the run is over, on either axis."""
    return run.status in RUN_TERMINAL or run.queue_status in QUEUE_TERMINAL


def over(run: RunFacts) -> errors.Refusal | None:
    """The refusal that says how the run ended; None of one that did not."""
    if run.status == RunStatus.CANCELLED or run.queue_status == QueueStatus.CANCELLED:
        return errors.RunCancelled(run_id=run.run_id, status=run.status)
    if has_ended(run):
        return errors.RunFinished(run_id=run.run_id, status=run.status)
    return None


def _not_allowed_here(verb: Verb, run: RunFacts) -> errors.Refusal:
    if ended := over(run):
        return ended
    if verb.lease is LeaseNeed.UNOWNED:
        kind: type[errors.Refusal] = errors.RunBegun
    elif verb.queue == {QueueStatus.PARKED}:
        kind = errors.NotParkedAndWaiting
    else:
        kind = errors.RunNotRunning
    return kind(run_id=run.run_id, status=run.status, queue_status=run.queue_status)


def _lost(run: RunFacts, lease: LeaseFacts, token: str | None, at: datetime) -> errors.Refusal:
    """Why the caller does not hold the run: an end or a pause tells more than a lost lease."""
    if ended := over(run):
        return ended
    # A wish is as good as carried out once it is due: whether a sweep has passed by makes no difference.
    wish = lease.wish if is_overruled(lease, at) or not is_live(lease, at) else None
    if run.paused or wish == Wish.PAUSE:
        return errors.RunPaused(run_id=run.run_id)
    if wish == Wish.CANCEL:
        return errors.RunCancelled(run_id=run.run_id, status=RunStatus.CANCELLED)
    if lease.owner_id is None and lease.swept_token_hash is None:
        cause = "released"
    elif token is not None and token_matches(lease, token):
        cause = "expired"
    else:
        cause = "superseded"
    return errors.LeaseLost(run_id=run.run_id, cause=cause)


def _somebody_has(run: RunFacts, lease: LeaseFacts, at: datetime) -> errors.Refusal:
    left = (lease.expires_at - at).total_seconds() if lease.expires_at else 0
    return errors.LeaseHeld(run_id=run.run_id, retry_in_ms=max(0, int(left * 1000)))


def ready_at(run: RunFacts, lease: LeaseFacts) -> datetime | None:
    """When the run may be handed out were nobody holding it; None while it may not."""
    if run.queue_status in QUEUE_TERMINAL or run.paused or lease.pending_requests:
        return None
    if run.error_code in HELD_BACK_CODES or (run.queue_status, run.status) == (QueueStatus.PARKED, RunStatus.WAITING):
        return None
    return max(run.available_at, lease.retry_at or run.available_at)


def nothing_open(run: RunFacts, lease: LeaseFacts) -> None:
    """Refuse completing over a pending request, an undecided decision or an effect that is not settled."""
    if lease.open_work:
        raise errors.OpenWork(run_id=run.run_id, open_work=lease.open_work)


def open_work(run: RunFacts, pending_requests: int, undecided: int, unsettled_effects: int) -> int:
    """How much forbids completing the run; nothing, once it is over."""
    if has_ended(run):
        return 0
    return pending_requests + undecided + unsettled_effects


def effects_in_doubt(run: RunFacts, ambiguous: int) -> int:
    """How many effects in doubt the run shows; none, once it is over."""
    return 0 if has_ended(run) else ambiguous


def running_now(run: RunFacts, lease: LeaseFacts) -> RunStatus:
    """The run's status after mark running: it starts what is queued, or waits without a pending request."""
    starts = run.status == RunStatus.QUEUED or (run.status == RunStatus.WAITING and not lease.pending_requests)
    return RunStatus.RUNNING if starts else RunStatus(run.status)


def scopes(names: list[str]) -> str:
    """Scopes as they are stored. No token both executes runs and answers for people."""
    unknown = sorted(set(names) - {scope.value for scope in Scope})
    if unknown or not names:
        raise errors.Invalid("Scopes are one or more of: " + ", ".join(Scope), scopes=unknown)
    if {Scope.RUNS_EXECUTE, Scope.DECISIONS_ANSWER} <= set(names):
        raise errors.Invalid("No token both executes runs and answers decisions.")
    return " ".join(sorted(set(names)))


def note_type(value: str) -> str:
    """`value`, if a caller may use it as the type of an event of its own."""
    if value.partition(".")[0] in RESERVED_EVENTS and "." in value:
        raise errors.Invalid("Event types that begin like the queue's own are reserved.", type=value)
    return value


def owner(owner_id: str) -> str:
    """`owner_id`, if a caller may use it."""
    if owner_id in RESERVED_OWNERS:
        raise errors.Invalid(f"The owner id {owner_id!r} is reserved.", owner_id=owner_id)
    return owner_id


class ParentFacts(RunFacts, Protocol):
    """What the rules look at in the parent of a restart."""

    revision: int
    restart_number: int
    origin_session_id: str


def root(lineage_kind: str | None, restart_number: int | None, parent_run_revision: int | None) -> None:
    """Refuse lineage on a run without a parent."""
    if lineage_kind is not None:
        raise errors.LineageKindMismatch
    if restart_number is not None or parent_run_revision is not None:
        raise errors.RootWithRestartFields


def lineage_kind(kind: str | None) -> None:
    """Refuse a parent without the kind `restart`."""
    if kind != LineageKind.RESTART:
        raise errors.LineageKindMismatch


def restart(parent: ParentFacts, session_id: str, number: int | None, parent_run_revision: int | None) -> int:
    """The restart number of a restart of `parent`, if it may be restarted so."""
    if parent.origin_session_id != session_id:
        raise errors.ParentSession(parent_run_id=parent.run_id)
    if parent.status not in RUN_TERMINAL or parent.queue_status not in QUEUE_TERMINAL:
        raise errors.ParentNotTerminal(parent_run_id=parent.run_id)
    if not isinstance(parent_run_revision, int) or not 0 <= parent_run_revision <= MAX_SAFE_INTEGER:
        raise errors.ParentRevisionMissing(parent_run_id=parent.run_id)
    if parent_run_revision != parent.revision:
        raise errors.ParentRevisionChanged(parent_run_id=parent.run_id, revision=parent.revision)
    if number is not None and number != parent.restart_number + 1:
        raise errors.RestartNumberMismatch(parent_run_id=parent.run_id, restart_number=parent.restart_number + 1)
    return parent.restart_number + 1


def unique_mounts(paths: Sequence[str]) -> None:
    """Refuse a mount path given twice, or an empty one (the root's)."""
    if len(set(paths)) != len(paths):
        raise errors.DuplicateMount


def takes_session(mode: str) -> bool:
    """Whether a run of this mode takes its session's one slot."""
    return mode == ExecutionMode.INTERACTIVE


class AttemptFacts(Protocol):
    """What the rules look at in an attempt."""

    attempt_id: str
    node_id: str
    status: str
    generation: int


A = TypeVar("A", bound=AttemptFacts)


def standing_attempt(attempts: Sequence[A], attempt_id: str, node_id: str, generation: int) -> A | None:
    """The attempt that answers for a new one: the node's completed one, or this very one still open."""
    for attempt in attempts:
        if attempt.attempt_id == attempt_id and attempt.node_id != node_id:
            raise errors.AttemptConflict(attempt_id=attempt_id, node_id=attempt.node_id)
    for attempt in attempts:
        if attempt.status == AttemptStatus.COMPLETED:
            return attempt
    for attempt in attempts:
        is_open = attempt.status in ATTEMPT_OPEN and attempt.generation == generation
        if attempt.attempt_id == attempt_id:
            if is_open:
                return attempt
            raise errors.AttemptSettled(attempt_id=attempt_id, status=attempt.status)
        if is_open:
            raise errors.AttemptOpen(attempt_id=attempt.attempt_id, node_id=node_id)
    return None
