"""Rules of a walk: what the holder of a run does with it, and what is done to one that nobody has begun."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.journal import Actor
from runs.states import ActorType, ErrorCode
from runs.transitions import Completion, Failure, Hold, Note
from tests.model import holding
from tests.model.walk import SLOTS, TOKENS, Walk

OUTSIDER = Actor(ActorType.SESSION, "session-a")
HELD_BACK = {
    ErrorCode.RUNNER_NO_PROGRESS: transitions.park_no_progress,
    ErrorCode.WORKFLOW_SOURCE_CHANGED: transitions.park_source_changed,
}


class Holders(Walk):
    """Marking, parking, ending."""

    @rule(slot=SLOTS, which=TOKENS)
    def mark_running(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.mark_running(self.queue, run_id, token),
            lambda: transitions.mark_running(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def park(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.park(self.queue, run_id, token),
            lambda: transitions.park(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS, which=TOKENS, code=st.sampled_from(list(HELD_BACK)))
    def park_held_back(self, slot: str, which: str, code: ErrorCode) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.park_held_back(self.queue, run_id, token, code),
            lambda: HELD_BACK[code](self.project, Hold(run_id, token), "why"),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def park_ambiguous_effect(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.park_ambiguous_effect(self.queue, run_id, token),
            lambda: transitions.park_ambiguous_effect(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS, which=TOKENS)
    def complete(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.complete(self.queue, run_id, token),
            lambda: transitions.complete(self.project, Completion(run_id, token, "output")),
        )

    @rule(slot=SLOTS, which=TOKENS | st.none(), is_late=st.booleans())
    def fail(self, slot: str, which: str | None, is_late: bool) -> None:
        """Fails, or times out; without a token it comes from outside."""
        run_id = self.run_ids[slot]
        token = None if which is None else self.token(run_id, which)
        if is_late:
            self.both(
                lambda: holding.time_out(self.queue, run_id, token),
                lambda: transitions.time_out(self.project, run_id, "why", token),
            )
        else:
            self.both(
                lambda: holding.fail(self.queue, run_id, token, "broken"),
                lambda: transitions.fail(self.project, Failure(run_id, "broken", "why", token)),
            )

    @rule(slot=SLOTS, which=TOKENS)
    def cancel_held(self, slot: str, which: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.cancel_held(self.queue, run_id, token),
            lambda: transitions.cancel_held(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS)
    def cancel_unowned(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: holding.cancel_unowned(self.queue, run_id),
            lambda: transitions.cancel_unowned(self.project, run_id),
        )

    @rule(slot=SLOTS, which=TOKENS | st.none())
    def note(self, slot: str, which: str | None) -> None:
        run_id = self.run_ids[slot]
        token = None if which is None else self.token(run_id, which)
        self.both(
            lambda: holding.note(self.queue, run_id, token),
            lambda: transitions.record_event(self.project, Note(run_id, "seen", {}, token), OUTSIDER),
        )
