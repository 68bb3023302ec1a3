"""Every refusal of the domain: a stable code, what the caller should do, and facts.

A refusal's docstring is its default sentence. Nothing was changed when one is raised.
HTTP statuses are the API's business.
"""

from enum import StrEnum
from inspect import cleandoc
from typing import Any, ClassVar


class Action(StrEnum):
    """What a caller should do about a refusal."""

    STOP = "stop"  # give this run up; the same call will never succeed
    RETRY = "retry"  # the same call may succeed later
    MEND = "mend"  # change the call


class Refusal(Exception):
    """The queue refused this."""

    code: ClassVar[str] = "refused"
    action: ClassVar[Action] = Action.MEND

    def __init__(self, detail: str | None = None, /, **facts: Any) -> None:
        self.detail = detail or cleandoc(type(self).__doc__ or "")
        self.facts = facts
        super().__init__(self.detail)


class Invalid(Refusal):
    """The request is malformed."""

    code = "invalid_request"


class NotFound(Refusal):
    """There is nothing of that name here."""

    code = "not_found"
    action = Action.STOP


class Conflict(Refusal):
    """The request does not fit the present state."""

    code = "conflict"
    action = Action.STOP


class Busy(Refusal):
    """The queue could not get to this in time; nothing was changed."""

    code = "busy"
    action = Action.RETRY


# Malformed requests


class InvalidRunId(Invalid):
    """A run id is 1 to 200 of A-Z a-z 0-9 . _ - and begins with a letter or digit."""

    code = "invalid_run_id"


class InvalidDigest(Invalid):
    """A definition digest is 64 hexadecimal digits, with or without "sha256:" before them."""

    code = "invalid_digest"


class InvalidSource(Invalid):
    """A source is builtin (id, revision), file (path, hash), or a root with mounted sources."""

    code = "invalid_source"


class InvalidDocument(Invalid):
    """This JSON document or text can't be stored."""

    code = "invalid_json"

    def __init__(self, detail: str, /, *, code: str, **facts: Any) -> None:
        super().__init__(detail, **facts)
        self.code = code  # type: ignore[misc]  # one class for the several codes of canonical.DocumentError


class DuplicateItem(Invalid):
    """The same run stands in this batch twice; the first one counts."""

    code = "duplicate_item"


class BatchTooLarge(Invalid):
    """A batch holds too many items."""

    code = "batch_too_large"


class InvalidEffectName(Invalid):
    """The type and the key of an effect are 1 to 200 characters, no control characters, without outer blanks."""

    code = "invalid_effect_name"


# Reserving


class AlreadyReserved(Conflict):
    """A run of this id exists already."""

    code = "already_reserved"


class PreparationConflict(Conflict):
    """A run of this id exists, and it was reserved with other content."""

    code = "preparation_conflict"


class DefinitionConflict(Conflict):
    """This definition digest stands for another workflow name or another snapshot."""

    code = "definition_conflict"


class SessionBusy(Conflict):
    """The session has another interactive run that is not over."""

    code = "session_busy"
    action = Action.RETRY


class DuplicateMount(Conflict):
    """A mount path stands twice among the sources, or is empty."""

    code = "duplicate_mount"
    action = Action.MEND


class LineageKindMismatch(Conflict):
    """A run with a parent has the lineage kind "restart"; one without has none."""

    code = "lineage_kind"
    action = Action.MEND


class RootWithRestartFields(Conflict):
    """A run without a parent has neither a restart number nor a parent revision."""

    code = "root_with_restart_fields"
    action = Action.MEND


class ParentSession(Conflict):
    """The parent run belongs to another session."""

    code = "parent_session"


class ParentNotTerminal(Conflict):
    """The parent run is not over."""

    code = "parent_not_terminal"
    action = Action.RETRY


class ParentRevisionMissing(Conflict):
    """A restart names the exact revision of its parent."""

    code = "parent_revision_missing"
    action = Action.MEND


class ParentRevisionChanged(Conflict):
    """The parent run has moved on from the revision that was named."""

    code = "parent_revision_changed"
    action = Action.MEND


