"""The bodies that the verbs take, as shapes that validate and describe them. Lengths are in characters."""

from enum import StrEnum
from typing import Final

from django.conf import settings

from api.fields import (
    BIGGEST,
    Document,
    Flag,
    Formed,
    Id,
    Items,
    LeaseToken,
    Name,
    ObjectDocument,
    OneOf,
    Several,
    Shape,
    Text,
    Whole,
)
from runs.rules import GRACE_LIMIT_MS
from runs.states import ErrorCode, ExecutionMode, LineageKind, Priority
from runs.transitions import BATCH_LIMIT

ERROR_MESSAGE_BYTES: Final = 65_536
PAYLOAD_BYTES: Final = 65_536
PROGRESS_BYTES: Final = 8_192
# Also the form in addresses: no character in it needs escaping there.
ATTEMPT_ID: Final = "[A-Za-z0-9][A-Za-z0-9._:-]{0,199}"
PRIORITIES: Final = {priority.name.lower(): priority for priority in Priority}

PARK_CODES: Final = (
    ErrorCode.RUNNER_NO_PROGRESS,
    ErrorCode.WORKFLOW_SOURCE_CHANGED,
    ErrorCode.EFFECT_AMBIGUOUS,
)


class ClaimPurpose(StrEnum):
    """What a run is claimed for."""

    WORK = "work"
    VALIDATION = "validation"
    CONTROL = "control"


_LIMITS: Final = settings.WORKFLOWQ
_MOST_ITEMS: Final = min(_LIMITS["MAX_BATCH"], BATCH_LIMIT)


def _lease_ms() -> Whole:
    return Whole(
        low=_LIMITS["LEASE_MS_MIN"],
        high=_LIMITS["LEASE_MS_MAX"],
        required=False,
        help_text=f"How long the lease lasts, in milliseconds; {_LIMITS['LEASE_MS_DEFAULT']} where absent.",
    )


def _active_ms() -> Whole:
    return Whole(
        required=False,
        allow_null=True,
        default=None,
        help_text="Milliseconds of work since the attempt's open interval began, by the runner's monotonic clock.",
    )


def _reclaim() -> Flag:
    return Flag(
        required=False, default=False, help_text="Take one's own live leases again; their older tokens are dead then."
    )


class AdoptRequest(Shape):
    """A reservation without its run id."""

    workflow_name = Name()
    workflow_ref = Text(most=2_000, help_text="What the client calls this version of the workflow.")
    workflow_source = Document(help_text="Where the code comes from: a builtin, a file, or a root with mounted ones.")
    definition_digest = Id(help_text='SHA-256 in hexadecimal, "sha256:" before it or not.')
    definition_snapshot = Document(help_text="What the digest stands for, for ever.")
    input = Document(required=False, default=None)
    launch_options = ObjectDocument(required=False, default=None)
    origin_session_id = Name()
    execution_mode = OneOf([*ExecutionMode], required=False, default=ExecutionMode.INTERACTIVE)
    priority = OneOf(PRIORITIES, required=False, default="normal")
    parent_run_id = Id(required=False, allow_null=True, default=None)
    lineage_kind = OneOf([*LineageKind], required=False, allow_null=True, default=None)
    restart_number = Whole(high=2**31 - 1, required=False, allow_null=True, default=None)
    parent_run_revision = Whole(required=False, allow_null=True, default=None)


class ReserveRequest(AdoptRequest):
    """A reservation."""

    run_id = Id(help_text="1 to 200 of A-Z a-z 0-9 . _ -, a letter or digit first; unique in the project, for ever.")


class ClaimNextRequest(Shape):
    """A claim of whatever comes next: up to as many runs as there are tokens."""

    owner_id = Name(help_text="Names the runner process. It belongs to the access token that uses it first.")
    workflows = Several(Name(), least=1, most=100, help_text="The workflows that the runner serves.")
    tokens = Several(
        LeaseToken(), least=1, most=_MOST_ITEMS, distinct=True, help_text="Fresh secrets, one for each run."
    )
    lease_ms = _lease_ms()
    exclude_run_ids = Several(Id(), most=100, required=False, default=list)
    reclaim = _reclaim()


