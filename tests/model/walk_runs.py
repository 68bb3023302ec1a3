"""Rules of a walk: runs are reserved, adopted and restarted; and what a holder does without moving them on."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.journal import Actor
from runs.states import ActorType, LineageKind
from runs.transitions import Hold, Note
from tests.model import claiming, holding, reserving
from tests.model.model import Order
from tests.model.orders import ORDERS, reservation
from tests.model.walk import SLOTS
from tests.model.walk_leases import TOKENS, Leases

OUTSIDER = Actor(ActorType.SESSION, "session-a")


class Runs(Leases):
    """Reserving, adopting, restarting."""

    @rule(slot=SLOTS, order=ORDERS, anew=st.booleans())
    def reserve(self, slot: str, order: Order, anew: bool) -> None:
        self.reserved(slot, self.new_id(slot) if anew else self.run_ids[slot], order)

    @rule(slot=SLOTS, order=ORDERS, alike=st.sampled_from([True, True, False]))
    def reserve_or_adopt(self, slot: str, order: Order, alike: bool) -> None:
        """`alike`: with the content of the run that stands there."""
        run = self.queue.runs.get(self.run_ids[slot])
        if alike and run is not None:
            order = replace(run.order, priority=order.priority, snapshot=order.snapshot)
        self._reserve_or_adopt(slot, self.run_ids[slot], order)

    @rule(
        slot=SLOTS,
        order=ORDERS,
        of=st.sampled_from(["the latest to end"] * 4 + ["a", "b", None]),
        kind=st.sampled_from([LineageKind.RESTART] * 5 + [None]),
        number=st.sampled_from([None, None, 1, 2]),
        behind=st.sampled_from([0, 0, 0, 0, 1, None]),
        same_session=st.sampled_from([True, True, True, False]),
        anew=st.sampled_from([True, True, True, False]),
    )
    def restart(self, slot: str, order: Order, of: str | None, same_session: bool, anew: bool, **lineage: Any) -> None:
        """`behind`: by how much the parent's revision as the caller knows it is out of date."""
        over = [run.run_id for run in self.queue.in_order() if run.is_over]
        parent_id, behind = over[-1] if over else self.run_ids.get(of or ""), lineage["behind"]
        if of != "the latest to end":
            parent_id = self.run_ids.get(of or "")
        parent = self.queue.runs.get(parent_id or "")
        order = replace(
            order,
            session_id=parent.order.session_id if parent and same_session else order.session_id,
            parent_id=parent_id,
            lineage_kind=lineage["kind"],
            restart_number=lineage["number"],
            parent_revision=None if parent is None or behind is None else parent.revision - behind,
        )
        self._reserve_or_adopt(slot, self.new_id(slot) if anew else self.run_ids[slot], order)

    def _reserve_or_adopt(self, slot: str, run_id: str, order: Order) -> None:
        if self.both(
            lambda: reserving.reserve_or_adopt(self.queue, run_id, order),
            lambda: transitions.reserve_or_adopt(self.project, reservation(run_id, order)),
            lambda reserved: reserved.adopted,
        ):
            self.run_ids[slot] = run_id


class Holds(Leases):
    """Marking running, renewing, noting."""

    @rule(slot=SLOTS, which=TOKENS)
    def mark_running(self, slot: str, which: str) -> None:
        self.run(slot, which)

    @rule(slot=SLOTS, which=TOKENS, lease_ms=st.sampled_from([30_000, 10_000, 0]))
    def renew(self, slot: str, which: str, lease_ms: int) -> None:
        run_id, token = self.aim(slot, which)
        self.both(
            lambda: claiming.renew(self.queue, run_id, token, lease_ms),
            lambda: transitions.renew(self.project, Hold(run_id, token), lease_ms),
        )

    @rule(slot=SLOTS, which=TOKENS, holds=st.booleans())
    def note(self, slot: str, which: str, holds: bool) -> None:
        """The holder's, or anybody's."""
        run_id, token = self.aim(slot, which) if holds else (self.run_ids[slot], None)
        self.both(
            lambda: holding.note(self.queue, run_id, token),
            lambda: transitions.record_event(self.project, Note(run_id, "seen", {}, token), OUTSIDER),
        )
