"""How a walk reserves runs, in the beginning and wherever one is over. No rules here."""

from hypothesis import strategies as st

from runs import transitions
from runs.states import ExecutionMode, Priority
from runs.transitions import Reservation
from tests.builders import SOURCE, digest_of
from tests.model import reserving
from tests.model.model import Order
from tests.model.walk import SESSIONS, Walk

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
    """What every walk does."""

    def reserved(self, slot: str, run_id: str, order: Order) -> None:
        if self.both(
            lambda: reserving.reserve(self.queue, run_id, order),
            lambda: transitions.reserve(self.project, reservation(run_id, order)),
        ):
            self.run_ids[slot] = run_id

    def new_id(self, slot: str) -> str:
        return f"run-{slot}-{self.number()}"


def reservation(run_id: str, order: Order) -> Reservation:
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
