"""Refusals about a run, its lease and its holder."""

from runs.errors.base import Action, Conflict, NotFound


class RunNotFound(NotFound):
    """There is no such run in this project."""


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


class RunNotRunning(Conflict):
    """The run is not running."""

    code = "not_running"
    action = Action.MEND


class RunBegun(Conflict):
    """The run has begun, so that only its holder may do this."""

    code = "run_begun"
