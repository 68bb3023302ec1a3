"""Rows that a test writes itself, past the transitions: what viewers are told is then compared from there on."""

from django.db.models import Max

from runs import reading_view, view
from runs.models import Event
from runs.verify.views import differences
from runs.view import View

_bases: dict[int, tuple[int, View]] = {}


def written_by_hand(run_key: int) -> None:
    """The run's rows stand otherwise than its events tell; later events are held against how they stand now."""
    _bases[run_key] = (Event.objects.filter(run=run_key).aggregate(last=Max("pk"))["last"] or 0, _view(run_key))


def forget() -> None:
    """Begin a test."""
    _bases.clear()


def is_by_hand(run_key: int) -> bool:
    return run_key in _bases


def assert_told() -> None:
    """Of runs that were written by hand: how they stood then, and what events told since, is how they stand now."""
    for run_key, (seq, base) in _bases.items():
        events = Event.objects.filter(run=run_key, pk__gt=seq).order_by("pk")
        if not Event.objects.filter(run=run_key).exists():
            continue  # deleted
        told = _copy(base)
        for changes in events.values_list("changes", flat=True):
            view.merge(told, reading_view.changes_of(changes))
        assert list(differences("", view.settled(told), view.settled(_view(run_key)))) == []


def _view(run_key: int) -> View:
    return reading_view.whole_views([run_key]).get(run_key) or view.empty()


def _copy(base: View) -> View:
    return view.merge({}, base)
