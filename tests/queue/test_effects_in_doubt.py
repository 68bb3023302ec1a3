"""Effects in doubt: nothing applies them again by itself; an operator or the try's own token settles them, once."""

from dataclasses import replace
from typing import Any

import pytest

from runs import errors, transitions
from runs.models import Project
from runs.states import EffectOutcome
from runs.transitions import Claimant, Completion
from tests.builders import HOST, LEASE_MS, OPERATOR, FrozenClock, Made, RunBuilder, snapshot_of_everything, write
from tests.queue.effects_cast import EffectBuilder, Tried
from tests.queue.test_effects import refused

APPLIED, REJECTED = EffectOutcome.APPLIED, EffectOutcome.REJECTED
REASON = "The provider's log shows the call."


@pytest.fixture
def effects(make: RunBuilder, clock: FrozenClock) -> EffectBuilder:
    return EffectBuilder(make, clock)


def settle(tried: Tried, outcome: EffectOutcome = APPLIED, evidence: Any = None, reason: str = REASON) -> None:
    transitions.settle_ambiguous_effect(
        tried.project, tried.made.run_id, tried.effect_id, outcome, OPERATOR, reason, evidence
    )


def settle_own(tried: Tried, token: str, outcome: EffectOutcome = APPLIED, number: int = 1) -> None:
    transitions.settle_own_try(tried.project, tried.made.run_id, tried.effect_id, number, token, outcome, result="late")


def columns(made: Made) -> dict[str, Any]:
    """What stands in a run's row, apart from where its journal ends."""
    row = {name: value for name, value in vars(made.run).items() if name != "_before"}
    return {name: value for name, value in row.items() if name not in ("_state", "head_digest", "head_at")}


# A lost runner


@pytest.mark.parametrize("verb", ["reserve", "start", "doubt lost"])
def test_what_a_lost_runner_left_applying_is_in_doubt(effects: EffectBuilder, clock: FrozenClock, verb: str) -> None:
    tried = effects.lost()
    project, hold = tried.project, tried.made.hold
    clock.advance(5)

    if verb == "reserve":
        effect, is_new = transitions.reserve_effect(project, hold, tried.reservation)
        assert not is_new
    elif verb == "start":
        effect, number = transitions.start_effect(project, hold, tried.effect_id)
        assert number is None
    else:
        (effect,) = transitions.doubt_lost_effects(project, hold)

    assert (effect.status, tried.effect.status, tried.effect.settled_at) == ("ambiguous", "ambiguous", clock.at)
    (attempt,) = tried.tries
    assert (attempt.outcome, attempt.finished_at) == ("interrupted", clock.at)
    event = tried.events[-1]
    assert (event.type, event.actor_id, event.generation) == ("effect.ambiguous", "host-b", 2)
    assert '"reason":"runnerLost"' in event.payload
    assert tried.made.lease.open_work == 1


@pytest.mark.parametrize("verb", ["reserve", "doubt lost"])
def test_it_comes_into_doubt_once(effects: EffectBuilder, verb: str) -> None:
    tried = effects.lost()
    transitions.start_effect(tried.project, tried.made.hold, tried.effect_id)
    before = snapshot_of_everything()

    if verb == "reserve":
        transitions.reserve_effect(tried.project, tried.made.hold, tried.reservation)
    else:
        assert transitions.doubt_lost_effects(tried.project, tried.made.hold) == []

    assert snapshot_of_everything() == before


def test_ones_own_tries_are_not_in_doubt(effects: EffectBuilder, make: RunBuilder) -> None:
    made = make.running()
    for state in ("pending", "applying", "applied", "ambiguous"):
        getattr(effects, state)(made)
    before = snapshot_of_everything()

    assert transitions.doubt_lost_effects(made.project, made.hold) == []
    assert snapshot_of_everything() == before


