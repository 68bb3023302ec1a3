"""Requests to a session: a held run raises one and waits; its holder may withdraw it. Answers are in submissions."""

from dataclasses import dataclass
from typing import Any

from runs import clock, errors, journal, rules, rules_sessions
from runs.models import InteractiveRequest, NodeAttempt, Project, Run
from runs.states import RequestStatus
from runs.transitions import blobs, crashes, dependents, derived, mutex, waiting
from runs.transitions.mutex import Hold, transition
from runs.verbs import RAISE_REQUEST, WITHDRAW_REQUEST

WAITING = "waiting for origin-session input"
WITHDRAWN = "The run withdrew its request."


@dataclass(frozen=True, slots=True)
class RequestAsk:
    """What a run asks of a session, under an id of the caller's choice. `contract` says what it takes for an answer."""

    request_id: str
    attempt_id: str
    target_session_id: str
    kind: str = "agent"
    contract: Any = None


@transition
def raise_request(project: Project, hold: Hold, ask: RequestAsk) -> tuple[InteractiveRequest, bool]:
    """The request, and whether it was raised now; run and attempt wait for it.

    A request that was raised before with the same content is given back as it stands, with its answer. Refuses whoever
    does not hold the run, other content under the same id, and a run or an attempt that is not running.
    """
    _check(ask)
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.hold(run, run.lease, hold.token, at)
    contract = blobs.document(ask.contract)
    standing = InteractiveRequest.objects.select_related("attempt", "contract").filter(
        run=run, request_id=ask.request_id
    )
    if found := standing.first():
        return _same(found, ask, contract), False
    rules.permit(RAISE_REQUEST, run, run.lease, at, token=hold.token)
    attempt = rules_sessions.open_attempt(
        NodeAttempt.objects.filter(run=run, attempt_id=ask.attempt_id).first(), ask.attempt_id, run.lease.generation
    )
    rules_sessions.room(
        InteractiveRequest.objects.filter(run=run).count(), rules_sessions.REQUEST_LIMIT, "requests in this run"
    )

    request = InteractiveRequest.objects.create(
        run=run,
        attempt=attempt,
        request_id=ask.request_id,
        target_session_id=ask.target_session_id,
        kind=ask.kind,
        contract=blobs.stored(project, [contract], at)[contract],
        created_at=at,
        updated_at=at,
    )
    waiting.rest(run, WAITING, at)
    moved = [request, *waiting.rest_attempt(attempt, at)]
    crashes.progressed(run)
    derived.refresh([run])
    payload = facts(request) | {"kind": request.kind, "targetSessionId": request.target_session_id}
    event = waiting.entered(run, "request.raised", payload | waiting.facts(run), at, moved)
    waiting.write(run)

    journal.write([event])
    return request, True


@transition
def withdraw_request(project: Project, hold: Hold, request_id: str) -> InteractiveRequest:
    """Cancel a pending request: the run goes on without an answer. Refuses whoever does not hold the run."""
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(WITHDRAW_REQUEST, run, run.lease, at, token=hold.token)
    request = found(run, request_id)
    rules_sessions.pending(request)

    request.status, request.updated_at = RequestStatus.CANCELLED, at
    request.revision += 1
    mutex.write([request], ["status", "revision", "updated_at"])
    rejected = dependents.reject_submissions(project, request, WITHDRAWN, at)
    moved = [request, *rejected, *waiting.go_on(run, request.attempt, at)]
    event = waiting.entered(run, "request.withdrawn", facts(request) | waiting.facts(run), at, moved)
    waiting.write(run)

    journal.write([event])
    return request


def found(run: Run, request_id: str) -> InteractiveRequest:
    """The run's request of this id, with its attempt. Refuses an id that the run does not have."""
    request = InteractiveRequest.objects.select_related("attempt").filter(run=run, request_id=request_id).first()
    if request is None:
        raise errors.RequestNotFound(run_id=run.run_id, request_id=request_id)
    return request


def facts(request: InteractiveRequest) -> dict[str, Any]:
    """What an event says of where the request and its attempt stand after it."""
    return {
        "requestId": request.request_id,
        "requestStatus": request.status,
        "requestRevision": request.revision,
        "attemptId": request.attempt.attempt_id,
        "attemptStatus": request.attempt.status,
    }


def _check(ask: RequestAsk) -> None:
    rules_sessions.identifier(ask.request_id, "request_id")
    rules_sessions.identifier(ask.target_session_id, "target_session_id")
    rules_sessions.identifier(ask.kind, "kind", limit=50)


def _same(request: InteractiveRequest, ask: RequestAsk, contract: blobs.Content) -> InteractiveRequest:
    """The standing request, if it asks the same; under which attempt does not matter: the step may be repeated."""
    stands = request.contract and bytes(request.contract.content)
    if (request.target_session_id, request.kind, stands) != (ask.target_session_id, ask.kind, contract[1]):
        raise errors.RequestConflict(request_id=request.request_id)
    return request
