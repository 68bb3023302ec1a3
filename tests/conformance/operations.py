"""The traces' operations, played on the domain layer. What is not here is not supported yet."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runs import clock, errors, reading, rules, transitions
from runs.journal import Actor
from runs.models import Event, Project, Run
from runs.states import ActorType
from runs.transitions import Claimant, Completion, Failure, Hold, Note, Reservation
from tests.conformance.records import authority_record, event_record, run_record, view_record

Args = dict[str, Any]


@dataclass
class World:
    """The project that steps belong to, and the keys of all events seen so far in their order."""

    path: str
    ranks: list[int] = field(default_factory=list)

    def project(self, args: Args) -> Project:
        return Project.objects.get(path=args.get("project", self.path))

    def see_new_events(self) -> None:
        last = self.ranks[-1] if self.ranks else 0
        self.ranks += Event.objects.filter(pk__gt=last).in_sequence().values_list("pk", flat=True)

    def rank(self, key: int) -> int:
        return self.ranks.index(key) + 1

    def key(self, rank: int) -> int:
        """The sequence number behind a rank; beyond the last one, a number that no event has yet."""
        if rank <= 0:
            return 0
        return self.ranks[rank - 1] if rank <= len(self.ranks) else 2**63 - 1


def reserve(world: World, args: Args) -> Any:
    run = transitions.reserve(world.project(args), _reservation(args))
    return run_record(run)


def reserve_or_adopt(world: World, args: Args) -> Any:
    reserved = transitions.reserve_or_adopt(world.project(args), _reservation(args))
    return {"state": "adopted" if reserved.adopted else "reserved", "run": run_record(reserved.run)}


def _reservation(args: Args) -> Reservation:
    named = {key: value for key, value in args.items() if key not in ("project", "workflow_source_ref")}
    return Reservation(workflow_ref=args["workflow_source_ref"], **named)


def get(world: World, args: Args) -> Any:
    return run_record(reading.run(world.project(args), args["run_id"]))


def get_view(world: World, args: Args) -> Any:
    return view_record(reading.run(world.project(args), args["run_id"]))


def project_path(world: World, args: Args) -> Any:
    return reading.run(world.project(args), args["run_id"]).project.path


def is_paused(world: World, args: Args) -> Any:
    return Run.objects.filter(project=world.project(args), run_id=args["run_id"], paused=True).exists()


def list_runs(world: World, args: Args) -> Any:
    runs = reading.runs(world.project(args)).with_documents()
    if statuses := args.get("statuses"):
        runs = runs.filter(queue_status__in=statuses)
    runs = runs.exclude(run_id__in=args.get("exclude_run_ids") or [])
    return [run_record(run) for run in runs[: args.get("limit")]]


def list_views(world: World, args: Args) -> Any:
    runs = reading.runs(world.project(args)).with_documents()[: args["offset"] + args["limit"]]
    return {"runs": [view_record(run) for run in runs][args["offset"] :]}


def find_session_reservation(world: World, args: Args) -> Any:
    return run_record(reading.session_reservation(world.project(args), args["session_id"]))


def find_session_reservation_view(world: World, args: Args) -> Any:
    return view_record(reading.session_reservation(world.project(args), args["session_id"]))


def claim(world: World, args: Args) -> Any:
    return _claimed(world, args, transitions.claim)


def claim_for_interaction_validation(world: World, args: Args) -> Any:
    return _claimed(world, args, transitions.claim_for_validation)


def claim_for_control(world: World, args: Args) -> Any:
    return _claimed(world, args, transitions.claim_for_control)


def _claimed(world: World, args: Args, verb: Callable[[Project, str, Claimant, str], Run]) -> Any:
    project, token = world.project(args), args["claim_token"]
    run = verb(project, args["run_id"], _claimant(args), token)
    return run_record(reading.run(project, run.run_id), token)


def claim_next(world: World, args: Args) -> Any:
    project, token = world.project(args), args["claim_token"]
    exclude = args.get("exclude_run_ids") or []
    for run in transitions.claim_next(project, _claimant(args), [token], exclude=exclude):
        return run_record(reading.run(project, run.run_id), token)
    return None


def _claimant(args: Args) -> Claimant:
    return Claimant(args["runner_id"], args["lease_ms"], reclaim=True, count_crashes=False)


def renew(world: World, args: Args) -> Any:
    transitions.renew(world.project(args), _hold(args), args["lease_ms"])
    return True


def verify_claim(world: World, args: Args) -> Any:
    return reading.is_held(world.project(args), args["run_id"], args["claim_token"], clock.now())


def authority(world: World, args: Args) -> Any:
    run = reading.authority(world.project(args), args["run_id"], args["claim_token"])
    return authority_record(run, args["claim_token"])


def mark_running(world: World, args: Args) -> Any:
    transitions.mark_running(world.project(args), _hold(args))
    return True


def park(world: World, args: Args) -> Any:
    transitions.park(world.project(args), _hold(args))
    return True


def complete(world: World, args: Args) -> Any:
    transitions.complete(world.project(args), Completion(args["run_id"], args["claim_token"]))
    return True


def fail(world: World, args: Args) -> Any:
    failure = Failure(args["run_id"], args["error_code"], args["error_message"], args.get("claim_token"))
    transitions.fail(world.project(args), failure)
    return True


def cancel(world: World, args: Args) -> Any:
    project, run_id = world.project(args), args["run_id"]
    if args.get("claim_token") is not None:
        transitions.cancel_held(project, _hold(args))
        return True
    try:
        transitions.cancel_unowned(project, run_id)
    except errors.Conflict:
        transitions.cancel_stale(project, run_id)
    return True


def cancel_stale(world: World, args: Args) -> Any:
    by = [Actor(ActorType.CONTROL, args["control_id"])] if args.get("control_id") else []
    transitions.cancel_stale(world.project(args), args["run_id"], *by)
    return True


def park_no_progress(world: World, args: Args) -> Any:
    transitions.park_no_progress(world.project(args), _hold(args), args["detail"])
    return True


def park_source_changed(world: World, args: Args) -> Any:
    transitions.park_source_changed(world.project(args), _hold(args), args["detail"])
    return True


def park_ambiguous_effect(world: World, args: Args) -> Any:
    transitions.park_ambiguous_effect(world.project(args), _hold(args))
    return True


def delete(world: World, args: Args) -> Any:
    transitions.delete(world.project(args), _hold(args))
    return True


def pause_parked(world: World, args: Args) -> Any:
    transitions.pause_parked(world.project(args), args["run_id"])
    return True


def resume_paused_interaction(world: World, args: Args) -> Any:
    transitions.resume_interaction(world.project(args), args["run_id"])
    return True


def request_resume(world: World, args: Args) -> Any:
    transitions.request_resume(world.project(args), args["run_id"])
    return True


def begin_interaction_timeout(world: World, args: Args) -> Any:
    transitions.begin_interaction_timeout(world.project(args), _hold(args), args["target_session_id"])
    return True


def settle_effect(world: World, args: Args) -> Any:
    transitions.settle_effect(world.project(args), args["run_id"], args["effect_type"])


def record_event(world: World, args: Args) -> Any:
    runner_id = args.get("runner_id")
    by = Actor(ActorType(rules.owner_type(runner_id or "")), runner_id)
    note = Note(args["run_id"], args["type"], args.get("payload") or {})
    event = transitions.record_event(world.project(args), note, by)
    world.see_new_events()
    return event_record(event, world.rank(event.pk)) | {"workflow_ref": args["workflow_ref"]}


def list_events_after(world: World, args: Args) -> Any:
    events = reading.events_after(world.project(args), world.key(args["seq"]))[: args.get("limit", 100)]
    return [event_record(event, world.rank(event.pk)) for event in events]


def _hold(args: Args) -> Hold:
    return Hold(args["run_id"], args["claim_token"])


OPERATIONS: dict[str, Callable[[World, Args], Any]] = {
    verb.__name__: verb
    for verb in (
        reserve,
        reserve_or_adopt,
        get,
        get_view,
        list_views,
        project_path,
        is_paused,
        find_session_reservation,
        find_session_reservation_view,
        claim,
        claim_for_interaction_validation,
        claim_for_control,
        claim_next,
        renew,
        verify_claim,
        authority,
        mark_running,
        park,
        complete,
        fail,
        cancel,
        cancel_stale,
        park_no_progress,
        park_source_changed,
        park_ambiguous_effect,
        delete,
        pause_parked,
        resume_paused_interaction,
        request_resume,
        begin_interaction_timeout,
        settle_effect,
        record_event,
        list_events_after,
    )
} | {"list": list_runs}

# What a refusal answers: these give a thing or nothing, the rest true or false, but for those that have errors.
_NOTHING = ("authority", "get", "get_view", "project_path", "settle_effect")
_ERRORS: dict[str, tuple[type[errors.Refusal], ...]] = {
    "reserve": (errors.Refusal,),
    "reserve_or_adopt": (errors.Refusal,),
    "record_event": (errors.Refusal,),
    "park_ambiguous_effect": (errors.RunNotRunning,),
    "begin_interaction_timeout": (errors.NotParkedAndWaiting,),
}


def refused(op: str, refusal: errors.Refusal) -> dict[str, Any]:
    """The answer to a step that was refused."""
    if isinstance(refusal, _ERRORS.get(op, ())):
        code = "run_not_found" if isinstance(refusal, errors.RunNotFound) else refusal.code
        kind = "constraint" if isinstance(refusal, _CONSTRAINTS) else "domain"
        return {"error": refusal.detail, "error_code": code, "error_kind": kind}
    return {"result": None if op in _NOTHING or op.startswith(("claim", "find_")) else False}


_CONSTRAINTS = (errors.SessionBusy, errors.ParentAlreadyRestarted, errors.DuplicateMount)
