"""Parked interactive runs: pausing one, going on with it, asking for it to be run again, and its request's time-out."""

from django.db.models import F, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from runs import clock, errors, journal, rules
from runs.journal import Actor
from runs.models import ActiveInterval, InteractiveRequest, Project, Run
from runs.states import ActorType, QueueStatus, RequestStatus, RunStatus
from runs.transitions import crashes, dependents, derived, mutex
from runs.transitions.mutex import Hold, transition
from runs.verbs import BEGIN_INTERACTION_TIMEOUT, PAUSE_PARKED, REQUEST_RESUME, RESUME_INTERACTION, RUN_NOW, Verb

CONTROL = Actor(ActorType.CONTROL)
DEADLINE = "Workflow node model-turn deadline expired"
_PAUSE_FIELDS = ("paused", "parked_by_pause", "status_detail", "updated_at", *journal.HEAD_FIELDS)


_OFFERED_FIELDS = (
    "paused",
    "parked_by_pause",
    "updated_at",
    "queue_status",
    "queue_updated_at",
    "available_at",
    "error_code",
    "queue_error",
    *crashes.RUN_FIELDS,
    *journal.HEAD_FIELDS,
)


@transition
def pause_parked(project: Project, run_id: str, by: Actor = CONTROL) -> Run:
    """Pause a parked run that waits for its session. One that is paused already stays as it is."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(PAUSE_PARKED, run, run.lease, at)
    if run.paused:
        return run

    run.paused, run.status_detail, run.updated_at = True, "paused", at
    moved = dependents.close_intervals([run]).get(run.pk, ())
    run.lease.ready_at = rules.ready_at(run, run.lease)
    event = journal.entered(run, "run.paused", by, {"status": QueueStatus.PARKED}, at, generation=0, moved=moved)
    _write(run, _PAUSE_FIELDS)

    journal.write([event])
    return run


@transition
def resume_interaction(project: Project, run_id: str, by: Actor = CONTROL) -> Run:
    """Let a paused run wait for its session again."""
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(RESUME_INTERACTION, run, run.lease, at)

    run.paused, run.parked_by_pause = False, False
    run.status_detail, run.updated_at = "waiting for origin-session input", at
    run.lease.ready_at = rules.ready_at(run, run.lease)
    event = journal.entered(run, "run.resumed", by, {"status": run.status}, at, generation=0)
    _write(run, _PAUSE_FIELDS)

    journal.write([event])
    return run


def request_resume(project: Project, run_id: str, by: Actor = CONTROL) -> Run:
    """Offer an unfinished run again at once, whatever held it back. Refuses over a live lease or a pending request."""
    return _offered_again(project, run_id, by, REQUEST_RESUME)


def run_now(project: Project, run_id: str, by: Actor) -> Run:
    """The same, and forget crashes and their backoff. Refuses a paused run."""
    return _offered_again(project, run_id, by, RUN_NOW)


@transition
def _offered_again(project: Project, run_id: str, by: Actor, verb: Verb) -> Run:
    run = mutex.lock_one(project, run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(verb, run, run.lease, at)

    run.paused, run.parked_by_pause, run.updated_at = False, False, at
    run.queue_status, run.queue_updated_at, run.available_at = QueueStatus.QUEUED, at, at
    run.error_code = run.queue_error = None
    if verb == RUN_NOW:
        crashes.forgotten(run)
    run.lease.ready_at = rules.ready_at(run, run.lease)
    event = journal.entered(run, "run.resume_requested", by, {"status": QueueStatus.QUEUED}, at, generation=0)
    _write(run, _OFFERED_FIELDS)

    journal.write([event])
    return run


@transition
def begin_interaction_timeout(project: Project, hold: Hold, session_id: str) -> Run:
    """Cancel the first pending request of that session that has used up its active time; the run goes on without it.

    Refuses whoever does not hold the run, and where no request is due.
    """
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.hold(run, run.lease, hold.token, at)
    request = None if run.paused else _overdue(run, session_id)
    if request is None:
        raise errors.InteractionNotDue(run_id=run.run_id)
    rules.permit(BEGIN_INTERACTION_TIMEOUT, run, run.lease, at, token=hold.token)

    intervals = dependents.close_intervals([run]).get(run.pk, ())
    request.status, request.updated_at = RequestStatus.CANCELLED, at
    request.revision += 1
    mutex.write([request], ["status", "revision", "updated_at"])
    rejected = dependents.reject_submissions(project, request, DEADLINE, at)
    run.status, run.status_detail, run.updated_at = RunStatus.RUNNING, "finishing expired interaction deadline", at
    run.queue_status, run.queue_updated_at = QueueStatus.STARTING, at
    run.error_code = run.queue_error = None
    payload = {"requestId": request.request_id, "attemptId": request.attempt.attempt_id}
    derived.refresh([run])
    owner, generation, moved = journal.owner_of(run.lease), run.lease.generation, [request, *intervals, *rejected]
    event = journal.entered(
        run, "run.interaction_timeout_started", owner, payload, at, generation=generation, moved=moved
    )
    fields = ("status", "status_detail", "updated_at", "queue_status", "queue_updated_at", "error_code", "queue_error")
    _write(run, (*fields, *journal.HEAD_FIELDS))

    journal.write([event])
    return run


def _overdue(run: Run, session_id: str) -> InteractiveRequest | None:
    """The first by its attempt's start, then by its id, whose attempt has used up its active time."""
    spent = ActiveInterval.objects.filter(attempt=OuterRef("attempt")).values("attempt").annotate(ms=Sum("elapsed_ms"))
    pending = InteractiveRequest.objects.filter(
        run=run, target_session_id=session_id, status=RequestStatus.PENDING, attempt__timeout_ms__gt=0
    )
    due = pending.annotate(spent_ms=Coalesce(Subquery(spent.values("ms")), 0)).filter(
        spent_ms__gte=F("attempt__timeout_ms")
    )
    in_order = sorted(due.select_related("attempt"), key=lambda each: (each.attempt.started_at, each.request_id))
    return in_order[0] if in_order else None


def _write(run: Run, fields: tuple[str, ...]) -> None:
    mutex.write([run.lease], (*derived.DERIVED_FIELDS, *crashes.LEASE_FIELDS))
    mutex.write([run], fields)
