"""Refusals about requests to a session and decisions of people."""

from runs.errors.base import Action, Conflict, Invalid, NotFound, Refusal


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
