"""Rules of a walk: what operators and the control do to runs."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.states import Wish
from tests.builders import OPERATOR
from tests.model import control
from tests.model.walk import SLOTS
from tests.model.walk_leases import Leases

WISHES = {Wish.PAUSE: transitions.request_pause, Wish.CANCEL: transitions.request_cancel}
GRACES = st.sampled_from([5_000, 5_000, 60_000, 60_000, 600_000, 0, 600_001])


class Control(Leases):
    """Cancelling, pausing, wishing, offering again."""

    @rule(slot=SLOTS, only_stale=st.booleans())
    def cancel(self, slot: str, only_stale: bool) -> None:
        run_id = self.run_ids[slot]
        if only_stale:
            self.both(
                lambda: control.cancel_stale(self.queue, run_id),
                lambda: transitions.cancel_stale(self.project, run_id),
            )
        else:
            self.both(
                lambda: control.cancel(self.queue, run_id),
                lambda: transitions.cancel(self.project, run_id, OPERATOR),
            )

    @rule(slot=SLOTS, is_surprising=st.sampled_from([False, False, False, True]))
    def pause(self, slot: str, is_surprising: bool) -> None:
        """Or lift the pause: what is due, or else the other one."""
        run_id, run = self.run_ids[slot], self.queue.runs.get(self.run_ids[slot])
        if (run is not None and run.paused) == is_surprising:
            self.both(
                lambda: control.pause(self.queue, run_id),
                lambda: transitions.pause(self.project, run_id, OPERATOR),
            )
        else:
            self.both(
                lambda: control.unpause(self.queue, run_id),
                lambda: transitions.unpause(self.project, run_id, OPERATOR),
            )

    @rule(
        slot=SLOTS,
        wish=st.sampled_from(list(WISHES)),
        grace_ms=GRACES,
        of_a_holder=st.sampled_from([True, True, False]),
        comes_due=st.booleans(),
    )
    def wish(self, slot: str, wish: Wish, grace_ms: int, of_a_holder: bool, comes_due: bool) -> None:
        run_id = self.aim(slot, "a holder's")[0] if of_a_holder else self.run_ids[slot]
        is_wished = self.both(
            lambda: control.wish(self.queue, run_id, wish, grace_ms),
            lambda: WISHES[wish](self.project, run_id, grace_ms, OPERATOR),
        )
        if is_wished and comes_due:
            self.pass_by(grace_ms)

    @rule(slot=SLOTS)
    def withdraw_wish(self, slot: str) -> None:
        run_id = self.run_ids[slot]
        self.both(
            lambda: control.withdraw_wish(self.queue, run_id),
            lambda: transitions.withdraw_wish(self.project, run_id, OPERATOR),
        )

    @rule(slot=SLOTS, forgets_crashes=st.booleans())
    def offer_again(self, slot: str, forgets_crashes: bool) -> None:
        run_id = self.run_ids[slot]
        if forgets_crashes:
            self.both(
                lambda: control.run_now(self.queue, run_id),
                lambda: transitions.run_now(self.project, run_id, OPERATOR),
            )
        else:
            self.both(
                lambda: control.request_resume(self.queue, run_id),
                lambda: transitions.request_resume(self.project, run_id),
            )
