"""Rules of a walk: runs are claimed, renewed and lost, and time passes."""

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from runs import transitions
from runs.transitions import Claimant as ProductClaimant
from runs.transitions import Hold
from tests.model import claiming
from tests.model.claiming import Claimant
from tests.model.model import Order
from tests.model.walk import OWNERS, RUN_IDS, RUNS, TOKENS
from tests.model.walk_holders import Holders
from tests.model.walk_runs import ORDERS, WORKFLOWS, Runs

CLAIMANTS = st.builds(Claimant, OWNERS, st.sampled_from([30_000, 30_000, 10_000, 0]), st.booleans())
LEASE_MS = 30_000


class Leases(Runs, Holders):
    """Claiming, renewing, sweeping."""

    @initialize(orders=st.lists(ORDERS, min_size=4, max_size=4), begun=st.lists(RUNS, max_size=4))
    def begin(self, orders: list[Order], begun: list[str]) -> None:
        for run_id, order in zip(RUN_IDS, orders, strict=True):
            self.reserve(run_id=run_id, order=order)
        for run_id in begun:
            self.work_on(run_id=run_id, owner_id="host-a")

    @rule(run_id=RUNS, claimant=CLAIMANTS)
    def claim(self, run_id: str, claimant: Claimant) -> None:
        token = self.new_token(claimant.owner_id)
        if self.both(
            lambda: claiming.claim(self.queue, run_id, claimant, token),
            lambda: transitions.claim(self.project, run_id, _product(claimant), token),
        ):
            self.tokens[run_id].append(token)

    @rule(run_id=RUNS, claimant=CLAIMANTS)
    def claim_for_validation(self, run_id: str, claimant: Claimant) -> None:
        token = self.new_token(claimant.owner_id)
        if self.both(
            lambda: claiming.claim_for_validation(self.queue, run_id, claimant, token),
            lambda: transitions.claim_for_validation(self.project, run_id, _product(claimant), token),
        ):
            self.tokens[run_id].append(token)

    @rule(run_id=RUNS, claimant=CLAIMANTS)
    def claim_for_control(self, run_id: str, claimant: Claimant) -> None:
        token = self.new_token(claimant.owner_id)
        if self.both(
            lambda: claiming.claim_for_control(self.queue, run_id, claimant, token),
            lambda: transitions.claim_for_control(self.project, run_id, _product(claimant), token),
        ):
            self.tokens[run_id].append(token)

    @rule(
        claimant=CLAIMANTS,
        count=st.sampled_from([1, 2, 4]),
        workflows=st.just(WORKFLOWS) | st.lists(st.sampled_from(WORKFLOWS), unique=True),
        exclude=st.just([]) | st.lists(RUNS, max_size=2),
    )
    def claim_next(self, claimant: Claimant, count: int, workflows: list[str], exclude: list[str]) -> None:
        tokens = [self.new_token(claimant.owner_id) for _ in range(count)]
        before = {run_id: run.lease.generation for run_id, run in self.queue.runs.items()}
        self.both(
            lambda: claiming.claim_next(self.queue, claimant, tokens, workflows, exclude),
            lambda: transitions.claim_next(
                self.project, _product(claimant), tokens, workflows=workflows, exclude=exclude
            ),
            lambda taken: [run.run_id for run in taken],
        )
        for run_id, run in self.queue.runs.items():
            if run.lease.generation > before[run_id] and run.lease.token in tokens:
                self.tokens[run_id].append(run.lease.token)

    @rule(run_id=RUNS, owner_id=OWNERS)
    def work_on(self, run_id: str, owner_id: str) -> None:
        """The way into everything that a holder does."""
        self.claim(run_id=run_id, claimant=Claimant(owner_id, LEASE_MS))
        self.mark_running(run_id=run_id, which="latest")

    @rule(run_id=RUNS, times=st.integers(1, 5), owner_id=OWNERS)
    def crash(self, run_id: str, times: int, owner_id: str) -> None:
        """Runners take the run and are never heard of again."""
        for _ in range(times):
            self.claim(run_id=run_id, claimant=Claimant(owner_id, LEASE_MS))
            run = self.queue.runs.get(run_id)
            if run and run.lease.takeover_at is not None:
                self.pass_by(max(0, run.lease.takeover_at - self.queue.now))

    @rule(run_id=RUNS, which=TOKENS, lease_ms=st.sampled_from([30_000, 10_000, 0]))
    def renew(self, run_id: str, which: str, lease_ms: int) -> None:
        token = self.token(run_id, which)
        self.both(
            lambda: claiming.renew(self.queue, run_id, token, lease_ms),
            lambda: transitions.renew(self.project, Hold(run_id, token), lease_ms),
        )

    @rule()
    def sweep(self) -> None:
        self.both(
            lambda: claiming.sweep(self.queue),
            lambda: transitions.sweep(),
            lambda swept: (swept.released, swept.settled, swept.decisions),
        )

    @rule(ms=st.sampled_from([1, 1_000, 10_000, 30_000, 400_000]))
    def wait(self, ms: int) -> None:
        self.pass_by(ms)

    @rule(which=st.integers(0, 5), beside=st.sampled_from([0, 0, -1, 1]))
    def wait_until_something_is_due(self, which: int, beside: int) -> None:
        """To the very moment, or just before or after it."""
        if moments := self.queue.moments()[: which + 1]:
            self.pass_by(max(0, moments[-1] + beside - self.queue.now))


def _product(claimant: Claimant) -> ProductClaimant:
    return ProductClaimant(claimant.owner_id, claimant.lease_ms, reclaim=claimant.reclaims)
