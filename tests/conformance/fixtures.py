"""The traces' fixture ops: rows put in directly, as other parts of the system would have written them."""

from collections.abc import Callable
from datetime import datetime

from django.db.models import Max

from runs import canonical, clock
from runs.models import (
    ActiveInterval,
    DecisionResolution,
    Effect,
    EffectAttempt,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.states import (
    ATTEMPT_TERMINAL,
    EFFECT_SETTLED,
    QUEUE_TERMINAL,
    RUN_TERMINAL,
    AttemptStatus,
    EffectStatus,
    RequestStatus,
)
from runs.transitions import blobs, derived
from tests.conformance.operations import Args, World

# An interrupted attempt is not over: the fixtures give it no time of finishing.
_FINISHED = ATTEMPT_TERMINAL


def ensure_project(world: World, args: Args) -> None:
    Project.objects.get_or_create(path=args["path"])


def start_run(world: World, args: Args) -> None:
    Run.objects.filter(run_id=args["run_id"], status="queued").update(status="running", updated_at=clock.now())


def set_run_status(world: World, args: Args) -> None:
    now = clock.now()
    Run.objects.filter(run_id=args["run_id"]).update(
        status=args["status"],
        status_detail=args.get("status_detail"),
        updated_at=now,
        finished_at=now if args["status"] in RUN_TERMINAL else None,
    )


def set_queue_status(world: World, args: Args) -> None:
    now = clock.now()
    Run.objects.filter(run_id=args["run_id"]).update(
        queue_status=args["status"],
        queue_updated_at=now,
        queue_finished_at=now if args["status"] in QUEUE_TERMINAL else None,
    )


def set_paused(world: World, args: Args) -> None:
    Run.objects.filter(run_id=args["run_id"]).update(paused=args["paused"], updated_at=clock.now())


def set_available_at(world: World, args: Args) -> None:
    Run.objects.filter(run_id=args["run_id"]).update(available_at=clock.from_ms(args["available_at"]))


def create_attempt(world: World, args: Args) -> None:
    run, now = Run.objects.get(run_id=args["run_id"]), clock.now()
    status = args.get("status", "running")
    error = blobs.text(args["error_text"]) if args.get("error_text") is not None else None
    NodeAttempt.objects.create(
        run=run,
        attempt_id=args["attempt_id"],
        node_id=args.get("node_id", "node"),
        node_type="step",
        attempt_number=args.get("attempt_number", 1),
        status=status,
        generation=0,
        error=blobs.stored(run.project, [error], now)[error] if error else None,
        timeout_ms=args.get("timeout_ms"),
        started_at=_at(args.get("started_at"), now),
        updated_at=now,
        finished_at=_at(args["finished_at"], now) if "finished_at" in args else now if status in _FINISHED else None,
    )


def set_attempt_status(world: World, args: Args) -> None:
    now = clock.now()
    NodeAttempt.objects.filter(attempt_id=args["attempt_id"]).update(
        status=AttemptStatus(args["status"]),
        updated_at=now,
        finished_at=now if args["status"] in _FINISHED else None,
    )


def add_active_interval(world: World, args: Args) -> None:
    _interval(args, ended=True)


def open_active_interval(world: World, args: Args) -> None:
    _interval(args, ended=False)


def _interval(args: Args, *, ended: bool) -> None:
    attempt, now = NodeAttempt.objects.get(attempt_id=args["attempt_id"]), clock.now()
    observed_at = _at(args.get("observed_at"), now)
    ActiveInterval.objects.create(
        attempt=attempt,
        number=ActiveInterval.objects.filter(attempt=attempt).count() + 1,
        elapsed_ms=args.get("elapsed_ms", 0),
        started_at=_at(args.get("started_at"), now),
        observed_at=observed_at,
        ended_at=observed_at if ended else None,
    )


def create_interactive_request(world: World, args: Args) -> None:
    now = clock.now()
    InteractiveRequest.objects.create(
        run=Run.objects.get(run_id=args["run_id"]),
        attempt=NodeAttempt.objects.get(attempt_id=args["attempt_id"]),
        request_id=args["request_id"],
        target_session_id=args["target_session_id"],
        kind=args.get("kind", "agent"),
        created_at=now,
        updated_at=now,
    )


def set_request_status(world: World, args: Args) -> None:
    request, now = InteractiveRequest.objects.get(request_id=args["request_id"]), clock.now()
    settled = args["status"] == RequestStatus.SETTLED
    request.status, request.updated_at = args["status"], now
    request.revision += 1
    request.settled_at = now if settled else None
    request.accepted_submission_id = args.get("submission_id", "accepted") if settled else None
    request.save()


def create_submission(world: World, args: Args) -> None:
    InteractiveSubmission.objects.create(
        request=InteractiveRequest.objects.get(request_id=args["request_id"]),
        submission_id=args["submission_id"],
        outcome=args.get("outcome", "validating"),
        created_at=clock.now(),
    )


def create_effect(world: World, args: Args) -> None:
    now, status = clock.now(), args.get("status", "pending")
    count = args.get("attempt_count", 1 if status == EffectStatus.APPLYING else 0)
    next_attempt_at = args.get("next_attempt_at")
    effect = Effect.objects.create(
        run=Run.objects.get(run_id=args["run_id"]),
        effect_id=args["effect_id"],
        effect_type=args.get("effect_type", "external.call"),
        idempotency_key=args.get("idempotency_key") or args["effect_id"],
        owner_scope=args.get("owner_scope", "run"),
        status=status,
        attempt_count=count,
        next_attempt_at=None if next_attempt_at is None else clock.from_ms(next_attempt_at),
        created_at=now,
        updated_at=now,
        settled_at=now if status in EFFECT_SETTLED else None,
    )
    for number in range(1, count + 1):
        is_open = number == count and status == EffectStatus.APPLYING
        EffectAttempt.objects.create(
            effect=effect,
            number=number,
            started_at=now,
            outcome=None if is_open else "rejected",
            finished_at=None if is_open else now,
        )


def set_effect_status(world: World, args: Args) -> None:
    now, status = clock.now(), args["status"]
    effect = Effect.objects.get(effect_id=args["effect_id"])
    effect.status, effect.updated_at = status, now
    effect.settled_at = now if status in EFFECT_SETTLED else None
    effect.save()
    if status in EFFECT_SETTLED:
        outcome = "interrupted" if status == EffectStatus.CANCELLED else status
        effect.attempts.filter(finished_at=None).update(outcome=outcome, finished_at=now)


def create_decision(world: World, args: Args) -> None:
    run, now = Run.objects.select_related("project").get(run_id=args["run_id"]), clock.now()
    request = blobs.document({"title": args["decision_id"]})
    HumanDecision.objects.create(
        project=run.project,
        run=run,
        attempt=NodeAttempt.objects.get(attempt_id=args["attempt_id"]),
        decision_id=args["decision_id"],
        request=blobs.stored(run.project, [request], now)[request],
        request_digest=canonical.digest(request[1]),
        created_at=now,
        updated_at=now,
    )
    if args.get("resolved"):
        resolve_decision(world, args)


def resolve_decision(world: World, args: Args) -> None:
    decision = HumanDecision.objects.get(decision_id=args["decision_id"])
    DecisionResolution.objects.create(
        decision=decision,
        outcome="accepted",
        provenance="human",
        channel="terminal",
        actor_id=args.get("actor_id", "human-1"),
        request_digest=decision.request_digest,
        resolved_at=clock.now(),
    )
    HumanDecision.objects.filter(pk=decision.pk).update(resolved_at=clock.now())


def create_message(world: World, args: Args) -> None:
    run, now, session = Run.objects.get(run_id=args["run_id"]), clock.now(), args["target_session_id"]
    last = WorkflowMessage.objects.filter(target_session_id=session).aggregate(last=Max("order"))["last"]
    WorkflowMessage.objects.create(
        project_id=run.project_id,
        run=run,
        message_id=args["message_id"],
        target_session_id=session,
        kind=args.get("kind", "step"),
        order=(last or 0) + 1,
        status=args.get("status", "pending"),
        created_at=now,
        updated_at=now,
    )


def open_turn(world: World, args: Args) -> None:
    now, ended = clock.now(), args.get("ended", False)
    WorkflowTurn.objects.create(
        run=Run.objects.get(run_id=args["run_id"]),
        message=WorkflowMessage.objects.get(message_id=args["message_id"]),
        turn_id=args["turn_id"],
        stop_reason="completed" if ended else None,
        started_at=now,
        ended_at=now if ended else None,
    )


def _at(ms: int | None, default: datetime) -> datetime:
    return default if ms is None else clock.from_ms(ms)


FIXTURES: dict[str, Callable[[World, Args], None]] = {
    fixture.__name__: fixture
    for fixture in (
        ensure_project,
        start_run,
        set_run_status,
        set_queue_status,
        set_paused,
        set_available_at,
        create_attempt,
        set_attempt_status,
        add_active_interval,
        open_active_interval,
        create_interactive_request,
        set_request_status,
        create_submission,
        create_effect,
        set_effect_status,
        create_decision,
        resolve_decision,
        create_message,
        open_turn,
    )
}


def derive_again() -> None:
    """After a fixture: what the product derives, by its own rule."""
    runs = list(Run.objects.select_related("lease"))
    derived.refresh(runs)
    for run in runs:
        run.lease.save(update_fields=derived.DERIVED_FIELDS)
