"""Reserving effects: the same type and key is the same effect, whoever asks, in whatever order."""

import hashlib
from collections.abc import Callable

import pytest

from runs import clock as queue_clock
from runs import errors, rules_effects, transitions
from runs.models import Effect, Project
from runs.transitions import Completion, EffectReservation, Hold
from tests.builders import HOST, START, FrozenClock, Made, RunBuilder, snapshot_of_everything, write
from tests.queue.effects_cast import MAIL, EffectBuilder, mail


@pytest.fixture
def held(make: RunBuilder) -> Made:
    return make.running()


@pytest.fixture
def effects(make: RunBuilder, clock: FrozenClock) -> EffectBuilder:
    return EffectBuilder(make, clock)


def refused(call: Callable[[], object], kind: type[errors.Refusal]) -> errors.Refusal:
    """The refusal of a call that changes nothing."""
    before = snapshot_of_everything()
    with pytest.raises(kind) as told:
        call()
    assert snapshot_of_everything() == before
    return told.value


def test_a_reserved_effect_is_pending_with_its_payload(project: Project, held: Made) -> None:
    effect, is_new = transitions.reserve_effect(project, held.hold, mail("order-7", {"n": 1.0}))

    assert (is_new, effect.status, effect.attempt_count, effect.revision) == (True, "pending", 0, 1)
    stored = Effect.objects.with_documents().get(run=held.run)
    assert (stored.effect_type, stored.idempotency_key, stored.owner_scope) == (MAIL, "order-7", "run")
    assert (stored.created_at, stored.updated_at, stored.settled_at) == (START, START, None)
    assert stored.payload is not None
    assert bytes(stored.payload.content) == b'{"text":{"n":1}}'


def test_reserving_is_an_event_of_the_effect_by_the_holder_under_its_generation(project: Project, held: Made) -> None:
    revision = held.run.revision

    effect, _ = transitions.reserve_effect(project, held.hold, mail("order-7"))

    event = held.events[-1]
    assert (event.kind, event.key, event.revision, event.type) == ("effect", effect.effect_id, 1, "effect.reserved")
    assert (event.actor_type, event.actor_id, event.generation) == ("host", HOST, 1)
    assert event.payload == f'{{"effectType":"{MAIL}","idempotencyKey":"order-7","number":0,"runId":"{held.run_id}"}}'
    assert held.run.revision == revision


def test_the_id_follows_from_run_type_and_key(project: Project, held: Made) -> None:
    effect, _ = transitions.reserve_effect(project, held.hold, EffectReservation(MAIL, "Größe"))

    form = f"{len(held.run_id)}:{held.run_id}9:mail.send7:Größe"
    assert effect.effect_id == hashlib.sha256(form.encode()).hexdigest()


def test_no_two_lists_of_names_make_the_same_id() -> None:
    names = [("r", "ab", "c"), ("r", "a", "bc"), ("ra", "b", "c"), ("r", "a1:b", "c"), ("r", "a", "1:bc")]

    assert len({rules_effects.effect_id(*each) for each in names}) == len(names)


def test_the_same_run_id_in_another_project_has_the_same_ids_and_other_keys_outside(
    project: Project, other_project: Project
) -> None:
    reserved = []
    for each in (project, other_project):
        made = RunBuilder(each).running(run_id="run-x", origin_session_id="s")
        reserved.append(transitions.reserve_effect(each, made.hold, mail("order-7"))[0])

    ours, theirs = reserved
    assert ours.effect_id == theirs.effect_id
    assert ours.outside_key != theirs.outside_key


def test_a_deleted_runs_effect_is_not_the_new_ones(project: Project, make: RunBuilder) -> None:
    old = make.running(run_id="run-x")
    before, _ = transitions.reserve_effect(project, old.hold, mail("order-7"))
    transitions.delete(project, old.hold)
    new = make.running(run_id="run-x")

    after, is_new = transitions.reserve_effect(project, new.hold, mail("order-7", "another"))

    assert (is_new, after.effect_id == before.effect_id) == (True, True)
    assert after.outside_key != before.outside_key


def test_the_same_effect_again_is_adopted(project: Project, held: Made) -> None:
    first, _ = transitions.reserve_effect(project, held.hold, mail("order-7", {"a": 1, "b": 2.0}))
    before = snapshot_of_everything()

    second, is_new = transitions.reserve_effect(project, held.hold, mail("order-7", {"b": 2, "a": 1}))

    assert (second.pk, is_new) == (first.pk, False)
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("state", ["pending", "waiting", "applying", "applied", "rejected", "ambiguous", "cancelled"])
def test_an_effect_is_adopted_however_it_stands(effects: EffectBuilder, state: str) -> None:
    tried = getattr(effects, state)()
    before = snapshot_of_everything()

    effect, is_new = transitions.reserve_effect(tried.project, tried.made.hold, tried.reservation)

    assert (effect.effect_id, effect.status, is_new) == (tried.effect_id, tried.effect.status, False)
    assert snapshot_of_everything() == before


