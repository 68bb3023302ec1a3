"""What a caller asks for when it reserves a run, and the form in which it is stored and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import errors, rules, rules_crashes, sources
from runs.models import Blob, Run
from runs.states import ExecutionMode, LostRunner, Priority
from runs.transitions import blobs, definitions
from runs.transitions.blobs import Content


@dataclass(frozen=True, slots=True)
class Reservation:
    """`input` null is no input; `launch_options` null is {}. The lineage fields belong to restarts."""

    run_id: str
    workflow_name: str
    workflow_ref: str
    workflow_source: Any
    definition_digest: str
    definition_snapshot: Any
    origin_session_id: str
    input: Any = None
    launch_options: Mapping[str, Any] | None = None
    execution_mode: str = ExecutionMode.INTERACTIVE
    priority: int = Priority.NORMAL
    parent_run_id: str | None = None
    lineage_kind: str | None = None
    restart_number: int | None = None
    parent_run_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A reservation with its documents in their stored form."""

    asked: Reservation
    digest: bytes
    sources: Content
    input: Content
    launch_options: Content
    snapshot: Content
    mount_paths: tuple[str, ...]
    lost_runner: LostRunner

    @property
    def contents(self) -> tuple[Content, ...]:
        return self.sources, self.input, self.launch_options, self.snapshot


def prepared(asked: Reservation, digest: bytes) -> Prepared:
    """The documents of a reservation. Refuses sources that are none, and what can't be stored as JSON."""
    parsed = sources.parse(asked.workflow_source)
    return Prepared(
        asked=asked,
        digest=digest,
        sources=blobs.document(parsed),
        input=blobs.document(asked.input),
        launch_options=blobs.document({} if asked.launch_options is None else asked.launch_options),
        snapshot=blobs.document(asked.definition_snapshot),
        mount_paths=tuple(source[0] for source in parsed),
        lost_runner=rules_crashes.lost_runner(asked.definition_snapshot),
    )


def lineage(asked: Reservation, parents: Mapping[str, Run]) -> Run | None:
    """The parent, if the run may be its restart; None for a root."""
    if asked.parent_run_id is None:
        rules.root(asked.lineage_kind, asked.restart_number, asked.parent_run_revision)
        return None
    rules.lineage_kind(asked.lineage_kind)
    parent = parents.get(asked.parent_run_id)
    if parent is None:
        raise errors.RunNotFound(run_id=asked.parent_run_id)
    rules.restart(parent, asked.origin_session_id, asked.restart_number, asked.parent_run_revision)
    return parent


def adopted(run: Run, item: Prepared, parents: Mapping[str, Run]) -> Run:
    """The standing run, if it was reserved with equal content. Refuses other content, naming the differing fields."""
    asked = item.asked
    parent = None if asked.parent_run_id is None else parents.get(asked.parent_run_id)
    if asked.parent_run_id is not None and parent is None:
        raise errors.RunNotFound(run_id=asked.parent_run_id)
    kind = asked.lineage_kind if parent else None
    number = 0 if parent is None else parent.restart_number + 1
    if kind and asked.restart_number is not None:
        number = asked.restart_number
    pairs = {
        "workflow_name": (run.workflow.name, asked.workflow_name),
        "workflow_ref": (run.workflow_ref, asked.workflow_ref),
        "definition_digest": (bytes(run.definition.digest), item.digest),
        "workflow_source": (_content(run.sources), item.sources),
        "input": (_content(run.input), item.input),
        "launch_options": (_content(run.launch_options), item.launch_options),
        "origin_session_id": (run.origin_session_id, asked.origin_session_id),
        "execution_mode": (run.execution_mode, asked.execution_mode),
        "parent_run_id": (run.parent.run_id if run.parent else None, asked.parent_run_id),
        "root_run_id": (run.root_run_id, parent.root_run_id if parent else asked.run_id),
        "lineage_kind": (run.lineage_kind, kind),
        "restart_number": (run.restart_number, number),
        "parent_run_revision": (run.parent_run_revision, asked.parent_run_revision),
    }
    differing = [name for name, (stands, wanted) in pairs.items() if stands != wanted]
    if differing:
        raise errors.PreparationConflict(run_id=run.run_id, fields=differing)
    run.definition.workflow = run.workflow  # the same row: a look at the database for each run of a batch less
    definitions.same(run.definition, asked.workflow_name, item.snapshot)
    return run


def _content(blob: Blob) -> Content:
    return blob.media_type, bytes(blob.content)
