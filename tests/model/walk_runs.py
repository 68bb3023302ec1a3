"""Rules of a walk: runs are reserved, adopted, restarted and deleted."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from runs import transitions
from runs.states import ExecutionMode, LineageKind, Priority
from runs.transitions import Hold, Reservation
from tests.builders import SOURCE, digest_of
from tests.model import reserving
from tests.model.model import Order
from tests.model.walk import RUNS, SESSIONS, TOKENS, Walk

# Each workflow is named for what a lost runner means in it.
WORKFLOWS = ["retry", "park", "fail"]
ORDERS = st.builds(
    Order,
    workflow=st.sampled_from([*WORKFLOWS, "retry", "retry"]),
    session_id=SESSIONS,
    input=st.sampled_from(["one", "two"]),
    is_interactive=st.booleans(),
    priority=st.sampled_from([Priority.NORMAL, Priority.HIGH, Priority.LOW]),
    snapshot=st.sampled_from(["as ever"] * 5 + ["changed"]),
)


class Runs(Walk):
    """Reserving and deleting."""

    @rule(run_id=RUNS, order=ORDERS)
    def reserve(self, run_id: str, order: Order) -> None:
        self.both(
            lambda: reserving.reserve(self.queue, run_id, order),
            lambda: transitions.reserve(self.project, _reservation(run_id, order)),
        )

    @rule(run_id=RUNS, order=ORDERS, alike=st.booleans())
    def reserve_or_adopt(self, run_id: str, order: Order, alike: bool) -> None:
        if alike and run_id in self.queue.runs:
            order = replace(self.queue.runs[run_id].order, priority=order.priority, snapshot=order.snapshot)
        self._reserve_or_adopt(run_id, order)

    @rule(
        run_id=RUNS,
        order=ORDERS,
        parent_id=st.none() | RUNS,
        kind=st.sampled_from([LineageKind.RESTART] * 4 + [None]),
        number=st.sampled_from([None, 1, 2]),
        behind=st.sampled_from([0, 0, 0, 1, None]),
        same_session=st.sampled_from([True, True, False]),
    )
    def restart(
        self,
        run_id: str,
        order: Order,
        parent_id: str | None,
        kind: str | None,
        number: int | None,
        behind: int | None,
        same_session: bool,
    ) -> None:
        """`behind`: by how much the parent's revision as the caller knows it is out of date."""
        parent = self.queue.runs.get(parent_id or "")
        revision = None if parent is None or behind is None else parent.revision - behind
        session_id = parent.order.session_id if parent and same_session else order.session_id
        lineage: dict[str, Any] = {"parent_id": parent_id, "lineage_kind": kind, "parent_revision": revision}
        self._reserve_or_adopt(run_id, replace(order, session_id=session_id, restart_number=number, **lineage))

    def _reserve_or_adopt(self, run_id: str, order: Order) -> None:
        self.both(
            lambda: reserving.reserve_or_adopt(self.queue, run_id, order),
            lambda: transitions.reserve_or_adopt(self.project, _reservation(run_id, order)),
            lambda reserved: reserved.adopted,
        )

    @rule(run_id=RUNS, which=TOKENS)
    def delete(self, run_id: str, which: str) -> None:
        token = self.token(run_id, which)
        self.both(
            lambda: reserving.delete(self.queue, run_id, token),
            lambda: transitions.delete(self.project, Hold(run_id, token)),
        )


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
