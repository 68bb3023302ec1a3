"""Rules of a walk: how a run ends, by its holder or from outside."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.transitions import Completion, Failure, Hold
from tests.model import holding, reserving
from tests.model.walk import SLOTS
from tests.model.walk_leases import TOKENS, Leases

WHOEVER = st.sampled_from([True, True, False])  # whether with a token


class Ends(Leases):
    """Completing, failing, timing out, cancelling, deleting."""

    @rule(slot=SLOTS, which=TOKENS)
    def complete(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.complete(self.queue, run_id, token),
            lambda: transitions.complete(self.project, Completion(run_id, token, "output")),
        )

    @rule(slot=SLOTS, which=TOKENS, holds=WHOEVER, how=st.sampled_from(["fail", "time out", "cancel"]))
    def stop(self, slot: str, which: str, holds: bool, how: str) -> None:
        """As the holder; or from outside, a run that nobody has begun."""
        run_id, token = self.aim(slot, which) if holds else (self.run_ids[slot], None)
        if how == "fail":
            self.both(
                lambda: holding.fail(self.queue, run_id, token, "broken"),
                lambda: transitions.fail(self.project, Failure(run_id, "broken", "why", token)),
            )
        elif how == "time out":
            self.both(
                lambda: holding.time_out(self.queue, run_id, token),
                lambda: transitions.time_out(self.project, run_id, "why", token),
            )
        else:
            self.both(
                lambda: holding.cancel(self.queue, run_id, token),
                lambda: (
                    transitions.cancel_unowned(self.project, run_id)
                    if token is None
                    else transitions.cancel_held(self.project, Hold(run_id, token))
                ),
            )

    @rule(slot=SLOTS, which=TOKENS)
    def delete(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: reserving.delete(self.queue, run_id, token),
            lambda: transitions.delete(self.project, Hold(run_id, token)),
        )
