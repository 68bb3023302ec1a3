"""Which workflows runners ask for: what tells a run that waits its turn from one that nobody will ever take."""

from collections.abc import Collection
from datetime import timedelta

from django.db.models import Q

from runs import clock
from runs.models import Project, Workflow
from runs.transitions.mutex import transition

STAMPED_EVERY = timedelta(seconds=10)


def note_demand(project: Project, workflows: Collection[str]) -> None:
    """Note that a runner asks for runs of these workflows: a look, and every ten seconds a write, however many ask."""
    due = Q(asked_for_at=None) | Q(asked_for_at__lte=clock.now() - STAMPED_EVERY)
    keys = list(Workflow.objects.filter(due, project=project, name__in=workflows).values_list("pk", flat=True))
    if keys:
        _stamp(keys)


@transition
def _stamp(keys: Collection[int]) -> None:
    # Past those that another claim is stamping: no claim waits for one of these rows, nor do two in a circle.
    rows = Workflow.objects.select_for_update(skip_locked=True, no_key=True)
    free = list(rows.filter(pk__in=keys).values_list("pk", flat=True))
    Workflow.objects.filter(pk__in=free).update(asked_for_at=clock.now())