def test_the_next_holder_cannot_report_a_lost_runners_try(effects: EffectBuilder) -> None:
    tried = effects.lost()

    for hold in (tried.made.hold, tried.tried_by.hold):
        kind = errors.EffectNotApplying if hold == tried.made.hold else errors.LeaseLost
        for call in (transitions.apply_effect, transitions.reject_effect, transitions.doubt_effect):
            refused(lambda call=call, hold=hold: call(tried.project, hold, tried.effect_id, 1, "x"), kind)  # type: ignore[misc]


def test_the_same_runner_with_a_new_generation_is_another_holder(
    project: Project, effects: EffectBuilder, make: RunBuilder, clock: FrozenClock
) -> None:
    tried = effects.applying()
    clock.advance(LEASE_MS)
    again = make.claimed(tried.made, HOST)
    transitions.mark_running(project, again.hold)

    effect, _ = transitions.reserve_effect(project, again.hold, tried.reservation)

    assert effect.status == "ambiguous"


# EFF-1


def test_a_crash_between_the_outside_call_and_its_record_is_settled_by_an_operator(
    project: Project, effects: EffectBuilder
) -> None:
    tried = effects.lost()
    key = tried.effect.outside_key
    transitions.reserve_effect(project, tried.made.hold, tried.reservation)
    completion = Completion(tried.made.run_id, tried.made.token)
    refused(lambda: transitions.complete(project, completion), errors.OpenWork)
    transitions.park_ambiguous_effect(project, tried.made.hold)
    assert transitions.claim_next(project, Claimant("host-c", LEASE_MS), ["a token"]) == []

    settle(tried, APPLIED, {"message": 7})

    assert (tried.made.axes, tried.made.run.error_code) == (("waiting", "queued"), None)
    (run,) = transitions.claim_next(project, Claimant("host-c", LEASE_MS), ["a token"])
    assert run.run_id == tried.made.run_id
    third = replace(tried.made, token="a token")
    transitions.mark_running(project, third.hold)
    effect, _ = transitions.reserve_effect(project, third.hold, tried.reservation)
    assert effect.result is not None
    assert (effect.status, bytes(effect.result.content)) == ("applied", b'{"message":7}')
    assert effect.outside_key == key
    transitions.complete(project, Completion(third.run_id, third.token))


# Settling by an operator


@pytest.mark.parametrize("outcome", [APPLIED, REJECTED])
def test_an_operator_settles_with_name_and_reason(
    effects: EffectBuilder, clock: FrozenClock, outcome: EffectOutcome
) -> None:
    tried = effects.ambiguous()
    clock.advance(5)

    settle(tried, outcome, {"log": 1})

    effect, event = tried.effect, tried.events[-1]
    assert (effect.status, effect.settled_at) == (outcome, clock.at)
    assert (event.type, event.actor_type, event.actor_id) == (f"effect.{outcome}", "human", "operator")
    assert event.generation is None
    assert f'"evidence":{{"log":1}},"number":1,"reason":"{REASON}"' in event.payload
    stored = effect.result if outcome == APPLIED else effect.error
    assert stored is not None
    assert bytes(stored.content).decode() == ('{"log":1}' if outcome == APPLIED else REASON)
    assert (effect.result is None, effect.error is None) == (outcome == REJECTED, outcome == APPLIED)
    assert tried.tries[0].outcome == "ambiguous"
    assert tried.made.lease.open_work == 0


@pytest.mark.parametrize("state", ["ambiguous", "parked", "cancelled_in_flight"])
def test_an_effect_is_settled_once(effects: EffectBuilder, state: str) -> None:
    tried = getattr(effects, state)()
    settle(tried)

    refusal = refused(lambda: settle(tried, REJECTED), errors.EffectSettled)
    refused(lambda: settle_own(tried, tried.tried_by.token), errors.EffectSettled)

    assert refusal.facts == {"effect_id": tried.effect_id, "effect_status": "applied"}


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 2_001])
def test_an_operator_says_why(effects: EffectBuilder, reason: str) -> None:
    tried = effects.ambiguous()

    refused(lambda: settle(tried, reason=reason), errors.Invalid)


