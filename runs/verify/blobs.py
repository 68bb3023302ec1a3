"""The proof about blobs: each is what its digest and its size say."""

import hashlib
from collections.abc import Iterator, Sequence

from django.db.models import Model, QuerySet

from runs.models import (
    Blob,
    DecisionResolution,
    DecisionSubmission,
    Effect,
    EffectAttempt,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    LateResult,
    NodeAttempt,
    Project,
    Run,
    WorkflowDefinition,
    WorkflowMessage,
)
from runs.verify.violation import Violation

BLOBS_AT_ONCE = 50
RUNS_NAMED = 5

# The way from everything that refers to blobs to its run's id.
_USERS: dict[type[Model], str] = {
    Run: "run_id",
    WorkflowDefinition: "runs__run_id",
    NodeAttempt: "run__run_id",
    Effect: "run__run_id",
    EffectAttempt: "effect__run__run_id",
    InteractiveRequest: "run__run_id",
    InteractiveSubmission: "request__run__run_id",
    HumanDecision: "run__run_id",
    DecisionSubmission: "decision__run__run_id",
    DecisionResolution: "decision__run__run_id",
    LateResult: "run__run_id",
    WorkflowMessage: "run__run_id",
}


def broken_blobs(project: Project | None) -> Iterator[tuple[list[Violation], int]]:
    """For a page of blobs after the other: what is wrong with them, and how many they were."""
    blobs = Blob.objects.select_related("project").order_by("pk")
    if project is not None:
        blobs = blobs.filter(project=project)
    after = 0
    while page := list(blobs.filter(pk__gt=after)[:BLOBS_AT_ONCE]):
        yield [violation for blob in page for violation in _wrong(blob)], len(page)
        after = page[-1].pk


def _wrong(blob: Blob) -> Iterator[Violation]:
    content = bytes(blob.content)
    if hashlib.sha256(content).digest() == bytes(blob.digest) and len(content) == blob.size:
        return
    detail = f"the blob {blob.pk} ({blob}) is not what its digest and size say"
    run_ids = _runs_with(blob)
    for run_id in run_ids or [None]:
        yield Violation("blob", blob.project.path, run_id, detail)


def _runs_with(blob: Blob) -> Sequence[str | None]:
    """The ids of some runs that use it."""
    found: list[str] = []
    for model, way in _USERS.items():
        for field in model._meta.concrete_fields:
            if field.related_model is Blob and len(found) < RUNS_NAMED:
                users: QuerySet[Model] = model._default_manager.filter(**{field.name: blob})
                found += users.order_by().values_list(way, flat=True).distinct()[:RUNS_NAMED]
    return sorted({run_id for run_id in found if run_id})[:RUNS_NAMED]
