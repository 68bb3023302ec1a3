"""Rules of a walk: runs are claimed, handed back and lost, and time passes."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from runs import transitions
from runs.states import ErrorCode, Priority
from runs.transitions import Claimant as ProductClaimant
from runs.transitions import Hold
from tests.model import claiming, holding
from tests.model.claiming import Claimant
from tests.model.model import Order
from tests.model.orders import ORDERS, WORKFLOWS, Reserving
from tests.model.walk import SLOTS

OWNERS = st.sampled_from(["host-a", "host-b", "session-c"])
CLAIMANTS = st.builds(Claimant, OWNERS, st.sampled_from([30_000, 30_000, 10_000, 0]), st.booleans())
# Which token a rule calls with: of a holder who is seen to be there first, or one that the run has had at some time.
TOKENS = st.sampled_from(
    ["a holder's"] * 7 + ["the next holder's", "the latest", "the one before", "the first", "another's"]
)
HELD_BACK = {
    ErrorCode.RUNNER_NO_PROGRESS: transitions.park_no_progress,
    ErrorCode.WORKFLOW_SOURCE_CHANGED: transitions.park_source_changed,
}
PURPOSES = {
    "to work": (claiming.claim, transitions.claim),
    "for validation": (claiming.claim_for_validation, transitions.claim_for_validation),
    "for control": (claiming.claim_for_control, transitions.claim_for_control),
}


class Leases(Reserving):
    """Claiming, parking, crashing, sweeping."""

    @initialize(orders=st.lists(ORDERS, max_size=4))
    def begin(self, orders: list[Order]) -> None:
        for slot, order in zip("abcd", orders, strict=False):
            self.reserved(slot, self.run_ids[slot], replace(order, snapshot="as ever"))

    def aim(self, slot: str, which: str) -> tuple[str, str]:
        """A run, and a token to call with."""
        if which == "the next holder's" and (run := self.queue.runs.get(self.run_ids[slot])):
            self.pass_by((run.lease.takeover_at or 0) - self.queue.now)
        if which in ("a holder's", "the next holder's"):
            self._see_to_a_holder(slot)
        run_id = self.run_ids[slot]
        of_others = [had for other, had in self.tokens.items() if other != run_id and had]
        had = of_others[0] if which == "another's" and of_others else self.tokens[run_id]
        if not had:
            return run_id, "a token that nobody has had"
        return run_id, {"the first": had[0], "the one before": had[-2:][0]}.get(which, had[-1])

    def _see_to_a_holder(self, slot: str) -> None:
        run = self.queue.runs.get(self.run_ids[slot])
        if run is None or run.is_over:
            snapshot = self.queue.definitions.get("retry", "as ever")
            self.reserved(slot, self.new_id(slot), Order("retry", "session-a", "one", False, Priority.NORMAL, snapshot))
            run = self.queue.runs[self.run_ids[slot]]
        if run.lease.is_live(self.queue.now):
            return
        self.pass_by((run.lease.rests_until(self.queue.now) or 0) - self.queue.now)
        purpose = "for validation" if run.paused or run.is_asked else "to work"
        self.claim(slot=slot, claimant=Claimant("host-a", 30_000), purpose=purpose)
        self.run(slot, "the latest")

    @rule(slot=SLOTS, claimant=CLAIMANTS, purpose=st.sampled_from(["to work", *PURPOSES]))
    def claim(self, slot: str, claimant: Claimant, purpose: str) -> None:
        run_id, token, (model, product) = self.run_ids[slot], self._new_token(), PURPOSES[purpose]
        if self.both(
            lambda: model(self.queue, run_id, claimant, token),
            lambda: product(self.project, run_id, _product(claimant), token),
        ):
            self.tokens[run_id].append(token)

    @rule(
        claimant=CLAIMANTS,
        count=st.sampled_from([1, 2, 4]),
        workflows=st.just(WORKFLOWS) | st.lists(st.sampled_from(WORKFLOWS), unique=True),
        exclude=st.just([]) | st.lists(SLOTS, max_size=2),
    )
    def claim_next(self, claimant: Claimant, count: int, workflows: list[str], exclude: list[str]) -> None:
        tokens = [self._new_token() for _ in range(count)]
        excluded = [self.run_ids[slot] for slot in exclude]
        self.both(
            lambda: claiming.claim_next(self.queue, claimant, tokens, workflows, excluded),
            lambda: transitions.claim_next(
                self.project, _product(claimant), tokens, workflows=workflows, exclude=excluded
            ),
            lambda taken: [run.run_id for run in taken],
        )
        for run in self.queue.runs.values():
            if run.lease.token in tokens:
                self.tokens[run.run_id].append(run.lease.token)

    def run(self, slot: str, which: str) -> None:
        """Mark it running; what follows every claim to work is a rule of its own only where that is the subject."""
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: holding.mark_running(self.queue, run_id, token),
            lambda: transitions.mark_running(self.project, Hold(run_id, token)),
        )

    @rule(slot=SLOTS, which=TOKENS, code=st.sampled_from([None, None, *HELD_BACK]))
    def park(self, slot: str, which: str, code: ErrorCode | None) -> None:
        run_id, token = self.aim(slot, which)
        if code is None:
            self.both(
                lambda: holding.park(self.queue, run_id, token),
                lambda: transitions.park(self.project, Hold(run_id, token)),
            )
        else:
            self.both(
                lambda: holding.park_held_back(self.queue, run_id, token, code),
                lambda: HELD_BACK[code](self.project, Hold(run_id, token), "why"),
            )

    @rule(slot=SLOTS, times=st.integers(1, 5), claimant=CLAIMANTS)
    def crash(self, slot: str, times: int, claimant: Claimant) -> None:
        """Runners take the run and are never heard of again."""
        for _ in range(times):
            self.claim(slot=slot, claimant=claimant, purpose="to work")
            if run := self.queue.runs.get(self.run_ids[slot]):
                self.pass_by((run.lease.takeover_at or 0) - self.queue.now)

    @rule()
    def sweep(self) -> None:
        self.both(
            lambda: claiming.sweep(self.queue),
            lambda: transitions.sweep(),
            lambda swept: (swept.released, swept.settled, swept.decisions),
        )

    @rule(due=st.none() | st.integers(0, 5), ms=st.sampled_from([0, 0, -1, 1, 1_000, 30_000, 400_000]))
    def wait(self, due: int | None, ms: int) -> None:
        """Some time, or until something comes due: to the very moment, or beside it."""
        moments = [] if due is None else self.queue.moments()[: due + 1]
        self.pass_by(moments[-1] + ms - self.queue.now if moments else ms)

    def _new_token(self) -> str:
        return f"token {self.number()}"


def _product(claimant: Claimant) -> ProductClaimant:
    return ProductClaimant(claimant.owner_id, claimant.lease_ms, reclaim=claimant.reclaims)
