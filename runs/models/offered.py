"""Which runs a claim may take, found through the claim indexes at a cost that no backlog or history raises."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from runs.models.definition import Workflow
from runs.models.lease import OFFERED_SINCE, Lease, LeaseQuerySet
from runs.models.project import Project
from runs.states import Priority

_Walk = QuerySet[Lease, tuple[Any, ...]]


def claimable(
    project: Project,
    at: datetime,
    limit: int,
    workflows: Collection[str] | None,
    exclude_run_ids: Collection[str],
    exclude_keys: Collection[int],
    *,
    owner_id: str | None = None,
) -> list[int]:
    """Keys of leases that may be claimed at `at`, in claim order. With `owner_id` that owner's live ones count, too.

    One statement: a short walk of an index for each workflow and priority, and one over the project's owned leases,
    merged. So neither future-dated runs of high priority nor workflows that nobody serves are walked over.
    """
    leases = Lease.objects.ready(at).exclude(pk__in=exclude_keys)
    if exclude_run_ids:
        leases = leases.exclude(run__run_id__in=exclude_run_ids)
    scopes = [Q(project=project)]
    owned = leases.filter(project=project)
    if workflows is not None:
        keys = list(Workflow.objects.filter(project=project, name__in=workflows).values_list("pk", flat=True))
        scopes = [Q(workflow_id=key) for key in keys]
        owned = owned.filter(workflow_id__in=keys)
        if not keys:
            return []
    walks: list[_Walk] = [
        leases.unowned()
        .filter(scope, priority=priority)
        .order_by("ready_at", "pk")
        .values_list("run_id", "priority", "ready_at")
        for scope in scopes
        for priority in Priority
    ]
    expired = owned.filter(_takeable(at, owner_id), owner_id__isnull=False).in_claim_order()
    return _merged([*walks, expired.values_list("run_id", "priority", OFFERED_SINCE)], limit)


def still_claimable(keys: Collection[int], at: datetime, *, owner_id: str | None = None) -> LeaseQuerySet:
    """Those of the leases found that may be claimed yet, for the lock: others may have taken some in the meantime."""
    return Lease.objects.ready(at).filter(Q(owner_id=None) | _takeable(at, owner_id), pk__in=keys)


def _takeable(at: datetime, owner_id: str | None) -> Q:
    return Q(takeover_at__lte=at) if owner_id is None else Q(takeover_at__lte=at) | Q(owner_id=owner_id)


def _merged(walks: Sequence[_Walk], limit: int) -> list[int]:
    statement, params = _union(walks, limit)
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [row[0] for row in cursor.fetchall()]


def _union(walks: Sequence[_Walk], limit: int) -> tuple[str, list[Any]]:
    # By hand: Django's union() can't limit its parts on SQLite.
    parts: list[str] = []
    params: list[Any] = []
    for number, walk in enumerate(walks):
        sql, values = walk[:limit].query.sql_with_params()
        parts.append(f"SELECT * FROM ({sql}) AS walk{number}")  # noqa: S608  # compiled by Django, values apart
        params += values
    union = " UNION ALL ".join(parts)
    text = f"SELECT run_id FROM ({union}) AS walks ORDER BY priority, ready_at, run_id LIMIT {int(limit)}"  # noqa: S608
    return text, params
