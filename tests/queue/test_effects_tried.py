"""Trying effects: numbered tries under the holder's generation, and what its reports make of them."""

from datetime import timedelta

import pytest

from runs import errors, rules_effects, transitions
from runs.models import EffectAttempt, Project
from runs.rules import token_hash
from tests.builders import HOST, LEASE_MS, FrozenClock, RunBuilder, snapshot_of_everything, write, write_lease
from tests.queue.effects_cast import MAIL, RETRY_MS, EffectBuilder, Tried
from tests.queue.test_effects import refused


@pytest.fixture
def effects(make: RunBuilder, clock: FrozenClock) -> EffectBuilder:
    return EffectBuilder(make, clock)


def payload_of(tried: Tried) -> str:
    return str(tried.events[-1].payload)


def test_a_try_is_numbered_and_made_under_the_holders_generation(effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.pending()
    clock.advance(5)

    effect, number = transitions.start_effect(tried.project, tried.made.hold, tried.effect_id)

    assert (number, effect.status, tried.effect.status) == (1, "applying", "applying")
    (attempt,) = tried.tries
    assert (attempt.number, attempt.generation, attempt.owner_id) == (1, 1, HOST)
    assert (attempt.started_at, attempt.finished_at, attempt.outcome) == (clock.at, None, None)
    assert bytes(attempt.token_hash or b"") == token_hash(tried.made.token)
    assert tried.events[-1].type == "effect.started"
    assert payload_of(tried) == f'{{"effectType":"{MAIL}","number":1,"runId":"{tried.made.run_id}"}}'


def test_an_applied_effect_keeps_its_result(effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.applying()
    clock.advance(5)

    transitions.apply_effect(tried.project, tried.made.hold, tried.effect_id, 1, {"id": 7})

    effect = tried.effect
    assert (effect.status, effect.settled_at, effect.attempt_count) == ("applied", clock.at, 1)
    assert effect.result is not None
    assert bytes(effect.result.content) == b'{"id":7}'
    (attempt,) = tried.tries
    assert (attempt.outcome, attempt.finished_at) == ("applied", clock.at)
    assert [event.type for event in tried.events] == ["effect.reserved", "effect.started", "effect.applied"]
    assert tried.made.lease.open_work == 0


def test_a_try_rejected_with_a_retry_leaves_the_effect_pending_until_then(
    effects: EffectBuilder, clock: FrozenClock
) -> None:
    tried = effects.applying()

    transitions.reject_effect(tried.project, tried.made.hold, tried.effect_id, 1, "Come back later.", RETRY_MS)

    effect, due = tried.effect, clock.at + timedelta(milliseconds=RETRY_MS)
    assert (effect.status, effect.next_attempt_at, effect.settled_at) == ("pending", due, None)
    assert effect.error is not None
    assert bytes(effect.error.content) == b"Come back later."
    (attempt,) = tried.tries
    assert (attempt.outcome, attempt.finished_at) == ("rejected", clock.at)
    assert tried.events[-1].type == "effect.retried"
    assert f'"retryAt":{int(due.timestamp() * 1000)}' in payload_of(tried)
    assert '"error":"Come back later."' in payload_of(tried)


def test_a_retry_is_not_begun_before_its_time(effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.waiting()
    clock.advance(LEASE_MS - 1)

    refusal = refused(
        lambda: transitions.start_effect(tried.project, tried.made.hold, tried.effect_id), errors.EffectNotDue
    )

    assert (refusal.code, refusal.action) == ("effect_not_due", "retry")
    assert refusal.facts == {"effect_id": tried.effect_id, "retry_in_ms": RETRY_MS - LEASE_MS + 1}


def test_a_retry_begins_at_its_very_moment_under_the_next_number(
    project: Project, effects: EffectBuilder, clock: FrozenClock
) -> None:
    tried = effects.waiting()
    transitions.renew(project, tried.made.hold, 2 * RETRY_MS)
    clock.advance(RETRY_MS)

    again = effects.started(tried)

    assert again.number == 2
    assert [(each.number, each.outcome) for each in again.tries] == [(1, "rejected"), (2, None)]
    assert (again.effect.next_attempt_at, again.effect.attempt_count) == (None, 2)


def test_an_applied_retry_keeps_no_error(project: Project, effects: EffectBuilder) -> None:
    tried = effects.applying()
    transitions.reject_effect(project, tried.made.hold, tried.effect_id, 1, "Come back at once.", 0)
    tried = effects.started(tried)

    transitions.apply_effect(project, tried.made.hold, tried.effect_id, tried.number)

    assert (tried.effect.status, tried.effect.error) == ("applied", None)


def test_the_key_shown_outside_is_the_same_in_all_tries(project: Project, effects: EffectBuilder) -> None:
    tried = effects.pending()
    keys = {tried.effect.outside_key}

    for _ in range(3):
        tried = effects.started(tried)
        keys.add(tried.effect.outside_key)
        transitions.reject_effect(project, tried.made.hold, tried.effect_id, tried.number, "Again.", 0)

    assert len(keys) == 1
    assert len(tried.tries) == 3


@pytest.mark.parametrize("retry_in_ms", [-1, rules_effects.RETRY_LIMIT_MS + 1])
def test_a_retry_comes_within_thirty_days(project: Project, effects: EffectBuilder, retry_in_ms: int) -> None:
    tried = effects.applying()

    refused(
        lambda: transitions.reject_effect(project, tried.made.hold, tried.effect_id, 1, "Never.", retry_in_ms),
        errors.Invalid,
    )


def test_an_effect_rejected_for_good_is_over(project: Project, effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.rejected()

    effect = tried.effect
    assert (effect.status, effect.settled_at, tried.events[-1].type) == ("rejected", clock.at, "effect.rejected")
    assert effect.error is not None
    assert bytes(effect.error.content) == b"No such address."
    assert tried.made.lease.open_work == 0


def test_a_doubted_effect_waits_for_a_person_and_forbids_completing(effects: EffectBuilder, clock: FrozenClock) -> None:
    tried = effects.ambiguous()

    effect = tried.effect
    assert (effect.status, effect.settled_at, tried.events[-1].type) == ("ambiguous", clock.at, "effect.ambiguous")
    (attempt,) = tried.tries
    assert attempt.outcome == "ambiguous"
    assert tried.made.lease.open_work == 1
    assert '"reason":"runnerDoubts"' in payload_of(tried)


def test_a_long_error_is_kept_whole_and_told_in_part(project: Project, effects: EffectBuilder) -> None:
    tried, text = effects.applying(), "ö" * 9_000

    transitions.reject_effect(project, tried.made.hold, tried.effect_id, 1, text)

    assert tried.effect.error is not None
    assert bytes(tried.effect.error.content).decode() == text
    assert payload_of(tried).count("ö") == 8_192


@pytest.mark.parametrize("number", [0, 2, 2**40])
def test_only_the_open_try_is_reported(project: Project, effects: EffectBuilder, number: int) -> None:
    tried = effects.applying()

    refusal = refused(
        lambda: transitions.apply_effect(project, tried.made.hold, tried.effect_id, number), errors.EffectNotApplying
    )

    assert refusal.facts == {"effect_id": tried.effect_id, "effect_status": "applying", "number": 1}


def test_an_effect_is_not_tried_twice_at_once(project: Project, effects: EffectBuilder) -> None:
    tried = effects.applying()

    refusal = refused(
        lambda: transitions.start_effect(project, tried.made.hold, tried.effect_id), errors.EffectApplying
    )

    assert refusal.facts == {"effect_id": tried.effect_id, "number": 1}


def test_another_runs_effect_is_not_found(project: Project, make: RunBuilder, effects: EffectBuilder) -> None:
    tried, other = effects.pending(), make.running()

    for effect_id in (tried.effect_id, "nothing"):
        refused(lambda key=effect_id: transitions.start_effect(project, other.hold, key), errors.EffectNotFound)  # type: ignore[misc]
    refused(lambda: transitions.apply_effect(project, other.hold, tried.effect_id, 1), errors.EffectNotFound)


def test_several_effects_are_tried_at_once(effects: EffectBuilder, make: RunBuilder) -> None:
    made = make.running()

    tried = [effects.applying(made) for _ in range(3)]

    assert [each.effect.status for each in tried] == ["applying"] * 3
    assert made.lease.open_work == 3


def test_what_comes_of_a_try_is_reported_while_the_run_waits(project: Project, effects: EffectBuilder) -> None:
    tried = effects.applying()
    write(tried.made, status="waiting")

    transitions.apply_effect(project, tried.made.hold, tried.effect_id, 1)

    assert tried.effect.status == "applied"


@pytest.mark.parametrize("end", ["applied", "rejected"])
def test_an_effect_that_is_settled_is_progress(effects: EffectBuilder, make: RunBuilder, end: str) -> None:
    made = make.running()
    write(made, consecutive_errors=3)
    write_lease(made, backoff_ms=20_000)

    getattr(effects, end)(made)

    assert (made.run.consecutive_errors, made.lease.progressed, made.lease.backoff_ms) == (0, True, 0)


@pytest.mark.parametrize("state", ["pending", "applying", "waiting", "ambiguous", "lost"])
def test_an_effect_that_is_not_settled_is_no_progress(effects: EffectBuilder, make: RunBuilder, state: str) -> None:
    made = make.running()
    write(made, consecutive_errors=3)

    getattr(effects, state)(made)

    assert made.lease.progressed is False
    assert made.run.consecutive_errors >= 3


def test_a_released_run_keeps_its_effects_for_the_next_holder(
    project: Project, make: RunBuilder, effects: EffectBuilder
) -> None:
    tried = effects.waiting()
    transitions.park(project, tried.made.hold)
    second = make.claimed(tried.made, "host-b")
    transitions.mark_running(project, second.hold)

    effect, is_new = transitions.reserve_effect(project, second.hold, tried.reservation)

    assert (effect.status, is_new, effect.next_attempt_at) == ("pending", False, tried.effect.next_attempt_at)


def test_the_open_try_is_one_at_a_time_in_the_database_too(effects: EffectBuilder) -> None:
    tried = effects.applying()

    assert EffectAttempt.objects.filter(effect=tried.effect, finished_at=None).count() == 1
    assert snapshot_of_everything()["runs_effectattempt"]
