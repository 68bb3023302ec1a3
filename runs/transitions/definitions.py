"""Storing workflows and definitions, many at once. A digest stands for one name and one snapshot, for ever."""

from collections.abc import Iterable
from datetime import datetime

from runs import errors
from runs.models import Blob, Project, Workflow, WorkflowDefinition
from runs.states import LostRunner
from runs.transitions.blobs import Content


def workflows(project: Project, names: Iterable[str]) -> dict[str, Workflow]:
    """A workflow for each name; made where missing, in name order."""
    wanted = set(names)
    found = _named(project, wanted)
    if missing := sorted(wanted - found.keys()):
        Workflow.objects.bulk_create([Workflow(project=project, name=name) for name in missing], ignore_conflicts=True)
        found = _named(project, wanted)
    return found


def known(project: Project, digests: Iterable[bytes]) -> dict[bytes, WorkflowDefinition]:
    """The definitions of these digests, as far as there are any."""
    rows = WorkflowDefinition.objects.filter(project=project, digest__in=set(digests))
    return {bytes(row.digest): row for row in rows.select_related("workflow", "snapshot")}


def stored(
    project: Project, wanted: dict[bytes, tuple[Workflow, Blob, LostRunner]], at: datetime
) -> dict[bytes, WorkflowDefinition]:
    """The definition of each digest; made where missing, in digest order. A twin's may differ: look at it."""
    found = known(project, wanted)
    if missing := sorted(wanted.keys() - found.keys()):
        WorkflowDefinition.objects.bulk_create(
            [
                WorkflowDefinition(
                    project=project,
                    workflow=workflow,
                    digest=digest,
                    snapshot=snapshot,
                    lost_runner=lost_runner,
                    created_at=at,
                )
                for digest in missing
                for workflow, snapshot, lost_runner in [wanted[digest]]
            ],
            ignore_conflicts=True,
        )
        found = known(project, wanted)
    return found


def agrees(definition: WorkflowDefinition, workflow_name: str, snapshot: Content) -> bool:
    """Whether the definition is of this name and snapshot."""
    return definition.workflow.name == workflow_name and bytes(definition.snapshot.content) == snapshot[1]


def same(definition: WorkflowDefinition, workflow_name: str, snapshot: Content) -> None:
    """Refuse another name or another snapshot under a known digest."""
    if not agrees(definition, workflow_name, snapshot):
        raise errors.DefinitionConflict(definition_digest="sha256:" + bytes(definition.digest).hex())


def _named(project: Project, names: set[str]) -> dict[str, Workflow]:
    return {row.name: row for row in Workflow.objects.filter(project=project, name__in=names)}
