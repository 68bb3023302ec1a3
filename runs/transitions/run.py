"""What the holder of a run does with it: mark it running, park it, complete it, fail it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import clock, journal, rules
from runs.journal import Actor
from runs.models import Event, Project, Run
from runs.models.remembering import Remembering
from runs.states import PARK_EFFECT, SETTLE_EFFECT, ErrorCode, QueueStatus
from runs.transitions import blobs, dependents, derived, ending, mutex, outbox, wishes
from runs.transitions.mutex import Hold, Outcome, transition
from runs.verbs import COMPLETE, FAIL, FAIL_UNOWNED, MARK_RUNNING, PARK, TIME_OUT, TIME_OUT_UNOWNED, Verb


@dataclass(frozen=True, slots=True)
class Completion:
    """A run's output, from its holder."""

    run_id: str
    token: str
    output: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed; from its holder, or without a token from a caller with control."""

    run_id: str
    error_code: str
    error_message: str
    token: str | None = None


def mark_running(project: Project, hold: Hold) -> Run:
    """Say that the workflow runs. Refuses whoever does not hold the run."""
    return mutex.only(mark_running_all(project, [hold]))


@transition
def mark_running_all(project: Project, holds: Sequence[Hold]) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, [hold.run_id for hold in holds])
    now = clock.now()

    decided = mutex.decide(holds, runs, lambda run, hold: _permit(MARK_RUNNING, run, hold, now))

    events, ready_anew = [], []
    for run in decided.runs:
        at, status = mutex.never_back(run, now), rules.running_now(run, run.lease)
        if run.status != status:
            run.status, run.updated_at = status, at
        run.queue_status = QueueStatus.RUNNING
        run.started_at, run.queue_updated_at = run.started_at or at, at
        # Claimed, a run is ready as before; only under a claim for control may this make it so.
        if derived.is_ready_anew(run):
            ready_anew.append(run.lease)
        events.append(_entered(run, "run.queue_running", {"status": run.queue_status}, now))
    mutex.write(ready_anew, ["ready_at"])
    mutex.write(
        decided.runs, ["status", "updated_at", "queue_status", "queue_updated_at", "started_at", *journal.HEAD_FIELDS]
    )

    journal.write(events)
    return decided.outcomes


def park(project: Project, hold: Hold) -> Run:
    """Hand a run back: it is offered again at once. Refuses whoever does not hold the run."""
    return mutex.only(park_all(project, [hold]))


@transition
def park_all(project: Project, holds: Sequence[Hold]) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, [hold.run_id for hold in holds])
    now = clock.now()

    decided = mutex.decide(holds, runs, lambda run, hold: _permit(PARK, run, hold, now))

    effects = outbox.pending_of_type(decided.runs, PARK_EFFECT)
    events = []
    for run in decided.runs:
        run.queue_status, run.queue_updated_at = QueueStatus.PARKED, mutex.never_back(run, now)
        holder = journal.owner_of(run.lease)
        mutex.release(run.lease)
        run.lease.ready_at = rules.ready_at(run, run.lease)
        events.append(_entered(run, "run.queue_parked", {"status": run.queue_status}, now, by=holder))
        events += outbox.applied(run, effects.get(run.pk, ()), run.head_at)
    outbox.write(effects)
    mutex.write([run.lease for run in decided.runs], mutex.RELEASED_FIELDS)
    mutex.write(decided.runs, ["queue_status", "queue_updated_at", *journal.HEAD_FIELDS])
    events += wishes.carried_out(project, [run for run in decided.runs if run.lease.wish], now)

    journal.write(events)
    return decided.outcomes


def complete(project: Project, completion: Completion) -> Run:
    """End a run well, with its output. Refuses whoever does not hold the run."""
    return mutex.only(complete_all(project, [completion]))


@transition
def complete_all(project: Project, completions: Sequence[Completion]) -> list[Outcome]:
    """The same for many runs at once."""
    runs = mutex.lock(project, [completion.run_id for completion in completions])
    now = clock.now()

    outputs: dict[str, blobs.Content] = {}
    decided = mutex.decide(completions, runs, lambda run, item: _may_complete(run, item, now, outputs))

    effects = outbox.pending_of_type(decided.runs, SETTLE_EFFECT)
    stored = blobs.stored(project, outputs.values(), now)
    work = dependents.OpenWork(decided.runs)
    events = []
    for run, item in decided.allowed:
        at, holder = mutex.never_back(run, now), journal.owner_of(run.lease)
        ending.end(run, COMPLETE, at)
        run.output = stored[outputs[item.run_id]]
        moved = work.completed(run, at)
        events.append(_entered(run, "run.queue_done", {"status": QueueStatus.DONE}, now, by=holder, moved=moved))
        events += outbox.applied(run, effects.get(run.pk, ()), at)
    ending.write(decided.runs)
    outbox.write(effects)
    work.write()

    journal.write(events)
    return decided.outcomes


def fail(project: Project, failure: Failure) -> Run:
    """End a run as failed. Needs the run held, or, without a token, one that nobody has begun."""
    return mutex.only(fail_all(project, [failure]))


def fail_all(project: Project, failures: Sequence[Failure]) -> list[Outcome]:
    """The same for many runs at once."""
    return _failed(project, failures, FAIL, FAIL_UNOWNED)


def time_out(project: Project, run_id: str, error_message: str, token: str | None = None) -> Run:
    """End a run as timed out. Needs the run held, or, without a token, one that nobody has begun."""
    failure = Failure(run_id, ErrorCode.TIMED_OUT, error_message, token)
    return mutex.only(_failed(project, [failure], TIME_OUT, TIME_OUT_UNOWNED))


@transition
def _failed(project: Project, failures: Sequence[Failure], held: Verb, unowned: Verb) -> list[Outcome]:
    runs = mutex.lock(project, [failure.run_id for failure in failures])
    now = clock.now()

    decided = mutex.decide(
        failures, runs, lambda run, item: _permit(unowned if item.token is None else held, run, item, now)
    )

    messages = {item.run_id: blobs.text(item.error_message) for _, item in decided.allowed}
    stored = blobs.stored(project, messages.values(), now)
    stops = [
        ending.Stop(
            run,
            held,
            item.error_code,
            stored[messages[item.run_id]],
            journal.owner_of(run.lease),
            {"status": QueueStatus.FAILED, "code": item.error_code, "error": item.error_message},
        )
        for run, item in decided.allowed
    ]
    events = ending.stop(project, stops, now)

    journal.write(events)
    return decided.outcomes


def _permit(verb: Verb, run: Run, item: Hold | Completion | Failure, now: datetime) -> None:
    rules.permit(verb, run, run.lease, mutex.never_back(run, now), token=item.token)


def _may_complete(run: Run, item: Completion, now: datetime, outputs: dict[str, blobs.Content]) -> None:
    _permit(COMPLETE, run, item, now)
    rules.nothing_open(run, run.lease)
    outputs[item.run_id] = blobs.document(item.output)


def _entered(
    run: Run,
    type: str,
    payload: dict[str, Any],
    now: datetime,
    *,
    by: Actor | None = None,
    moved: Collection[Remembering] = (),
) -> Event:
    """An event of the holder's, or of whoever was that a moment ago."""
    by = by or journal.owner_of(run.lease)
    at, generation = mutex.never_back(run, now), run.lease.generation
    return journal.entered(run, type, by, payload, at, generation=generation, moved=moved)
