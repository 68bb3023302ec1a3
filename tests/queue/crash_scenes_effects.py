"""Scenes of the outbox: every verb on effects, by their holder, by an operator, by a late report."""

from runs import transitions
from runs.states import EffectOutcome
from tests.builders import OPERATOR, FrozenClock, RunBuilder
from tests.queue.crash_machine import Act, Scene
from tests.queue.effects_cast import MAIL, EffectBuilder, mail


def _reserve(make: RunBuilder, clock: FrozenClock) -> Act:
    made = EffectBuilder(make, clock).lost().made
    return lambda: transitions.reserve_effects(make.project, made.hold, [mail("order-1"), mail("new")])


def _start(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).pending()
    return lambda: transitions.start_effect(make.project, tried.made.hold, tried.effect_id)


def _start_lost(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).lost()
    return lambda: transitions.start_effect(make.project, tried.made.hold, tried.effect_id)


def _apply(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).applying()
    return lambda: transitions.apply_effect(make.project, tried.made.hold, tried.effect_id, 1, {"id": 7})


def _reject(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).applying()
    return lambda: transitions.reject_effect(make.project, tried.made.hold, tried.effect_id, 1, "Later.", 1_000)


def _doubt(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).applying()
    return lambda: transitions.doubt_effect(make.project, tried.made.hold, tried.effect_id, 1, "The line went dead.")


def _doubt_lost(make: RunBuilder, clock: FrozenClock) -> Act:
    made = EffectBuilder(make, clock).lost().made
    return lambda: transitions.doubt_lost_effects(make.project, made.hold)


def _settle_ambiguous(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).parked()
    return lambda: transitions.settle_ambiguous_effect(
        make.project, tried.made.run_id, tried.effect_id, EffectOutcome.APPLIED, OPERATOR, "It was sent.", {"id": 7}
    )


def _settle_own_try(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).parked()
    return lambda: transitions.settle_own_try(
        make.project, tried.made.run_id, tried.effect_id, 1, tried.made.token, EffectOutcome.REJECTED, error="No."
    )


def _settle_by_type(make: RunBuilder, clock: FrozenClock) -> Act:
    tried = EffectBuilder(make, clock).pending()
    return lambda: transitions.settle_effect(make.project, tried.made.run_id, MAIL)


SCENES: dict[str, Scene] = {
    "reserve_effects": _reserve,
    "start_effect": _start,
    "start_effect: a lost one": _start_lost,
    "apply_effect": _apply,
    "reject_effect": _reject,
    "doubt_effect": _doubt,
    "doubt_lost_effects": _doubt_lost,
    "settle_ambiguous_effect": _settle_ambiguous,
    "settle_own_try": _settle_own_try,
    "settle_effect": _settle_by_type,
}
