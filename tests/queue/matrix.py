"""Every verb of the table as a call, every state in which a run can be, and what the table says about the two.

This is the matrix itself; test_matrix.py goes through it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from runs import clock, errors, rules, transitions, verbs
from runs.models import ActiveInterval, InteractiveRequest, NodeAttempt
from runs.models.lease import OWNER_FIELDS
from runs.states import POSSIBLE_AXES, AttemptStatus, QueueStatus, RunStatus
from runs.transitions import AttemptStart, Claimant, Completion, EffectReservation, Failure, Note, Observation
from runs.verbs import LeaseNeed, Verb
from tests.builders import HOST, LEASE_MS, OPERATOR, Made, RunBuilder, write, write_lease

Axes = tuple[RunStatus, QueueStatus]
ENDS: dict[Axes, Callable[[RunBuilder], Made]] = {
    (RunStatus.COMPLETED, QueueStatus.DONE): RunBuilder.completed,
    (RunStatus.FAILED, QueueStatus.FAILED): RunBuilder.failed,
    (RunStatus.TIMED_OUT, QueueStatus.FAILED): RunBuilder.timed_out,
    (RunStatus.CANCELLED, QueueStatus.CANCELLED): RunBuilder.cancelled,
}
OPEN_AXES: list[Axes] = sorted(POSSIBLE_AXES - ENDS.keys())


class Holder(StrEnum):
    """Who has the lease, as the caller sees it."""

    NOBODY = "nobody"
    CALLER = "the caller"
    ANOTHER = "another"
    EXPIRED = "the caller until now"


@dataclass(frozen=True)
class State:
    """One way in which a run can stand. `asked`: a request of it is pending, and its time is used up."""

    axes: Axes
    holder: Holder = Holder.NOBODY
    paused: bool = False
    asked: bool = False

    def __str__(self) -> str:
        """Such as `running-parked, held by nobody, paused`."""
        flags = [name for name, is_set in (("paused", self.paused), ("asked", self.asked)) if is_set]
        return ", ".join(["-".join(self.axes), f"held by {self.holder}", *flags])

    @property
    def is_over(self) -> bool:
        return self.axes in ENDS

    @property
    def is_live(self) -> bool:
        return self.holder in (Holder.CALLER, Holder.ANOTHER)


@dataclass(frozen=True)
class Call:
    """One way to call a verb."""

    name: str
    verb: Verb
    perform: Callable[[Made], object]
    reclaims: bool = False


# A run that is over has neither an owner nor anything open.
STATES = [
    *(
        State(axes, holder, paused, asked)
        for axes, holder, paused, asked in product(OPEN_AXES, Holder, (False, True), (False, True))
        # A pause takes a run off the queue.
        if not (paused and axes[1] is QueueStatus.QUEUED)
    ),
    *(State(axes) for axes in ENDS),
]


def stand(make: RunBuilder, state: State) -> Made:
    """A run in this state, whether verbs lead there or not; its token is the caller's."""
    if state.is_over:
        return ENDS[state.axes](make)
    made, now = make.running(), clock.now()
    key = made.key
    NodeAttempt.objects.create(
        run_id=key, attempt_id="open", node_id="open", node_type="step", attempt_number=1,
        status=AttemptStatus.RUNNING, generation=1, started_at=now, updated_at=now,
    )  # fmt: skip
    if state.asked:
        attempt = NodeAttempt.objects.create(
            run_id=key, attempt_id="asking", node_id="asking", node_type="agent", attempt_number=1,
            status=AttemptStatus.WAITING, generation=1, timeout_ms=1, started_at=now, updated_at=now,
        )  # fmt: skip
        ActiveInterval.objects.create(attempt=attempt, number=1, elapsed_ms=1, started_at=now, observed_at=now)
        InteractiveRequest.objects.create(
            run_id=key, attempt=attempt, request_id="asked", target_session_id="session", kind="agent",
            created_at=now, updated_at=now,
        )  # fmt: skip
    match state.holder:
        case Holder.NOBODY:
            write_lease(made, takeover_at=None, **dict.fromkeys(OWNER_FIELDS))
        case Holder.ANOTHER:
            write_lease(made, owner_id="host-z", token_hash=rules.token_hash("a token of host-z"))
        case Holder.EXPIRED:
            write_lease(made, acquired_at=now, heartbeat_at=now, expires_at=now, takeover_at=now)
    status, queue_status = state.axes
    write(made, status=status, queue_status=queue_status, paused=state.paused)
    return made


