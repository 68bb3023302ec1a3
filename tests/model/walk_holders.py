"""Rules of a walk: what the holder of a run does with it, and what is done to one that nobody has begun."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.journal import Actor
from runs.states import ActorType, ErrorCode
from runs.transitions import Completion, Failure, Hold, Note
from tests.model import holding, reserving
from tests.model.walk import SLOTS
from tests.model.walk_leases import TOKENS, Leases

OUTSIDER = Actor(ActorType.SESSION, "session-a")
HELD_BACK = {
    ErrorCode.RUNNER_NO_PROGRESS: transitions.park_no_progress,
    ErrorCode.WORKFLOW_SOURCE_CHANGED: transitions.park_source_changed,
}


class Holders(Leases):
    """Handing back and ending."""

    @rule(slot=SLOTS, which=TOKENS, code=st.sampled_from(list(HELD_BACK)))
    def park_held_back(self, slot: str, which: str, code: ErrorCode) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.park_held_back(self.queue, run_id, token, code),
            lambda: HELD_BACK[code](self.project, Hold(run_id, token), "why"),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def complete(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.complete(self.queue, run_id, token),
            lambda: transitions.complete(self.project, Completion(run_id, token, "output")),
        )

    @rule(slot=SLOTS, which=TOKENS | st.none(), how=st.sampled_from(["fail", "time out", "cancel"]))
    def stop(self, slot: str, which: str | None, how: str) -> None:
        """As the holder; without a token from outside, a run that nobody has begun."""
        run_id, token = (self.run_ids[slot], None) if which is None else self.aim(slot, which)
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

    @rule(slot=SLOTS, which=TOKENS | st.none())
    def note(self, slot: str, which: str | None) -> None:
        run_id, token = (self.run_ids[slot], None) if which is None else self.aim(slot, which)
        self.both(
            lambda: holding.note(self.queue, run_id, token),
            lambda: transitions.record_event(self.project, Note(run_id, "seen", {}, token), OUTSIDER),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def delete(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: reserving.delete(self.queue, run_id, token),
            lambda: transitions.delete(self.project, Hold(run_id, token)),
        )
