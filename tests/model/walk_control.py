"""Rules of a walk: what operators and the control do to runs."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.states import Wish
from runs.transitions import Hold
from tests.builders import OPERATOR
from tests.model import control
from tests.model.walk import SLOTS, SESSIONS, TOKENS, Walk


class Control(Walk):
    """Cancelling, pausing, wishing, offering again."""

    @rule(slot=SLOTS)
    def cancel(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.cancel(self.queue, run_id),
            lambda: transitions.cancel(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS)
    def cancel_stale(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.cancel_stale(self.queue, run_id),
            lambda: transitions.cancel_stale(self.project, run_id),
        )

    @rule(slot=SLOTS)
    def pause(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.pause(self.queue, run_id),
            lambda: transitions.pause(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS)
    def unpause(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.unpause(self.queue, run_id),
            lambda: transitions.unpause(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS, wish=st.sampled_from(list(Wish)), grace_ms=st.sampled_from([5_000, 60_000, 600_000, 0, 600_001]))
    def wish(self, slot: str, wish: Wish, grace_ms: int) -> None:
        run_id = self.run_ids[slot]
        request = {Wish.PAUSE: transitions.request_pause, Wish.CANCEL: transitions.request_cancel}[wish]
        self.both(
            lambda: control.wish(self.queue, run_id, wish, grace_ms),
            lambda: request(self.project, run_id, grace_ms, OPERATOR),
        )

    @rule(slot=SLOTS)
    def withdraw_wish(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.withdraw_wish(self.queue, run_id),
            lambda: transitions.withdraw_wish(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS)
    def run_now(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.run_now(self.queue, run_id),
            lambda: transitions.run_now(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS)
    def request_resume(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.request_resume(self.queue, run_id),
            lambda: transitions.request_resume(self.project, run_id),
        )

    @rule(slot=SLOTS)
    def pause_parked(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.pause_parked(self.queue, run_id),
            lambda: transitions.pause_parked(self.project, run_id),
        )

    @rule(slot=SLOTS)
    def resume_interaction(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.resume_interaction(self.queue, run_id),
            lambda: transitions.resume_interaction(self.project, run_id),
        )

    @rule(slot=SLOTS, which=TOKENS, session_id=SESSIONS)
    def begin_interaction_timeout(self, slot: str, which: str, session_id: str) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: control.begin_interaction_timeout(self.queue, run_id, token, session_id),
            lambda: transitions.begin_interaction_timeout(self.project, Hold(run_id, token), session_id),
        )
