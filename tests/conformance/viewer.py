"""A viewer of every run at once: what events tell it must be what stands, after every operation."""

from runs import reading_view, view
from runs.models import Event, Run
from runs.verify.views import differences
from runs.view import View


class Viewer:
    """Holds the views of all runs as events have told them."""

    def __init__(self) -> None:
        self._seq = 0
        self._views: dict[int, View] = {}

    def look(self) -> None:
        """See everything anew: rows were written past the transitions."""
        self._seq = self._last()
        self._views = self._standing()

    def follow(self) -> None:
        """Take what events tell since the last look: that must be the difference."""
        for run_key, changes in Event.objects.filter(pk__gt=self._seq).order_by("pk").values_list("run_id", "changes"):
            view.merge(self._views.setdefault(run_key, view.empty()), reading_view.changes_of(changes))
        self._seq = self._last()
        standing = self._standing()
        told = {key: view.settled(self._views[key]) for key in standing}
        for key, each in standing.items():
            assert list(differences("", told[key], view.settled(each))) == []

    def _last(self) -> int:
        return Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0

    def _standing(self) -> dict[int, View]:
        return reading_view.whole_views(list(Run.objects.values_list("pk", flat=True)))