@pytest.mark.parametrize("outcome", [EffectOutcome.AMBIGUOUS, EffectOutcome.INTERRUPTED])
def test_it_has_happened_or_it_has_not(effects: EffectBuilder, outcome: EffectOutcome) -> None:
    tried = effects.ambiguous()

    refused(lambda: settle(tried, outcome), errors.Invalid)
    refused(lambda: settle_own(tried, tried.made.token, outcome), errors.Invalid)


def test_evidence_is_limited(effects: EffectBuilder) -> None:
    tried = effects.ambiguous()

    refusal = refused(lambda: settle(tried, APPLIED, "x" * 65_536), errors.InvalidDocument)

    assert refusal.code == "payload_too_large"


def test_what_is_not_there_is_not_settled(project: Project, effects: EffectBuilder, make: RunBuilder) -> None:
    tried, other = effects.ambiguous(), make.running()

    refused(lambda: settle(Tried(other, tried.effect_id, 1, other)), errors.EffectNotFound)
    refused(lambda: settle_own(Tried(other, tried.effect_id, 1, other), tried.made.token), errors.NotOwnTry)


# Whether the run goes on


def test_a_run_that_is_parked_for_it_is_offered_again(effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.parked()
    revision = tried.made.run.revision
    clock.advance(5)

    settle(tried)

    run = tried.made.run
    assert tried.made.axes == ("waiting", "queued")
    assert (run.error_code, run.queue_error, run.available_at, run.queue_updated_at) == (None, None, clock.at, clock.at)
    assert tried.made.event_types[-2:] == ["effect.applied", "run.resume_requested"]
    assert (run.revision, tried.made.events[-1].actor_id) == (revision + 1, "operator")
    assert tried.made.lease.ready_at == clock.at


def test_it_waits_until_the_last_one_is_settled(effects: EffectBuilder, make: RunBuilder) -> None:
    made = make.running()
    first, second = effects.ambiguous(made), effects.ambiguous(made)
    effects.parked(first)

    settle(first)
    after_one = made.axes, made.run.error_code
    settle(second, REJECTED)

    assert after_one == (("waiting", "parked"), "effectAmbiguous")
    assert made.axes == ("waiting", "queued")


def test_a_held_run_goes_on_as_it_was(effects: EffectBuilder) -> None:
    tried = effects.ambiguous()
    before = columns(tried.made)

    settle(tried)

    assert columns(tried.made) == before
    assert tried.made.event_types[-1] == "effect.applied"


def test_a_paused_run_is_offered_when_it_is_unpaused(project: Project, effects: EffectBuilder) -> None:
    tried = effects.parked()
    transitions.pause(project, tried.made.run_id, OPERATOR)

    settle(tried)
    while_paused = tried.made.run.paused, tried.made.lease.ready_at, tried.made.run.error_code
    transitions.unpause(project, tried.made.run_id, OPERATOR)

    assert while_paused == (True, None, None)
    assert tried.made.axes == ("waiting", "queued")
    assert tried.made.lease.ready_at is not None


def test_a_pause_during_a_try_leaves_it_in_doubt_and_the_run_with_its_next_holder(
    project: Project, effects: EffectBuilder, make: RunBuilder
) -> None:
    tried = effects.applying()
    transitions.pause(project, tried.made.run_id, OPERATOR)
    assert tried.effect.status == "ambiguous"

    transitions.apply_effect(project, tried.made.hold, tried.effect_id, 1, "came through")
    transitions.unpause(project, tried.made.run_id, OPERATOR)

    second = make.claimed(tried.made, "host-b")
    transitions.mark_running(project, second.hold)
    effect, _ = transitions.reserve_effect(project, second.hold, tried.reservation)
    assert effect.status == "applied"


def test_a_pending_request_keeps_the_run_where_it_is(effects: EffectBuilder, make: RunBuilder) -> None:
    tried = effects.parked()
    ask(tried.made, make)
    before = columns(tried.made)

    settle(tried)

    assert columns(tried.made) == before


def ask(made: Made, make: RunBuilder) -> None:
    """A request that no verb leaves so."""
    from runs.models import InteractiveRequest, NodeAttempt
    from tests.builders import START, derive

    attempt = NodeAttempt.objects.create(
        run=made.run,
        attempt_id="asking",
        node_id="asking",
        node_type="step",
        attempt_number=1,
        status="waiting",
        generation=1,
        started_at=START,
        updated_at=START,
    )
    InteractiveRequest.objects.create(
        run=made.run,
        attempt=attempt,
        request_id="question",
        target_session_id="session",
        kind="input",
        created_at=START,
        updated_at=START,
    )
    derive(made.run)


@pytest.mark.parametrize("outcome", [APPLIED, REJECTED])
def test_settling_after_the_end_writes_the_effect_and_never_the_run(
    effects: EffectBuilder, outcome: EffectOutcome
) -> None:
    tried = effects.cancelled_in_flight()
    before, lease = columns(tried.made), snapshot_of_everything()["runs_lease"]

    settle(tried, outcome)

    assert tried.effect.status == outcome
    assert columns(tried.made) == before
    assert snapshot_of_everything()["runs_lease"] == lease
    assert tried.made.event_types[-1] == f"effect.{outcome}"


# EFF-2, and late reports of a try's own runner


def test_the_effects_of_a_cancelled_run(project: Project, effects: EffectBuilder, make: RunBuilder) -> None:
    made = make.running()
    pending, in_flight, applied, retry = (
        effects.pending(made),
        effects.applying(made),
        effects.applied(made),
        effects.waiting(made),
    )
    transitions.cancel(project, made.run_id, OPERATOR)

    transitions.apply_effect(project, made.hold, in_flight.effect_id, 1, {"id": 9})

    states = [each.effect.status for each in (pending, in_flight, applied, retry)]
    assert states == ["cancelled", "applied", "applied", "cancelled"]
    assert in_flight.effect.result is not None
    assert bytes(in_flight.effect.result.content) == b'{"id":9}'
    assert made.axes == ("cancelled", "cancelled")
    for tried in (pending, retry):
        refused(lambda key=tried.effect_id: transitions.start_effect(project, made.hold, key), errors.RunCancelled)  # type: ignore[misc]
    refused(lambda: transitions.reserve_effect(project, made.hold, applied.reservation), errors.RunCancelled)


@pytest.mark.parametrize("outcome", [APPLIED, REJECTED])
def test_a_fenced_runners_token_says_what_came_of_its_own_try(
    project: Project, effects: EffectBuilder, clock: FrozenClock, outcome: EffectOutcome
) -> None:
    tried = effects.cancelled_in_flight()
    before = columns(tried.made)
    clock.advance(5)

    if outcome == APPLIED:
        transitions.apply_effect(project, tried.made.hold, tried.effect_id, 1, "late")
    else:
        transitions.reject_effect(project, tried.made.hold, tried.effect_id, 1, "No.", 1_000)

    effect, event = tried.effect, tried.events[-1]
    assert (effect.status, effect.settled_at, effect.next_attempt_at) == (outcome, clock.at, None)
    assert (event.type, event.actor_type, event.actor_id) == (f"effect.{outcome}", "host", HOST)
    assert '"reason":"lateReport"' in event.payload
    assert [(each.outcome, each.finished_at) for each in tried.tries] == [(outcome, clock.at)]
    assert columns(tried.made) == before


def test_its_own_doubt_adds_nothing(project: Project, effects: EffectBuilder) -> None:
    tried = effects.cancelled_in_flight()

    refused(
        lambda: transitions.doubt_effect(project, tried.made.hold, tried.effect_id, 1, "Who knows."),
        errors.RunCancelled,
    )


def test_a_late_report_is_taken_while_another_holds_the_run_and_touches_nothing_else(
    project: Project, effects: EffectBuilder
) -> None:
    tried = effects.lost()
    transitions.reserve_effect(project, tried.made.hold, tried.reservation)
    before = columns(tried.made)

    transitions.apply_effect(project, tried.tried_by.hold, tried.effect_id, 1, {"id": 1})

    assert columns(tried.made) == before
    assert (tried.effect.status, tried.made.lease.open_work) == ("applied", 0)
    assert tried.made.lease.progressed is False
    transitions.complete(project, Completion(tried.made.run_id, tried.made.token))


def test_a_late_report_lets_a_run_go_on_that_is_parked_for_it(project: Project, effects: EffectBuilder) -> None:
    tried = effects.parked()

    settle_own(tried, tried.made.token, REJECTED)

    assert (tried.effect.status, tried.made.axes) == ("rejected", ("waiting", "queued"))
    assert tried.made.event_types[-2:] == ["effect.rejected", "run.resume_requested"]


def test_a_holder_that_finds_out_settles_its_own_doubt(project: Project, effects: EffectBuilder) -> None:
    tried = effects.ambiguous()

    transitions.apply_effect(project, tried.made.hold, tried.effect_id, 1, "found out")

    assert (tried.effect.status, tried.made.lease.progressed) == ("applied", True)


def test_no_other_token_and_no_other_try_is_its_own(project: Project, effects: EffectBuilder) -> None:
    tried = effects.lost()
    transitions.reserve_effect(project, tried.made.hold, tried.reservation)

    for token, number in [(tried.made.token, 1), ("another", 1), (tried.tried_by.token, 2), (tried.tried_by.token, 0)]:
        refused(lambda token=token, n=number: settle_own(tried, token, number=n), errors.NotOwnTry)  # type: ignore[misc]
    refused(lambda: transitions.apply_effect(project, tried.made.hold, tried.effect_id, 1), errors.EffectSettled)
    refused(lambda: transitions.apply_effect(project, tried.tried_by.hold, tried.effect_id, 2), errors.LeaseLost)


def test_an_earlier_try_is_not_the_one_in_doubt(project: Project, effects: EffectBuilder) -> None:
    tried = effects.applying()
    transitions.reject_effect(project, tried.made.hold, tried.effect_id, 1, "Again.", 0)
    tried = effects.started(tried)
    transitions.doubt_effect(project, tried.made.hold, tried.effect_id, 2, "The line went dead.")

    refused(lambda: settle_own(tried, tried.made.token, number=1), errors.NotOwnTry)
    settle_own(tried, tried.made.token, number=2)

    assert [each.outcome for each in tried.tries] == ["rejected", "applied"]


@pytest.mark.parametrize("state", ["applying", "lost"])
def test_an_expired_holders_report_is_refused_while_nothing_says_that_it_is_in_doubt(
    project: Project, effects: EffectBuilder, clock: FrozenClock, state: str
) -> None:
    tried = getattr(effects, state)()
    if state == "applying":
        clock.advance(LEASE_MS)

    refused(lambda: transitions.apply_effect(project, tried.tried_by.hold, tried.effect_id, 1), errors.LeaseLost)
    refused(lambda: settle_own(tried, tried.tried_by.token), errors.EffectNotAmbiguous)


def test_a_delete_is_refused_over_an_effect_in_doubt_and_not_after_it_is_settled(
    project: Project, effects: EffectBuilder
) -> None:
    tried = effects.ambiguous()
    refused(lambda: transitions.delete(project, tried.made.hold), errors.EffectUnsettled)
    settle(tried)

    transitions.delete(project, tried.made.hold)

    assert snapshot_of_everything()["runs_effect"] == []


def test_an_effect_of_another_scope_is_settled_without_the_run(effects: EffectBuilder) -> None:
    tried = effects.parked()
    type(tried.effect).objects.filter(pk=tried.effect.pk).update(owner_scope="project")
    write(tried.made)

    settle(tried)

    assert tried.effect.status == "applied"