class ClaimRequest(Shape):
    """A claim of one run by its id."""

    owner_id = Name()
    token = LeaseToken()
    lease_ms = _lease_ms()
    reclaim = _reclaim()
    purpose = OneOf(
        [*ClaimPurpose],
        required=False,
        default=ClaimPurpose.WORK,
        help_text="validation: of a submission to a pending request; control: queue status and error stay.",
    )


class RenewRequest(Shape):
    token = LeaseToken()
    lease_ms = _lease_ms()
    attempt_id = Formed(ATTEMPT_ID, required=False)
    progress = Document(most_bytes=PROGRESS_BYTES, required=False, default=None)
    active_ms = _active_ms()


class HoldRequest(Shape):
    """The lease token of the run's holder."""

    token = LeaseToken()


class ParkRequest(HoldRequest):
    """Handed back; with a code, held back until somebody asks for a resume."""

    code = OneOf([*PARK_CODES], required=False)
    detail = Text(most_bytes=ERROR_MESSAGE_BYTES, required=False, allow_blank=True, default="")


class HeldRun(HoldRequest):
    run_id = Id()


class RenewedRun(HeldRun):
    """A renewal may carry what the holder observes of an open attempt."""

    attempt_id = Formed(ATTEMPT_ID, required=False)
    progress = Document(most_bytes=PROGRESS_BYTES, required=False, default=None)
    active_ms = _active_ms()


class RenewAllRequest(Shape):
    lease_ms = _lease_ms()
    leases = Items(RenewedRun(), least=1, most=_MOST_ITEMS)


class CompleteRequest(HoldRequest):
    output = Document(required=False, default=None)


class FailRequest(Shape):
    """Without a token, for a run that nobody has begun."""

    token = LeaseToken(required=False)
    error_code = Name()
    error_message = Text(
        most_bytes=ERROR_MESSAGE_BYTES, allow_blank=True, help_text=f"At most {ERROR_MESSAGE_BYTES} bytes in UTF-8."
    )


class CancelRequest(Shape):
    """With a token by the holder; without, by an operator, over a live lease too."""

    token = LeaseToken(required=False)
    reason = Text(most=2_000, required=False, help_text="Kept in the event; only without a token.")
    grace_ms = Whole(
        low=1,
        high=GRACE_LIMIT_MS,
        required=False,
        help_text="Ask the holder, and cancel at the end of this time in any case; only without a token.",
    )
    if_idle = Flag(required=False, default=False, help_text="Refuse while somebody holds the run; without a token.")


class EventRequest(Shape):
    """With a token an event of the holder's; without, a note."""

    token = LeaseToken(required=False)
    type = Name()
    payload = Document(
        most_bytes=PAYLOAD_BYTES, required=False, default=dict, help_text=f"At most {PAYLOAD_BYTES} bytes as stored."
    )


class AttemptStartRequest(HoldRequest):
    node_id = Name()
    attempt_id = Formed(ATTEMPT_ID, help_text="Chosen by the caller, unique in the run.")
    node_type = Name(most=100, required=False, default="step")
    input = Document(required=False, default=None)
    timeout_ms = Whole(low=1, high=BIGGEST, required=False, allow_null=True, default=None)


class AttemptProgressRequest(HoldRequest):
    progress = Document(most_bytes=PROGRESS_BYTES, help_text=f"At most {PROGRESS_BYTES} bytes as stored.")
    active_ms = _active_ms()


class AttemptCompleteRequest(HoldRequest):
    output = Document(required=False, default=None)
    active_ms = _active_ms()


class AttemptFailRequest(HoldRequest):
    error_message = Text(most_bytes=ERROR_MESSAGE_BYTES, allow_blank=True)
    active_ms = _active_ms()


class ReserveItem(ReserveRequest):
    pass


class HoldItem(HeldRun):
    pass


class CompleteItem(CompleteRequest):
    run_id = Id()


class FailItem(FailRequest):
    run_id = Id()


class ReserveBatch(Shape):
    items = Items(ReserveItem(), least=1, most=_MOST_ITEMS)


class HoldBatch(Shape):
    items = Items(HoldItem(), least=1, most=_MOST_ITEMS)


class CompleteBatch(Shape):
    items = Items(CompleteItem(), least=1, most=_MOST_ITEMS)


class FailBatch(Shape):
    items = Items(FailItem(), least=1, most=_MOST_ITEMS)
