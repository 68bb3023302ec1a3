"""Submissions: what a session answers to a request, and what the runner that validates it makes of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, errors, journal, rules, rules_sessions
from runs.journal import Actor
from runs.models import InteractiveSubmission, Project, Run
from runs.states import RequestStatus, SubmissionOutcome
from runs.transitions import blobs, mutex, requests, waiting
from runs.transitions.mutex import Hold, transition
from runs.verbs import SETTLE_SUBMISSION, SUBMIT


@dataclass(frozen=True, slots=True)
class Submission:
    """A session's answer, with the revision of the request that it saw, under an id of the caller's choice."""

    request_id: str
    submission_id: str
    request_revision: int
    payload: Any = None


@transition
def submit(project: Project, run_id: str, submission: Submission, by: Actor) -> tuple[InteractiveSubmission, bool]:
    """The submission, and whether it was taken now; a runner validates it.

    The same id and payload again bring the standing one with its receipt, whatever became of the run. A paused run
    takes submissions, too, and validates them later. Refuses a request that is over, has changed, is another session's
    or has another submission validating.
    """
    rules_sessions.identifier(submission.submission_id, "submission_id")
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    request = requests.found(run, submission.request_id)
    payload = blobs.document(submission.payload)
    submissions = InteractiveSubmission.objects.filter(request=request)
    standing = submissions.select_related("payload", "receipt").filter(submission_id=submission.submission_id).first()
    if standing is not None:
        standing.request = request
        return _same(standing, payload), False
    _permit(run, at)
    validating = submissions.filter(outcome=SubmissionOutcome.VALIDATING).values_list("submission_id", flat=True)
    rules_sessions.may_submit(request, by.id, submission.request_revision, validating.first())
    rules_sessions.room(submissions.count(), rules_sessions.SUBMISSION_LIMIT, "submissions to this request")

    taken = InteractiveSubmission.objects.create(
        request=request,
        submission_id=submission.submission_id,
        payload=blobs.stored(project, [payload], at)[payload],
        outcome=SubmissionOutcome.VALIDATING,
        created_at=at,
    )
    event = journal.entered(run, "request.submitted", by, _facts(taken), at, generation=0, moved=[taken])
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return taken, True


@transition
def accept_submission(
    project: Project, hold: Hold, request_id: str, submission_id: str, receipt: Mapping[str, Any] | None = None
) -> InteractiveSubmission:
    """Settle the request with this submission: run and attempt run on. Refuses whoever does not hold the run."""
    run, submission, at = _validating(project, hold, request_id, submission_id)
    request = submission.request

    _answer(project, submission, SubmissionOutcome.ACCEPTED, dict(receipt or {}), at)
    request.status, request.accepted_submission_id = RequestStatus.SETTLED, submission.submission_id
    request.updated_at = request.settled_at = at
    request.revision += 1
    mutex.write([request], ["status", "accepted_submission_id", "revision", "updated_at", "settled_at"])
    moved = [submission, request, *waiting.go_on(run, request.attempt, at)]
    event = waiting.entered(run, "request.settled", _facts(submission) | waiting.facts(run), at, moved)
    waiting.write(run)

    journal.write([event])
    return submission


@transition
def reject_submission(
    project: Project,
    hold: Hold,
    request_id: str,
    submission_id: str,
    error: str,
    receipt: Mapping[str, Any] | None = None,
) -> InteractiveSubmission:
    """Turn this submission down and say why; the request stays pending. Refuses whoever does not hold the run."""
    run, submission, at = _validating(project, hold, request_id, submission_id)

    why = rules.detail(error)
    _answer(project, submission, SubmissionOutcome.REJECTED, {**(receipt or {}), "error": why}, at)
    event = waiting.entered(run, "request.submission_rejected", _facts(submission) | {"error": why}, at, [submission])
    mutex.write([run], journal.HEAD_FIELDS)

    journal.write([event])
    return submission


def _validating(
    project: Project, hold: Hold, request_id: str, submission_id: str
) -> tuple[Run, InteractiveSubmission, datetime]:
    """The locked run and its submission, if the caller may settle that."""
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())
    rules.permit(SETTLE_SUBMISSION, run, run.lease, at, token=hold.token)
    request = requests.found(run, request_id)
    submission = (
        InteractiveSubmission.objects.select_related("payload")
        .filter(request=request, submission_id=submission_id)
        .first()
    )
    if submission is None:
        raise errors.SubmissionNotFound(request_id=request_id, submission_id=submission_id)
    submission.request = request
    rules_sessions.validating(submission)
    rules_sessions.pending(request)
    return run, submission, at


def _permit(run: Run, at: datetime) -> None:
    """Refuse where the run is over; whoever acts on a session's current run is told which one replaced it."""
    try:
        rules.permit(SUBMIT, run, run.lease, at)
    except (errors.RunCancelled, errors.RunFinished) as refusal:
        restart = Run.objects.filter(parent=run).values_list("run_id", flat=True).first()
        if restart is not None:
            refusal.facts["restarted_as"] = restart
        raise


def _same(standing: InteractiveSubmission, payload: blobs.Content) -> InteractiveSubmission:
    if standing.payload is None or bytes(standing.payload.content) != payload[1]:
        raise errors.SubmissionConflict(submission_id=standing.submission_id)
    return standing


def _answer(
    project: Project,
    submission: InteractiveSubmission,
    outcome: SubmissionOutcome,
    extras: dict[str, Any],
    at: datetime,
) -> None:
    receipt = blobs.document(extras | {"status": outcome})
    submission.outcome, submission.receipt = outcome, blobs.stored(project, [receipt], at)[receipt]
    mutex.write([submission], ["outcome", "receipt"])


def _facts(submission: InteractiveSubmission) -> dict[str, Any]:
    facts = {"submissionId": submission.submission_id, "submissionOutcome": submission.outcome}
    return requests.facts(submission.request) | facts
