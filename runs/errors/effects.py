"""Refusals about effects of the outbox."""

from runs.errors.base import Action, Conflict, Invalid, NotFound


class InvalidEffectName(Invalid):
    """The type and the key of an effect are 1 to 200 characters, no control characters, without outer blanks."""

    code = "invalid_effect_name"


class EffectNotFound(NotFound):
    """There is no such effect in this run."""


class EffectUnsettled(Conflict):
    """An effect of the run is applying or ambiguous."""

    code = "effect_unsettled"


class EffectConflict(Conflict):
    """An effect of this type and key exists, and it was reserved with another payload."""

    code = "effect_conflict"
    action = Action.MEND


class EffectNotDue(Conflict):
    """The effect's next try is not due yet."""

    code = "effect_not_due"
    action = Action.RETRY


class EffectApplying(Conflict):
    """A try of this effect is open under this lease; report what came of it first."""

    code = "effect_applying"
    action = Action.MEND


class EffectNotApplying(Conflict):
    """No such try of this effect is open under this lease."""

    code = "effect_not_applying"
    action = Action.MEND


class EffectSettled(Conflict):
    """The effect is settled; reserving it again tells how."""

    code = "effect_settled"
    action = Action.MEND


class EffectNotAmbiguous(Conflict):
    """The effect is not in doubt: it is pending, or being tried."""

    code = "effect_not_ambiguous"
    action = Action.RETRY


class NotOwnTry(Conflict):
    """This token is not the one that the try was made with."""

    code = "not_own_try"


class TooManyEffects(Conflict):
    """The run has as many effects as a run may have."""

    code = "too_many_effects"
