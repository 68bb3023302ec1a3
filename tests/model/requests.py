"""The model's requests to sessions, and what sessions submit to them."""

from runs.states import AttemptStatus, RequestStatus, RunStatus, SubmissionOutcome
from tests.model import ending, guards
from tests.model.attempts import open_attempt
from tests.model.dependents import Request, Submission
from tests.model.model import Queue, Refused, Run


def raise_request(
    queue: Queue, run_id: str, token: str, request_id: str, attempt_id: str, session_id: str
) -> tuple[RequestStatus, bool]:
    """How the request stands, and whether it was raised now; run and attempt wait for it."""
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    if request_id in run.requests:
        request = run.requests[request_id]
        if request.session_id != session_id:
            raise Refused("request_conflict")
        return request.status, False
    guards.running(run)
    guards.unpaused(run)
    guards.unasked(run)
    attempt = open_attempt(run, attempt_id)
    attempt.status, attempt.is_counting = AttemptStatus.WAITING, False
    run.requests[request_id] = Request(attempt_id, session_id)
    run.status = RunStatus.WAITING
    run.progress()
    run.revision += 1
    return RequestStatus.PENDING, True


def submit(
    queue: Queue, run_id: str, request_id: str, submission_id: str, session_id: str, revision: int, payload: str
) -> bool:
    """Whether it was taken now, to be validated; also while the run is paused."""
    run = queue.find(run_id)
    request = _find(run, request_id)
    if submission_id in request.submissions:
        if request.submissions[submission_id].payload != payload:
            raise Refused("submission_conflict")
        return False
    guards.unfinished(run)
    _pending(request)
    if request.session_id != session_id:
        raise Refused("wrong_session")
    if request.revision != revision:
        raise Refused("request_outdated")
    if any(each.outcome == SubmissionOutcome.VALIDATING for each in request.submissions.values()):
        raise Refused("submission_validating")
    request.submissions[submission_id] = Submission(payload)
    run.revision += 1
    return True


def settle_submission(
    queue: Queue, run_id: str, token: str, request_id: str, submission_id: str, outcome: SubmissionOutcome
) -> None:
    """Accepted, it settles the request and the run goes on; rejected, the request stays pending."""
    run = _may_settle(queue, run_id, token)
    request = _find(run, request_id)
    if submission_id not in request.submissions:
        raise Refused("not_found")
    submission = request.submissions[submission_id]
    if submission.outcome != SubmissionOutcome.VALIDATING:
        raise Refused("submission_settled")
    _pending(request)
    submission.outcome = outcome
    if outcome == SubmissionOutcome.ACCEPTED:
        request.move(RequestStatus.SETTLED)
        _go_on(run, request)
    run.revision += 1


def withdraw_request(queue: Queue, run_id: str, token: str, request_id: str) -> None:
    run = _may_settle(queue, run_id, token)
    request = _find(run, request_id)
    _pending(request)
    ending.cancel_request(request)
    _go_on(run, request)
    run.revision += 1


def _go_on(run: Run, request: Request) -> None:
    """Run and attempt run on, the attempt under the present generation."""
    run.status = RunStatus.RUNNING
    attempt = run.attempts[request.attempt_id]
    if not attempt.is_open:
        return
    attempt.status, attempt.generation = AttemptStatus.RUNNING, run.lease.generation
    if not attempt.is_counting:
        attempt.clocks.append(0)
        attempt.is_counting = True


def _may_settle(queue: Queue, run_id: str, token: str) -> Run:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    guards.begun(run)
    guards.unpaused(run)
    return run


def _find(run: Run, request_id: str) -> Request:
    if request_id not in run.requests:
        raise Refused("not_found")
    return run.requests[request_id]


def _pending(request: Request) -> None:
    if not request.is_pending:
        raise Refused("request_settled")
