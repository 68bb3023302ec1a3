"""The proof about viewers: what a run's events told them, folded from the first on, is what its rows show."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runs import reading_view, view
from runs.models import Event, Run
from runs.verify.violation import Violation

RUNS_AT_ONCE = 20
NAMED = 5  # differences of one run


def views(runs: Sequence[Run]) -> Iterator[Violation]:
    """Where the folded view of these runs differs. Runs with events from before there were views are passed over."""
    for start in range(0, len(runs), RUNS_AT_ONCE):
        some = {run.pk: run for run in runs[start : start + RUNS_AT_ONCE]}
        folded = _folded(list(some))
        for key, shown in reading_view.whole_views(list(folded)).items():
            places = list(differences("", view.settled(folded[key]), view.settled(shown)))
            for place in places[:NAMED]:
                yield Violation.of(some[key], "view", f"what its events told viewers is not what stands at {place}")


def _folded(run_keys: Sequence[int]) -> dict[int, view.View]:
    folded: dict[int, view.View] = defaultdict(view.empty)
    untold = set()
    events = Event.objects.filter(run__in=run_keys).order_by("pk").values_list("run_id", "changes")
    for key, changes in events.iterator():
        if changes is None:
            untold.add(key)
        else:
            view.merge(folded[key], reading_view.changes_of(changes))
    return {key: folded[key] for key in folded if key not in untold}


def differences(place: str, told: Any, stands: Any) -> Iterator[str]:
    """JSON pointers to where the two differ."""
    if isinstance(told, Mapping) and isinstance(stands, Mapping):
        for name in sorted(told.keys() | stands.keys()):
            yield from differences(f"{place}/{name}", told.get(name), stands.get(name))
    elif told != stands:
        yield place
