"""Pure rules for what runs and sessions say to each other: requests, submissions, messages and turns."""

from typing import Protocol, TypeVar

from runs import canonical, errors
from runs.states import ATTEMPT_OPEN, MessageStatus, RequestStatus, SubmissionOutcome

ID_LIMIT = 200  # characters
REQUEST_LIMIT = 1_000  # in a run
SUBMISSION_LIMIT = 1_000  # to a request
MESSAGE_LIMIT = 10_000  # in a run
TURN_LIMIT = 10_000  # in a run


class AttemptFacts(Protocol):
    """What these rules look at in an attempt."""

    attempt_id: str
    status: str
    generation: int


class RequestFacts(Protocol):
    """What these rules look at in a request."""

    request_id: str
    status: str
    revision: int
    target_session_id: str
    accepted_submission_id: str | None


class SubmissionFacts(Protocol):
    """What these rules look at in a submission."""

    submission_id: str
    outcome: str


def identifier(value: str, name: str, limit: int = ID_LIMIT) -> str:
    """`value`, if it can serve as an id: 1 to `limit` characters that can be stored."""
    if not 0 < len(value) <= limit:
        raise errors.Invalid(f"{name} must have 1 to {limit} characters.", place=f"/{name}")
    return text(value, name, limit)


def text(value: str, name: str, limit: int) -> str:
    """`value`, if it has at most `limit` characters and can be stored."""
    if len(value) > limit:
        raise errors.Invalid(f"{name} must have at most {limit} characters.", place=f"/{name}")
    try:
        return canonical.check_text(value, place=f"/{name}")
    except canonical.DocumentError as error:
        raise errors.InvalidDocument(error.message, code=error.code, place=error.place) from None


def room(count: int, limit: int, what: str) -> None:
    """Refuse one more where there are `limit` already."""
    if count >= limit:
        raise errors.TooMany(f"There are {limit} {what} already.", limit=limit)


A = TypeVar("A", bound=AttemptFacts)


def open_attempt(attempt: A | None, attempt_id: str, generation: int) -> A:
    """The attempt, if it is open under this generation."""
    if attempt is None:
        raise errors.AttemptNotFound(attempt_id=attempt_id)
    if attempt.status not in ATTEMPT_OPEN or attempt.generation != generation:
        raise errors.AttemptSettled(attempt_id=attempt_id, status=attempt.status)
    return attempt


def may_submit(request: RequestFacts, session_id: str | None, revision: int, validating_id: str | None) -> None:
    """Refuse an answer to a request that is over, changed, another session's, or being answered already."""
    pending(request)
    if session_id is not None and session_id != request.target_session_id:
        raise errors.WrongSession(request_id=request.request_id)
    if revision != request.revision:
        raise errors.RequestOutdated(request_id=request.request_id, revision=request.revision)
    if validating_id is not None:
        raise errors.SubmissionValidating(request_id=request.request_id, submission_id=validating_id)


def pending(request: RequestFacts) -> None:
    """Refuse a request that takes no answer any more."""
    if request.status != RequestStatus.PENDING:
        raise errors.RequestSettled(
            request_id=request.request_id,
            request_status=request.status,
            accepted_submission_id=request.accepted_submission_id,
        )


def validating(submission: SubmissionFacts) -> None:
    """Refuse a submission that has its receipt."""
    if submission.outcome != SubmissionOutcome.VALIDATING:
        raise errors.SubmissionSettled(submission_id=submission.submission_id, outcome=submission.outcome)


def may_send(message_id: str, status: str) -> None:
    """Refuse a message that is not pending."""
    if status != MessageStatus.PENDING:
        raise errors.MessageSettled(message_id=message_id, message_status=status)


def may_open_turn(message_id: str, status: str, open_turn_id: str | None) -> None:
    """Refuse a turn on a message that was not sent, or that has an open turn."""
    if status != MessageStatus.SENT:
        raise errors.MessageNotSent(message_id=message_id, message_status=status)
    if open_turn_id is not None:
        raise errors.TurnOpen(message_id=message_id, turn_id=open_turn_id)
