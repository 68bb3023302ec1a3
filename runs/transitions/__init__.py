"""The verbs: the whole writing surface of the domain. One subject a file."""

from runs.transitions.attempts import (
    AttemptStart,
    complete_attempt,
    fail_attempt,
    progress_attempt,
    start_attempt,
)
from runs.transitions.cancel import cancel, cancel_all, cancel_held, cancel_stale, cancel_unowned
from runs.transitions.claim import Claimant, claim, claim_for_control, claim_for_validation, claim_next
from runs.transitions.delete import delete
from runs.transitions.effects import settle_effect
from runs.transitions.hold_back import park_ambiguous_effect, park_no_progress, park_source_changed
from runs.transitions.interaction import (
    begin_interaction_timeout,
    pause_parked,
    request_resume,
    resume_interaction,
    run_now,
)
from runs.transitions.late import keep_late_result
from runs.transitions.mutex import BATCH_LIMIT, Hold
from runs.transitions.notes import Note, record_event
from runs.transitions.pause import pause, pause_all, unpause, unpause_all
from runs.transitions.receipts import Answer, answered_once
from runs.transitions.renew import renew, renew_all
from runs.transitions.reservation import Reservation
from runs.transitions.reserve import Reserved, reserve, reserve_all, reserve_or_adopt
from runs.transitions.run import (
    Completion,
    Failure,
    complete,
    complete_all,
    fail,
    fail_all,
    mark_running,
    mark_running_all,
    park,
    park_all,
    time_out,
)
from runs.transitions.tokens import issue_access_token, make_project, own, revoke_access_token, stamp_use
from runs.transitions.wishes import request_cancel, request_pause, withdraw_wish

__all__ = [
    "BATCH_LIMIT",
    "Answer",
    "AttemptStart",
    "Claimant",
    "Completion",
    "Failure",
    "Hold",
    "Note",
    "Reservation",
    "Reserved",
    "answered_once",
    "begin_interaction_timeout",
    "cancel",
    "cancel_all",
    "cancel_held",
    "cancel_stale",
    "cancel_unowned",
    "claim",
    "claim_for_control",
    "claim_for_validation",
    "claim_next",
    "complete",
    "complete_all",
    "complete_attempt",
    "delete",
    "fail",
    "fail_all",
    "fail_attempt",
    "issue_access_token",
    "keep_late_result",
    "make_project",
    "mark_running",
    "mark_running_all",
    "own",
    "park",
    "park_all",
    "park_ambiguous_effect",
    "park_no_progress",
    "park_source_changed",
    "pause",
    "pause_all",
    "pause_parked",
    "progress_attempt",
    "record_event",
    "renew",
    "renew_all",
    "request_cancel",
    "request_pause",
    "request_resume",
    "reserve",
    "reserve_all",
    "reserve_or_adopt",
    "resume_interaction",
    "revoke_access_token",
    "run_now",
    "settle_effect",
    "stamp_use",
    "start_attempt",
    "time_out",
    "unpause",
    "unpause_all",
    "withdraw_wish",
]
