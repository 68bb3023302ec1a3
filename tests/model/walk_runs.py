"""Rules of a walk: runs are reserved, adopted and restarted."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.states import ExecutionMode, LineageKind, Priority
from runs.transitions import Reservation
from tests.builders import SOURCE, digest_of
from tests.model import reserving
from tests.model.model import Order
from tests.model.walk import SESSIONS, SLOTS, Walk

# Each workflow is named for what a lost runner means in it.
WORKFLOWS = ["retry", "park", "fail"]
ORDERS = st.builds(
    Order,
    workflow=st.sampled_from(["retry", "retry", *WORKFLOWS]),
    session_id=SESSIONS,
    input=st.sampled_from(["one", "two"]),
    is_interactive=st.sampled_from([False, False, False, True]),
    priority=st.sampled_from([Priority.NORMAL, Priority.HIGH, Priority.LOW]),
    snapshot=st.sampled_from(["as ever"] * 5 + ["changed"]),
)


class Reserving(Walk):
    """Not yet a rule: what every walk does in the beginning, and where a run is over."""

    def reserved(self, slot: str, run_id: str, order: Order) -> None:
        if self.both(
            lambda: reserving.reserve(self.queue, run_id, order),
            lambda: transitions.reserve(self.project, _reservation(run_id, order)),
        ):
            self.run_ids[slot] = run_id

    def new_id(self, slot: str) -> str:
        return f"run-{slot}-{self.number()}"


class Runs(Reserving):
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
            lambda: transitions.reserve_or_adopt(self.project, _reservation(run_id, order)),
            lambda reserved: reserved.adopted,
        ):
            self.run_ids[slot] = run_id


def _reservation(run_id: str, order: Order) -> Reservation:
    return Reservation(
        run_id=run_id,
        workflow_name=order.workflow,
        workflow_ref=f"{order.workflow}@1",
        workflow_source=SOURCE,
        definition_digest=digest_of(order.workflow),
        definition_snapshot={"lostRunner": order.workflow, "steps": order.snapshot},
        origin_session_id=order.session_id,
        input=order.input,
        execution_mode=ExecutionMode.INTERACTIVE if order.is_interactive else ExecutionMode.HEADLESS,
        priority=order.priority,
        parent_run_id=order.parent_id,
        lineage_kind=order.lineage_kind,
        restart_number=order.restart_number,
        parent_run_revision=order.parent_revision,
    )
