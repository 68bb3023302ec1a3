"""Every verb on effects in every state of one: allowed where the table says, refused without any change elsewhere."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import errors, transitions
from runs.states import EFFECT_NEEDS, EffectOutcome, EffectStatus
from tests.builders import OPERATOR, FrozenClock, RunBuilder, snapshot_of_everything
from tests.queue.effects_cast import EffectBuilder, Tried, mail

CALLS: dict[str, Callable[[Tried], Any]] = {
    "start_effect": lambda on: transitions.start_effect(on.project, on.made.hold, on.effect_id),
    "apply_effect": lambda on: transitions.apply_effect(on.project, on.made.hold, on.effect_id, on.number or 1, 1),
    "reject_effect": lambda on: transitions.reject_effect(
        on.project, on.made.hold, on.effect_id, on.number or 1, "No."
    ),
    "doubt_effect": lambda on: transitions.doubt_effect(on.project, on.made.hold, on.effect_id, on.number or 1, "Eh?"),
    "settle_ambiguous_effect": lambda on: transitions.settle_ambiguous_effect(
        on.project, on.made.run_id, on.effect_id, EffectOutcome.APPLIED, OPERATOR, "It is there."
    ),
    "settle_own_try": lambda on: transitions.settle_own_try(
        on.project, on.made.run_id, on.effect_id, on.number or 1, on.tried_by.token, EffectOutcome.REJECTED
    ),
}
ENDS = {
    "start_effect": "applying",
    "apply_effect": "applied",
    "reject_effect": "rejected",
    "doubt_effect": "ambiguous",
    "settle_ambiguous_effect": "applied",
    "settle_own_try": "rejected",
}
# What no row of the table says: the token of the try in doubt may report in the ordinary way as well.
ALSO = {("apply_effect", "ambiguous"), ("reject_effect", "ambiguous")}
REFUSALS = (
    errors.EffectSettled,
    errors.EffectApplying,
    errors.EffectNotApplying,
    errors.EffectNotAmbiguous,
    errors.NotOwnTry,
)


@pytest.fixture
def effects(make: RunBuilder, clock: FrozenClock) -> EffectBuilder:
    return EffectBuilder(make, clock)


def test_the_table_names_every_verb() -> None:
    assert set(CALLS) == set(EFFECT_NEEDS) == set(ENDS)


@pytest.mark.parametrize("state", [*EffectStatus])
@pytest.mark.parametrize("verb", CALLS)
def test_every_verb_in_every_state(effects: EffectBuilder, verb: str, state: str) -> None:
    tried: Tried = getattr(effects, state)()
    before, revision = snapshot_of_everything(), tried.effect.revision

    if EFFECT_NEEDS[verb] == state or (verb, state) in ALSO:
        CALLS[verb](tried)

        assert (tried.effect.status, tried.effect.revision) == (ENDS[verb], revision + 1)
        return
    with pytest.raises(REFUSALS) as refused:
        CALLS[verb](tried)

    assert snapshot_of_everything() == before
    if verb != "settle_own_try" and state in ("applied", "rejected", "cancelled"):
        assert refused.value.facts == {"effect_id": tried.effect_id, "effect_status": state}


def _reserved_new(on: Tried) -> object:
    return transitions.reserve_effect(on.project, on.made.hold, mail(f"new for {on.made.run_id}", on.made.run_id))


@pytest.mark.parametrize("verb", [*CALLS, "reserve_effect"])
def test_a_verb_costs_as_many_statements_with_many_effects_as_with_few(effects: EffectBuilder, verb: str) -> None:
    calls = {**CALLS, "reserve_effect": _reserved_new}
    counts = []
    # The first round stores the documents that the others find.
    for others in (0, 0, 12):
        made = effects.make.running()
        for _ in range(others):
            effects.applied(made)
        tried = getattr(effects, EFFECT_NEEDS.get(verb, EffectStatus.PENDING))(made)

        with CaptureQueriesContext(connection) as captured:
            calls[verb](tried)

        counts.append(len([query for query in captured if "SAVEPOINT" not in query["sql"]]))

    assert counts[1] == counts[2]


@pytest.mark.parametrize("state", ["new", "pending", "applied", "lost"])
def test_reserving_a_hundred_costs_as_many_statements_as_reserving_one(effects: EffectBuilder, state: str) -> None:
    counts = {}
    # The first one stores the text that lost effects share.
    for size in (2, 1, 10, 100):
        made = effects.make.running()
        batch = [mail(f"{size}-{n}", f"{size}-{n}") for n in range(size)]
        if state != "new":
            reserved = transitions.reserve_effects(made.project, made.hold, batch)
            for outcome in reserved if state != "pending" else []:
                assert not isinstance(outcome, errors.Refusal)
                transitions.start_effect(made.project, made.hold, outcome[0].effect_id)
                if state == "applied":
                    transitions.apply_effect(made.project, made.hold, outcome[0].effect_id, 1)
        if state == "lost":
            made = effects.taken_over(made)

        with CaptureQueriesContext(connection) as captured:
            outcomes = transitions.reserve_effects(made.project, made.hold, batch)

        assert [each[0].status for each in outcomes if not isinstance(each, errors.Refusal)] == [
            {"new": "pending", "lost": "ambiguous"}.get(state, state)
        ] * size
        counts[size] = len([query for query in captured if "SAVEPOINT" not in query["sql"]])

    assert counts[1] == counts[10] == counts[100]