_CLAIMANT = Claimant("host-b", LEASE_MS)
_RECLAIMANT = Claimant(HOST, LEASE_MS, reclaim=True)


def _calls() -> Iterator[Call]:
    yield Call("claim", verbs.CLAIM, lambda m: transitions.claim(m.project, m.run_id, _CLAIMANT, "a new token"))
    yield Call(
        "reclaim",
        verbs.CLAIM,
        lambda m: transitions.claim(m.project, m.run_id, _RECLAIMANT, "a new token"),
        reclaims=True,
    )
    yield Call(
        "claim for validation",
        verbs.CLAIM_FOR_VALIDATION,
        lambda m: transitions.claim_for_validation(m.project, m.run_id, _CLAIMANT, "a new token"),
    )
    yield Call(
        "claim for control",
        verbs.CLAIM_FOR_CONTROL,
        lambda m: transitions.claim_for_control(m.project, m.run_id, _CLAIMANT, "a new token"),
    )
    yield Call("renew", verbs.RENEW, lambda m: transitions.renew(m.project, m.hold, 2 * LEASE_MS))
    yield Call("mark running", verbs.MARK_RUNNING, lambda m: transitions.mark_running(m.project, m.hold))
    yield Call("park", verbs.PARK, lambda m: transitions.park(m.project, m.hold))
    yield Call(
        "park: no progress", verbs.PARK_HELD_BACK, lambda m: transitions.park_no_progress(m.project, m.hold, "why")
    )
    yield Call(
        "park: source changed",
        verbs.PARK_HELD_BACK,
        lambda m: transitions.park_source_changed(m.project, m.hold, "why"),
    )
    yield Call(
        "park: ambiguous effect",
        verbs.PARK_AMBIGUOUS_EFFECT,
        lambda m: transitions.park_ambiguous_effect(m.project, m.hold),
    )
    yield Call(
        "complete", verbs.COMPLETE, lambda m: transitions.complete(m.project, Completion(m.run_id, m.token, "output"))
    )
    yield Call("fail", verbs.FAIL, lambda m: transitions.fail(m.project, Failure(m.run_id, "code", "why", m.token)))
    yield Call(
        "fail without token",
        verbs.FAIL_UNOWNED,
        lambda m: transitions.fail(m.project, Failure(m.run_id, "code", "why")),
    )
    yield Call("time out", verbs.TIME_OUT, lambda m: transitions.time_out(m.project, m.run_id, "why", m.token))
    yield Call(
        "time out without token", verbs.TIME_OUT_UNOWNED, lambda m: transitions.time_out(m.project, m.run_id, "why")
    )
    yield Call("cancel as holder", verbs.CANCEL_HELD, lambda m: transitions.cancel_held(m.project, m.hold))
    yield Call("cancel unowned", verbs.CANCEL_UNOWNED, lambda m: transitions.cancel_unowned(m.project, m.run_id))
    yield Call("cancel stale", verbs.CANCEL_STALE, lambda m: transitions.cancel_stale(m.project, m.run_id))
    yield Call("cancel", verbs.CANCEL, lambda m: transitions.cancel(m.project, m.run_id, OPERATOR))
    yield Call("pause", verbs.PAUSE, lambda m: transitions.pause(m.project, m.run_id, OPERATOR))
    yield Call("unpause", verbs.UNPAUSE, lambda m: transitions.unpause(m.project, m.run_id, OPERATOR))
    yield Call("wish a pause", verbs.WISH, lambda m: transitions.request_pause(m.project, m.run_id, 1_000, OPERATOR))
    yield Call("wish a cancel", verbs.WISH, lambda m: transitions.request_cancel(m.project, m.run_id, 1_000, OPERATOR))
    yield Call(
        "withdraw a wish", verbs.WITHDRAW_WISH, lambda m: transitions.withdraw_wish(m.project, m.run_id, OPERATOR)
    )
    yield Call("run now", verbs.RUN_NOW, lambda m: transitions.run_now(m.project, m.run_id, OPERATOR))
    yield Call("pause parked", verbs.PAUSE_PARKED, lambda m: transitions.pause_parked(m.project, m.run_id))
    yield Call(
        "resume interaction",
        verbs.RESUME_INTERACTION,
        lambda m: transitions.resume_interaction(m.project, m.run_id),
    )
    yield Call("request resume", verbs.REQUEST_RESUME, lambda m: transitions.request_resume(m.project, m.run_id))
    yield Call(
        "interaction timeout",
        verbs.BEGIN_INTERACTION_TIMEOUT,
        lambda m: transitions.begin_interaction_timeout(m.project, m.hold, "session"),
    )
    yield Call("delete", verbs.DELETE, lambda m: transitions.delete(m.project, m.hold))
    yield Call(
        "record event",
        verbs.RECORD_EVENT,
        lambda m: transitions.record_event(m.project, Note(m.run_id, "seen", token=m.token), OPERATOR),
    )
    yield Call(
        "start attempt",
        verbs.WRITE_ATTEMPT,
        lambda m: transitions.start_attempt(m.project, m.hold, AttemptStart("new", "new")),
    )
    yield Call(
        "progress",
        verbs.WRITE_ATTEMPT,
        lambda m: transitions.progress_attempt(m.project, m.hold, Observation("open", 0.5)),
    )
    yield Call(
        "complete attempt", verbs.WRITE_ATTEMPT, lambda m: transitions.complete_attempt(m.project, m.hold, "open")
    )
    yield Call(
        "fail attempt", verbs.WRITE_ATTEMPT, lambda m: transitions.fail_attempt(m.project, m.hold, "open", "why")
    )
    yield Call(
        "reserve effect",
        verbs.RESERVE_EFFECT,
        lambda m: transitions.reserve_effect(m.project, m.hold, EffectReservation("mail", "key")),
    )


