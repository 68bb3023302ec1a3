"""What a person may do about a run at this moment: read from the table of verbs, for buttons and viewers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from runs import errors, rules
from runs.models import Run
from runs.verbs import CANCEL, PAUSE, REQUEST_RESUME, RUN_NOW, UNPAUSE, WISH, WITHDRAW_WISH, Verb


@dataclass(frozen=True, slots=True)
class Control:
    """A button: the verb behind it, and why it may not be pressed now, or None."""

    name: str
    refusal: errors.Refusal | None

    @property
    def is_allowed(self) -> bool:
        return self.refusal is None


VERB_OF: Mapping[str, Verb] = MappingProxyType(
    {
        "pause": PAUSE,
        "request_pause": WISH,
        "unpause": UNPAUSE,
        "resume": REQUEST_RESUME,
        "run_now": RUN_NOW,
        "cancel": CANCEL,
        "request_cancel": WISH,
        "withdraw_wish": WITHDRAW_WISH,
    }
)


def controls(run: Run, at: datetime) -> list[Control]:
    """Every button in its order, with why it may not be pressed at `at`; a restart is for runs that are over."""
    found = [Control(name, _refusal(name, verb, run, at)) for name, verb in VERB_OF.items()]
    is_open = None if run.is_over else errors.ParentNotTerminal(run_id=run.run_id, status=run.status)
    return [*found, Control("restart", is_open)]


def allowed(run: Run, at: datetime) -> list[str]:
    """The names of the buttons that may be pressed at `at`."""
    return [control.name for control in controls(run, at) if control.is_allowed]


def _refusal(name: str, verb: Verb, run: Run, at: datetime) -> errors.Refusal | None:
    try:
        rules.permit(verb, run, run.lease, max(at, run.head_at))
    except errors.Refusal as refusal:
        return refusal
    wish = run.lease.wish
    if name == "withdraw_wish" and wish is None:
        return errors.NoWish(run_id=run.run_id)
    if verb == WISH and wish is not None:
        return errors.WishStands(run_id=run.run_id, wish=wish)
    if name == "pause" and run.paused:
        return errors.RunPaused(run_id=run.run_id)
    return None