class RestartNumberMismatch(Conflict):
    """The restart number is the parent's plus one."""

    code = "restart_number"
    action = Action.MEND


class ParentAlreadyRestarted(Conflict):
    """The parent run has a restart already."""

    code = "parent_already_restarted"


# Runs and leases


class RunNotFound(NotFound):
    """There is no such run in this project."""


class AttemptNotFound(NotFound):
    """There is no such attempt in this run."""


class EffectNotFound(NotFound):
    """There is no such effect in this run."""


class LeaseLost(Conflict):
    """The caller does not hold this run: its lease ran out, was taken over or was released."""

    code = "lease_lost"


class LeaseHeld(Conflict):
    """Somebody holds this run."""

    code = "lease_held"
    action = Action.RETRY


class NobodyHolds(Conflict):
    """Nobody holds this run at the moment."""

    code = "not_held"


class HeldBack(Conflict):
    """The run was held back instead of being handed out."""

    code = "held_back"


class BackingOff(Conflict):
    """The run rests after a crash of its runner."""

    code = "backing_off"
    action = Action.RETRY


class WishStands(Conflict):
    """The holder has been told another wish already."""

    code = "wish_stands"
    action = Action.RETRY


class NoWish(Conflict):
    """Nothing is wished of the holder."""

    code = "no_wish"


class RunCancelled(Conflict):
    """The run was cancelled."""

    code = "run_cancelled"


class RunFinished(Conflict):
    """The run is over."""

    code = "run_finished"


class RunPaused(Conflict):
    """The run is paused."""

    code = "run_paused"


class RunNotPaused(Conflict):
    """The run is not paused."""

    code = "not_paused"


class RequestPending(Conflict):
    """The run waits for a session's answer."""

    code = "request_pending"
    action = Action.RETRY


class NoPendingRequest(Conflict):
    """The run has asked nothing that is unanswered."""

    code = "no_pending_request"


class OpenWork(Conflict):
    """The run has a pending request, an undecided decision or an effect that is not settled."""

    code = "open_work"
    action = Action.MEND


class InteractionNotDue(Conflict):
    """No pending request of that session has used up its time."""

    code = "interaction_not_due"
    action = Action.RETRY


class NotParkedAndWaiting(Conflict):
    """The run is not parked and waiting."""

    code = "not_parked_and_waiting"
    action = Action.MEND


class HasRestart(Conflict):
    """The run has a restart, whose lineage leads back to it."""

    code = "has_restart"


class EffectUnsettled(Conflict):
    """An effect of the run is applying or ambiguous."""

    code = "effect_unsettled"


class EffectConflict(Conflict):
    """An effect of this type and key exists, and it was reserved with another payload."""

    code = "effect_conflict"
    action = Action.MEND


class EffectNotDue(Conflict):
    """The effect's next try is not due yet."""

    code = "effect_not_due"
    action = Action.RETRY


class EffectApplying(Conflict):
    """A try of this effect is open under this lease; report what came of it first."""

    code = "effect_applying"
    action = Action.MEND


class EffectNotApplying(Conflict):
    """No such try of this effect is open under this lease."""

    code = "effect_not_applying"
    action = Action.MEND


class EffectSettled(Conflict):
    """The effect is settled; reserving it again tells how."""

    code = "effect_settled"
    action = Action.MEND


class EffectNotAmbiguous(Conflict):
    """The effect is not in doubt: it is pending, or being tried."""

    code = "effect_not_ambiguous"
    action = Action.RETRY


class NotOwnTry(Conflict):
    """This token is not the one that the try was made with."""

    code = "not_own_try"


class TooManyEffects(Conflict):
    """The run has as many effects as a run may have."""

    code = "too_many_effects"


class RunNotRunning(Conflict):
    """The run is not running."""

    code = "not_running"
    action = Action.MEND


class RunBegun(Conflict):
    """The run has begun, so that only its holder may do this."""

    code = "run_begun"


class AttemptSettled(Conflict):
    """The attempt is over."""

    code = "attempt_settled"


class AttemptOpen(Conflict):
    """The node has an open attempt of another id under this lease."""

    code = "attempt_open"


