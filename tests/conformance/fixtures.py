"""The traces' fixture ops: rows put in directly, as other parts of the system would have written them."""

from collections.abc import Callable
from datetime import datetime

from runs import clock, rules
from runs.models import Lease, NodeAttempt, Project, Run
from runs.states import ATTEMPT_TERMINAL, QUEUE_TERMINAL, RUN_TERMINAL, AttemptStatus
from runs.transitions import blobs
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
        # Several attempts of a trace may stand for one node and number; here each has a node of its own.
        node_id=f"{args.get('node_id', 'node')}-{args['attempt_id']}",
        node_type="step",
        attempt_number=args.get("attempt_number", 1),
        status=status,
        generation=0,
        error=blobs.stored(run.project, [error], now)[error] if error else None,
        timeout_ms=args.get("timeout_ms"),
        started_at=_at(args.get("started_at"), now),
        updated_at=now,
        finished_at=_at(args.get("finished_at"), now if status in _FINISHED else None),
    )


def set_attempt_status(world: World, args: Args) -> None:
    now = clock.now()
    NodeAttempt.objects.filter(attempt_id=args["attempt_id"]).update(
        status=AttemptStatus(args["status"]),
        updated_at=now,
        finished_at=now if args["status"] in _FINISHED else None,
    )


def _at(ms: int | None, default: datetime | None) -> datetime | None:
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
    )
}


def derive_again() -> None:
    """After a fixture: what the product derives, by its own rule."""
    for run in Run.objects.select_related("lease"):
        Lease.objects.filter(pk=run.pk).update(ready_at=rules.ready_at(run))
