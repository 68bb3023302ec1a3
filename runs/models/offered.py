"""Which runs a claim may take, found through the claim indexes at a cost that no backlog or history raises."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from django.db import connection
from django.db.models import Q

from runs.models.definition import Workflow
from runs.models.lease import OFFERED_SINCE, Lease, LeaseQuerySet
from runs.models.project import Project
from runs.states import Priority

_Part = tuple[str, tuple[Any, ...]]  # a statement and its parameters
# Stand in the one walk that is compiled for the key and the priority of each; no real ones are negative.
_KEY, _PRIORITY = -1, -2


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
    owned = leases.filter(project=project)
    if workflows is None:
        walks = _walks(leases, "project_id", [project.pk], limit)
    else:
        keys = list(Workflow.objects.filter(project=project, name__in=workflows).values_list("pk", flat=True))
        walks = _walks(leases, "workflow_id", keys, limit)
        owned = owned.filter(workflow_id__in=keys)
        if not keys:
            return []
    expired = owned.filter(_takeable(at, owner_id), owner_id__isnull=False).in_claim_order()
    last = expired.values_list("run_id", "priority", OFFERED_SINCE)[:limit].query.sql_with_params()
    return _merged([*walks, last], limit)


def still_claimable(keys: Collection[int], at: datetime, *, owner_id: str | None = None) -> LeaseQuerySet:
    """Those of the leases found that may be claimed yet, for the lock: others may have taken some in the meantime."""
    return Lease.objects.ready(at).filter(Q(owner_id=None) | _takeable(at, owner_id), pk__in=keys)


def _takeable(at: datetime, owner_id: str | None) -> Q:
    return Q(takeover_at__lte=at) if owner_id is None else Q(takeover_at__lte=at) | Q(owner_id=owner_id)


def _walks(leases: LeaseQuerySet, scope: str, keys: Sequence[int], limit: int) -> Iterator[_Part]:
    """A walk for each of these keys and each priority. Compiled once: that costs more than the walks themselves."""
    walk = leases.unowned().filter(**{scope: _KEY}, priority=_PRIORITY).order_by("ready_at", "pk")
    sql, params = walk.values_list("run_id", "priority", "ready_at")[:limit].query.sql_with_params()
    for key, priority in product(keys, Priority):
        own = {_KEY: key, _PRIORITY: priority.value}
        yield sql, tuple(own.get(value, value) if isinstance(value, int) else value for value in params)


def _merged(parts: Sequence[_Part], limit: int) -> list[int]:
    # By hand: Django's union() can't limit its parts on SQLite. All of it was compiled by Django, values apart.
    walks = (f"SELECT * FROM ({sql}) AS walk{number}" for number, (sql, _) in enumerate(parts))  # noqa: S608
    union = " UNION ALL ".join(walks)
    statement = f"SELECT run_id FROM ({union}) AS walks ORDER BY priority, ready_at, run_id LIMIT {int(limit)}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(statement, [value for _, params in parts for value in params])
        return [row[0] for row in cursor.fetchall()]
