"""The proofs about restarts: every restart leads back to its parent, and to the root of that."""

from collections.abc import Iterator, Sequence

from runs.models import Run
from runs.states import RUN_TERMINAL, LineageKind
from runs.verify.violation import Violation


def lineages(runs: Sequence[Run]) -> Iterator[Violation]:
    """What is wrong between these runs and the ones that they restart."""
    restarts = [run for run in runs if run.parent_id is not None]
    parents = Run.objects.in_bulk([run.parent_id for run in restarts if run.parent_id]) if restarts else {}
    for run in runs:
        if run.parent_id is None:
            if (run.root_id, run.lineage_kind, run.restart_number) != (None, None, 0):
                yield Violation.of(run, "lineage", "it has no parent, and a root, a kind or a restart number")
            continue
        for detail in _restart(run, parents[run.parent_id]):
            yield Violation.of(run, "lineage", detail)


def _restart(run: Run, parent: Run) -> Iterator[str]:
    if run.lineage_kind != LineageKind.RESTART:
        yield f"it has a parent and the kind {run.lineage_kind}"
    if run.root_id != (parent.root_id or parent.pk):
        yield f"its root is not that of its parent {parent.run_id}"
    if run.restart_number != parent.restart_number + 1:
        yield f"it is restart {run.restart_number} of {parent.run_id}, which is {parent.restart_number}"
    if (run.project_id, run.origin_session_id) != (parent.project_id, parent.origin_session_id):
        yield f"its parent {parent.run_id} is of another project or session"
    if parent.status not in RUN_TERMINAL:
        yield f"its parent {parent.run_id} is {parent.status}"
    if not 0 < (run.parent_run_revision or 0) <= parent.revision:
        yield f"it restarts revision {run.parent_run_revision} of {parent.run_id}, which has {parent.revision}"