CALLS = list(_calls())


def reasons(call: Call, state: State) -> set[type[errors.Refusal]]:
    """Every refusal that would be true; none, where the verb is allowed."""
    verb, (status, queue_status) = call.verb, state.axes
    if state.is_over and (verb.lease is LeaseNeed.HELD or not (status in verb.run and queue_status in verb.queue)):
        return {errors.RunCancelled if status == RunStatus.CANCELLED else errors.RunFinished}
    found: set[type[errors.Refusal]] = set()
    if status not in verb.run or queue_status not in verb.queue:
        found |= {errors.RunNotRunning, errors.RunBegun, errors.NotParkedAndWaiting}
    if verb.paused is not None and state.paused != verb.paused:
        found.add(errors.RunPaused if state.paused else errors.RunNotPaused)
    if verb.asked is not None and state.asked != verb.asked:
        found.add(errors.RequestPending if state.asked else errors.NoPendingRequest)
    if verb is verbs.COMPLETE and state.asked:
        found.add(errors.OpenWork)
    if verb is verbs.BEGIN_INTERACTION_TIMEOUT and (state.paused or not state.asked):
        found.add(errors.InteractionNotDue)
    if verb is verbs.WITHDRAW_WISH:
        found.add(errors.NoWish)
    return found | _reasons_of_the_lease(call, state)


def _reasons_of_the_lease(call: Call, state: State) -> set[type[errors.Refusal]]:
    is_mine = call.reclaims and state.holder is Holder.CALLER
    match call.verb.lease:
        case LeaseNeed.HELD if state.holder is not Holder.CALLER:
            return {errors.RunPaused if state.paused else errors.LeaseLost}
        case LeaseNeed.LIVE if not state.is_live:
            return {errors.NobodyHolds}
        case LeaseNeed.NOT_LIVE if state.is_live and not is_mine:
            return {errors.LeaseHeld}
        case LeaseNeed.UNOWNED if state.holder is not Holder.NOBODY:
            return {errors.LeaseHeld}
    return set()


def axes_after(call: Call, state: State) -> Axes:
    """Where an allowed verb leads: to the table's ends, or else nowhere; two verbs have a rule of their own."""
    status, queue_status = state.axes
    if call.verb is verbs.PAUSE and state.paused:
        return state.axes
    if call.verb is verbs.MARK_RUNNING and not (status == RunStatus.WAITING and state.asked):
        status = RunStatus.RUNNING
    return call.verb.ends_run or status, call.verb.ends_queue or queue_status