class AttemptConflict(Conflict):
    """An attempt of this id exists for another node."""

    code = "attempt_conflict"
    action = Action.MEND


class OwnerTaken(Conflict):
    """This owner id belongs to another access token."""

    code = "owner_taken"
    action = Action.MEND


class ReceiptConflict(Conflict):
    """This idempotency key was used for another request."""

    code = "idempotency_conflict"
    action = Action.MEND


# Requests to a session


class RequestNotFound(NotFound):
    """There is no such request in this run."""


class SubmissionNotFound(NotFound):
    """There is no such submission to this request."""


class RequestConflict(Conflict):
    """A request of this id was raised with other content."""

    code = "request_conflict"
    action = Action.MEND


class RequestSettled(Conflict):
    """The request is settled or cancelled: it takes no answer any more."""

    code = "request_settled"


class RequestOutdated(Conflict):
    """The request has changed since it was seen."""

    code = "request_outdated"
    action = Action.MEND


class WrongSession(Conflict):
    """The request is addressed to another session."""

    code = "wrong_session"
    action = Action.MEND


class SubmissionValidating(Conflict):
    """Another submission to this request is being validated."""

    code = "submission_validating"
    action = Action.RETRY


class SubmissionConflict(Conflict):
    """A submission of this id has another payload."""

    code = "submission_conflict"
    action = Action.MEND


class SubmissionSettled(Conflict):
    """The submission was accepted or rejected already."""

    code = "submission_settled"


class TooMany(Conflict):
    """The run has as many of these as it may have."""

    code = "too_many"


# Decisions of people


class Forbidden(Refusal):
    """The caller may not do this."""

    code = "forbidden"
    action = Action.STOP


class DecisionNotFound(NotFound):
    """There is no such decision in this run."""


class InvalidDecision(Invalid):
    """The decision can't be put like this."""

    code = "invalid_decision"


class InvalidSchema(Invalid):
    """The schema of a choice's input is not one that the queue takes."""

    code = "invalid_schema"


class DecisionConflict(Conflict):
    """A decision of this id was asked with other content."""

    code = "decision_conflict"
    action = Action.MEND


class DecisionResolved(Conflict):
    """The decision has been resolved."""

    code = "decision_resolved"


class DecisionExpired(Conflict):
    """The decision's deadline has passed."""

    code = "decision_expired"


class DecisionNotDue(Conflict):
    """The decision's deadline has not passed."""

    code = "decision_not_due"
    action = Action.RETRY


class DecisionOutdated(Conflict):
    """The decision is no longer the one that was shown."""

    code = "decision_outdated"
    action = Action.MEND


class PersonRequired(Forbidden):
    """Only a person answers decisions: use a personal access token of a user who is active."""

    code = "person_required"


class NotInAudience(Forbidden):
    """The decision is put to others."""

    code = "not_in_audience"


class OwnRequest(Forbidden):
    """Nobody decides on a request of their own here."""

    code = "own_request"


class AlreadyAnswered(Conflict):
    """This person has answered already, otherwise."""

    code = "already_answered"


class UnknownChoice(Invalid):
    """The decision has no such choice."""

    code = "unknown_choice"


class InvalidInput(Invalid):
    """The input is not what this choice takes."""

    code = "invalid_input"


# Messages and turns


class MessageNotFound(NotFound):
    """There is no such message in this run."""


class TurnNotFound(NotFound):
    """There is no such turn in this run."""


class MessageConflict(Conflict):
    """A message of this id was queued with other content."""

    code = "message_conflict"
    action = Action.MEND


class MessageSettled(Conflict):
    """The message was sent or cancelled already."""

    code = "message_settled"


class MessageNotSent(Conflict):
    """The message has not been sent."""

    code = "message_not_sent"
    action = Action.RETRY


class TurnConflict(Conflict):
    """A turn of this id was opened on another message."""

    code = "turn_conflict"
    action = Action.MEND


class TurnOpen(Conflict):
    """The message has an open turn."""

    code = "turn_open"
    action = Action.RETRY


class TurnEnded(Conflict):
    """The turn has ended."""

    code = "turn_ended"