def test_an_applied_effect_comes_back_with_its_result(effects: EffectBuilder) -> None:
    tried = effects.applied()

    effect, _ = transitions.reserve_effect(tried.project, tried.made.hold, tried.reservation)

    assert effect.result is not None
    assert bytes(effect.result.content) == b'{"id":7}'


@pytest.mark.parametrize("state", ["pending", "applying", "lost", "applied", "rejected", "ambiguous", "cancelled"])
def test_another_payload_under_the_same_key_is_a_conflict(effects: EffectBuilder, state: str) -> None:
    tried = getattr(effects, state)()
    other = EffectReservation(MAIL, tried.effect.idempotency_key, {"text": "hello "})

    refusal = refused(lambda: transitions.reserve_effect(tried.project, tried.made.hold, other), errors.EffectConflict)

    assert (refusal.code, refusal.action) == ("effect_conflict", "mend")
    assert refusal.facts["effect_id"] == tried.effect_id


def test_no_payload_and_a_null_are_the_same(project: Project, held: Made) -> None:
    transitions.reserve_effect(project, held.hold, EffectReservation(MAIL, "order-7"))

    _, is_new = transitions.reserve_effect(project, held.hold, EffectReservation(MAIL, "order-7", None))

    assert not is_new


def test_type_and_key_together_name_an_effect(project: Project, held: Made) -> None:
    for asked in (mail("order-7"), mail("Order-7"), EffectReservation("mail.Send", "order-7")):
        _, is_new = transitions.reserve_effect(project, held.hold, asked)
        assert is_new


BAD_NAMES = ["", " order-7", "order-7 ", "a\nb", "a\0b", "\x7f", "a\u2028b", "\ud800", "x" * 201, "\u00a0x"]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("member", ["effect_type", "idempotency_key"])
def test_names_that_two_could_read_in_two_ways_are_refused(
    project: Project, held: Made, member: str, name: str
) -> None:
    names = {"effect_type": MAIL, "idempotency_key": "order-7", member: name}

    refusal = refused(
        lambda: transitions.reserve_effect(project, held.hold, EffectReservation(**names)), errors.InvalidEffectName
    )

    assert refusal.facts == {"member": member}


def test_a_name_of_two_hundred_characters_is_kept_whole(project: Project, held: Made) -> None:
    name = "ö" * 200

    effect, _ = transitions.reserve_effect(project, held.hold, EffectReservation(name, name))

    effect.refresh_from_db()
    assert (effect.effect_type, effect.idempotency_key) == (name, name)


@pytest.mark.parametrize("effect_type", ["run.park_queue", "run.settle_queue"])
def test_the_queues_own_types_are_nobody_elses(project: Project, held: Made, effect_type: str) -> None:
    asked = EffectReservation(effect_type, "order-7")

    refused(lambda: transitions.reserve_effect(project, held.hold, asked), errors.Invalid)


def test_a_payload_that_cannot_be_stored_is_refused(project: Project, held: Made) -> None:
    refused(lambda: transitions.reserve_effect(project, held.hold, mail("order-7", "\0")), errors.InvalidDocument)


def test_only_the_holder_of_a_running_run_reserves(project: Project, make: RunBuilder, held: Made) -> None:
    for hold, kind in [
        (Hold(held.run_id, "not the token"), errors.LeaseLost),
        (Hold(held.run_id), errors.LeaseLost),
        (make.starting().hold, errors.RunNotRunning),
        (make.parked().hold, errors.LeaseLost),
        (make.completed().hold, errors.RunFinished),
        (make.cancelled().hold, errors.RunCancelled),
        (Hold("nothing", "token"), errors.RunNotFound),
    ]:
        refused(lambda hold=hold: transitions.reserve_effect(project, hold, mail("order-7")), kind)  # type: ignore[misc]


def test_a_reserved_effect_forbids_completing(project: Project, held: Made) -> None:
    transitions.reserve_effect(project, held.hold, mail("order-7"))

    refused(lambda: transitions.complete(project, Completion(held.run_id, held.token)), errors.OpenWork)
    assert held.lease.open_work == 1


