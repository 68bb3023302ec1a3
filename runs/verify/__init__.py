"""Proves over a database what must be true of it, and changes nothing. One subject a file; this one walks the runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runs.models import Project, Run
from runs.moment import one_moment
from runs.verify.blobs import broken_blobs
from runs.verify.dependents import dependents
from runs.verify.journal import journals
from runs.verify.lineage import lineages
from runs.verify.state import states
from runs.verify.views import views
from runs.verify.violation import Violation

RUNS_AT_ONCE = 200

__all__ = ["RUNS_AT_ONCE", "Checked", "Violation", "violations"]


@dataclass(slots=True)
class Checked:
    """How much has been looked at."""

    runs: int = 0
    blobs: int = 0


def violations(
    project: Project | None = None, limit: int = RUNS_AT_ONCE, checked: Checked | None = None
) -> Iterator[Violation]:
    """What is wrong in the database, or in one project; nothing in a sound one.

    Run by run in the order of their keys, `limit` at a time, and then blob by blob; never a whole table at once.
    """
    checked = checked or Checked()
    after = 0
    while batch := _keys(project, after, limit):
        yield from _of(batch)
        checked.runs += len(batch)
        after = batch[-1]
    for found, looked_at in broken_blobs(project):
        yield from found
        checked.blobs += looked_at


def _keys(project: Project | None, after: int, limit: int) -> Sequence[int]:
    runs = Run.objects.filter(pk__gt=after).order_by("pk")
    if project is not None:
        runs = runs.filter(project=project)
    return list(runs.values_list("pk", flat=True)[:limit])


def _of(keys: Sequence[int]) -> list[Violation]:
    with one_moment():
        runs = list(Run.objects.select_related("lease", "project").filter(pk__in=keys).order_by("pk"))
        found = [check for rule in (journals, states, dependents, lineages, views) for check in rule(runs)]
    return sorted(found, key=lambda each: each.run_key)
