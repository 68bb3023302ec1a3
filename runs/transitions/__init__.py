"""The verbs: the whole writing surface of the domain. One subject a file."""

from runs.rules_decisions import DecisionAsk, Person
from runs.transitions.attempts import (
    AttemptStart,
    complete_attempt,
    fail_attempt,
    progress_attempt,
    start_attempt,
)
from runs.transitions.cancel import cancel, cancel_all, cancel_held, cancel_stale, cancel_unowned
from runs.transitions.claim import Claimant, claim, claim_for_control, claim_for_validation, claim_next
from runs.transitions.decision_answers import Answer as DecisionAnswer
from runs.transitions.decision_answers import Answered, answer_decision
from runs.transitions.decision_expiry import expire_decision, expire_decisions
from runs.transitions.decisions import amend_decision, ask_decision
from runs.transitions.delete import delete
from runs.transitions.demand import note_demand
from runs.transitions.effect_settlement import settle_ambiguous_effect, settle_own_try
from runs.transitions.effect_tries import apply_effect, doubt_effect, reject_effect, start_effect
from runs.transitions.effects import (
    EffectReservation,
    doubt_lost_effects,
    reserve_effect,
    reserve_effects,
    settle_effect,
)
from runs.transitions.hold_back import park_ambiguous_effect, park_no_progress, park_source_changed
from runs.transitions.interaction import (
    begin_interaction_timeout,
    pause_parked,
    request_resume,
    resume_interaction,
    run_now,
)
from runs.transitions.late import keep_late_result
from runs.transitions.messages import MessageDraft, queue_message, send_message
from runs.transitions.mutex import BATCH_LIMIT, Hold
from runs.transitions.notes import Note, record_event
from runs.transitions.observing import Observation
from runs.transitions.pause import pause, pause_all, unpause, unpause_all
from runs.transitions.receipts import Answer, answered_once
from runs.transitions.renew import Beat, renew, renew_all
from runs.transitions.requests import RequestAsk, raise_request, withdraw_request
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
from runs.transitions.submissions import Submission, accept_submission, reject_submission, submit
from runs.transitions.sweeping import Swept, sweep
from runs.transitions.tokens import issue_access_token, make_project, own, revoke_access_token, stamp_use
from runs.transitions.turns import end_turn, open_turn
from runs.transitions.wishes import request_cancel, request_pause, withdraw_wish

__all__ = [
    "BATCH_LIMIT",
    "Answer",
    "Answered",
    "AttemptStart",
    "Beat",
    "Claimant",
    "Completion",
    "DecisionAnswer",
    "DecisionAsk",
    "EffectReservation",
    "Failure",
    "Hold",
    "MessageDraft",
    "Note",
    "Observation",
    "Person",
    "RequestAsk",
    "Reservation",
    "Reserved",
    "Submission",
    "Swept",
    "accept_submission",
    "amend_decision",
    "answer_decision",
    "answered_once",
    "apply_effect",
    "ask_decision",
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
    "doubt_effect",
    "doubt_lost_effects",
    "end_turn",
    "expire_decision",
    "expire_decisions",
    "fail",
    "fail_all",
    "fail_attempt",
    "issue_access_token",
    "keep_late_result",
    "make_project",
    "mark_running",
    "mark_running_all",
    "note_demand",
    "open_turn",
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
    "queue_message",
    "raise_request",
    "record_event",
    "reject_effect",
    "reject_submission",
    "renew",
    "renew_all",
    "request_cancel",
    "request_pause",
    "request_resume",
    "reserve",
    "reserve_all",
    "reserve_effect",
    "reserve_effects",
    "reserve_or_adopt",
    "resume_interaction",
    "revoke_access_token",
    "run_now",
    "send_message",
    "settle_ambiguous_effect",
    "settle_effect",
    "settle_own_try",
    "stamp_use",
    "start_attempt",
    "start_effect",
    "submit",
    "sweep",
    "time_out",
    "unpause",
    "unpause_all",
    "withdraw_request",
    "withdraw_wish",
]
