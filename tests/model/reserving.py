"""The model's reserving, adopting and deleting."""

from dataclasses import replace

from runs.states import EffectStatus, LineageKind, LostRunner
from tests.model import guards
from tests.model.model import Order, Queue, Refused, Run


def reserve(queue: Queue, run_id: str, order: Order) -> None:
    if run_id in queue.runs:
        raise Refused("already_reserved")
    _make(queue, run_id, order)


def reserve_or_adopt(queue: Queue, run_id: str, order: Order) -> bool:
    """Whether it stood there already, with equal content."""
    if run_id not in queue.runs:
        _make(queue, run_id, order)
        return False
    run = queue.runs[run_id]
    parent = None if order.parent_id is None else queue.find(order.parent_id)
    number = 0 if parent is None else order.restart_number or parent.restart_number + 1
    if _compared(order, number) != _compared(run.order, run.restart_number):
        raise Refused("preparation_conflict")
    _agree_on_definition(queue, order)
    return True


def _compared(order: Order, restart_number: int) -> Order:
    """What adoption compares: neither the priority nor, at this place, the snapshot."""
    kind = order.lineage_kind if order.parent_id else None
    return replace(order, priority=0, snapshot="", lineage_kind=kind, restart_number=restart_number)


def _make(queue: Queue, run_id: str, order: Order) -> None:
    restart_number = _lineage(queue, order)
    _agree_on_definition(queue, order)
    if any(run.order.parent_id == order.parent_id is not None for run in queue.runs.values()):
        raise Refused("parent_already_restarted")
    if order.is_interactive and any(_takes_session(run, order.session_id) for run in queue.runs.values()):
        raise Refused("session_busy")
    queue.definitions[order.workflow] = order.snapshot
    queue.reserved += 1
    queue.runs[run_id] = Run(
        run_id, queue.reserved, order, LostRunner(order.workflow), restart_number, available_at=queue.now
    )


def _agree_on_definition(queue: Queue, order: Order) -> None:
    """A digest stands for one snapshot, for ever; here each workflow has one digest."""
    if queue.definitions.get(order.workflow, order.snapshot) != order.snapshot:
        raise Refused("definition_conflict")


def _takes_session(run: Run, session_id: str) -> bool:
    return run.order.is_interactive and run.order.session_id == session_id and not run.is_over


def _lineage(queue: Queue, order: Order) -> int:
    """The restart number, if the run may be a restart of that parent, or is a root."""
    if order.parent_id is None:
        if order.lineage_kind is not None:
            raise Refused("lineage_kind")
        if order.restart_number is not None or order.parent_revision is not None:
            raise Refused("root_with_restart_fields")
        return 0
    if order.lineage_kind != LineageKind.RESTART:
        raise Refused("lineage_kind")
    parent = queue.find(order.parent_id)
    if parent.order.session_id != order.session_id:
        raise Refused("parent_session")
    if not parent.is_over:
        raise Refused("parent_not_terminal")
    if order.parent_revision is None:
        raise Refused("parent_revision_missing")
    if order.parent_revision != parent.revision:
        raise Refused("parent_revision_changed")
    if order.restart_number not in (None, parent.restart_number + 1):
        raise Refused("restart_number")
    return parent.restart_number + 1


def delete(queue: Queue, run_id: str, token: str) -> None:
    run = queue.find(run_id)
    guards.held(run, token, queue.now)
    if any(other.order.parent_id == run_id for other in queue.runs.values()):
        raise Refused("has_restart")
    if any(effect.status in (EffectStatus.APPLYING, EffectStatus.AMBIGUOUS) for effect in run.effects.values()):
        raise Refused("effect_unsettled")
    del queue.runs[run_id]