def test_a_run_has_ten_thousand_effects_at_most(project: Project, held: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rules_effects.EFFECT_LIMIT == 10_000
    monkeypatch.setattr(rules_effects, "EFFECT_LIMIT", 3)
    batch = [mail(f"order-{n}") for n in range(5)]

    outcomes = transitions.reserve_effects(project, held.hold, batch)

    assert [isinstance(each, errors.TooManyEffects) for each in outcomes] == [False] * 3 + [True] * 2
    refusal = refused(lambda: transitions.reserve_effect(project, held.hold, batch[4]), errors.TooManyEffects)
    assert refusal.facts == {"run_id": held.run_id, "limit": 3}
    assert transitions.reserve_effect(project, held.hold, batch[0])[1] is False


def test_a_batch_has_an_outcome_for_each_in_the_order_asked(project: Project, held: Made) -> None:
    transitions.reserve_effect(project, held.hold, mail("old"))
    batch = [mail("new"), mail("old"), mail("old", "other"), mail("new"), mail("new", "other"), mail(""), mail("last")]

    outcomes = transitions.reserve_effects(project, held.hold, batch)

    told = [each.code if isinstance(each, errors.Refusal) else (each[0].idempotency_key, each[1]) for each in outcomes]
    assert told == [
        ("new", True),
        ("old", False),
        "effect_conflict",
        ("new", False),
        "effect_conflict",
        "invalid_effect_name",
        ("last", True),
    ]
    assert held.event_types[-2:] == ["effect.reserved"] * 2
    assert Effect.objects.count() == 3


def test_a_batch_above_the_cap_is_refused(project: Project, held: Made) -> None:
    batch = [mail(f"order-{n}") for n in range(101)]

    refused(lambda: transitions.reserve_effects(project, held.hold, batch), errors.BatchTooLarge)


def step(made: Made, batch: list[EffectReservation]) -> list[str]:
    """A step as its code runs it, from its beginning: the keys of what it sends."""
    sent = []
    for outcome in transitions.reserve_effects(made.project, made.hold, batch):
        assert not isinstance(outcome, errors.Refusal)
        effect, _ = outcome
        if effect.status == "pending":
            _, number = transitions.start_effect(made.project, made.hold, effect.effect_id)
            assert number is not None
            sent.append(effect.idempotency_key)
            transitions.apply_effect(made.project, made.hold, effect.effect_id, number, effect.idempotency_key)
    return sent


@pytest.fixture
def half_done(project: Project, held: Made, effects: EffectBuilder) -> tuple[Made, list[EffectReservation]]:
    """A step with thirty messages, whose runner died after nine, with the tenth on its way; now another runner's."""
    batch = [mail(f"message-{n}", n) for n in range(30)]
    assert len(step(held, batch[:9])) == 9
    tenth, _ = transitions.reserve_effect(project, held.hold, batch[9])
    transitions.start_effect(project, held.hold, tenth.effect_id)
    return effects.taken_over(held), batch


@pytest.mark.parametrize("order", [1, -1], ids=["in the same order", "in the other order"])
def test_a_step_repeated_half_way_sends_only_what_is_left(
    half_done: tuple[Made, list[EffectReservation]], order: int
) -> None:
    made, batch = half_done

    sent = step(made, batch[::order])

    assert sent == [f"message-{n}" for n in range(10, 30)][::order]
    status = dict(Effect.objects.values_list("idempotency_key", "status"))
    assert [key for key, status in status.items() if status != "applied"] == ["message-9"]
    assert status["message-9"] == "ambiguous"
    assert step(made, batch) == []


def test_a_changed_payload_under_an_applied_key_is_a_conflict_and_in_nobodys_way(
    half_done: tuple[Made, list[EffectReservation]],
) -> None:
    made, batch = half_done
    batch[3] = mail("message-3", "slightly changed")

    outcomes = transitions.reserve_effects(made.project, made.hold, batch)

    assert [n for n, each in enumerate(outcomes) if isinstance(each, errors.EffectConflict)] == [3]
    assert Effect.objects.count() == 30


def test_times_never_fall_within_a_run(project: Project, held: Made, clock: FrozenClock) -> None:
    clock.advance(-5_000)

    effect, _ = transitions.reserve_effect(project, held.hold, mail("order-7"))

    assert queue_clock.to_ms(effect.created_at) == queue_clock.to_ms(START)


def test_a_waiting_run_reserves_nothing_new(project: Project, held: Made) -> None:
    write(held, status="waiting")

    refused(lambda: transitions.reserve_effect(project, held.hold, mail("order-7")), errors.RunNotRunning)
