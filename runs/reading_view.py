"""Views of runs: as a run stands now, what moved since a viewer's cursor, and how it stood at any event of its past."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, QuerySet
from django.db.models.functions import Substr

from runs import canonical, clock, errors, view
from runs.models import ActiveInterval, Event, Lease, Run
from runs.moment import one_moment
from runs.view import View
from runs.view.kinds import KINDS, Kind
from runs.view.members import EXCERPT_BYTES

ENTRIES = 1_000  # of a kind, the newest
BEHIND = 256  # events; a viewer that is further behind gets a snapshot
REPLAYED = 20_000  # events; a longer past can't be shown as it was


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run's view after the event of number `cursor`. `cut` names the kinds of which only the newest are in it."""

    run: Run
    cursor: int
    at: datetime
    view: View
    cut: tuple[str, ...] = ()


def snapshot(run_key: int) -> Snapshot | None:
    """The view of a run as it stands; None where there is no such run. A dozen statements, however much hangs on it."""
    with one_moment():
        run = _runs([run_key]).first()
        if run is None:
            return None
        cursor: int = Event.objects.filter(run=run).aggregate(last=Max("pk"))["last"] or 0
        shown, cut = _summed_up(run), []
        for kind, rows in _rows([run_key]).items():
            # Newest first for the limit, and then as they came.
            found = list(rows.order_by("-pk")[: ENTRIES + 1])
            if len(found) > ENTRIES:
                cut.append(kind.path[1])
            for row in reversed(found[:ENTRIES]):
                view.put(shown, row)
        return Snapshot(run, cursor, clock.now(), shown, tuple(cut))


def whole_views(run_keys: Collection[int]) -> dict[int, View]:
    """By run key: views with everything, however much; for proofs, a few runs at a time. A dozen statements."""
    shown = {run.pk: _summed_up(run) for run in _runs(run_keys)}
    for kind, rows in _rows(run_keys).items():
        for row in rows.order_by("pk").iterator():
            view.put(shown[kind.run_of(row)], row)
    return shown


def deltas(run_key: int, after: int) -> list[Event] | None:
    """A run's events after the viewer's cursor. None where only a snapshot helps: the cursor is not the number of an
    event of this very run, is too far behind, or what follows was written before there were views."""
    if not 0 < after <= 2**63 - 1:
        return None
    found = list(Event.objects.filter(run=run_key, pk__gte=after).order_by("pk")[: BEHIND + 2])
    if not found or found[0].pk != after or len(found) > BEHIND + 1:
        return None
    events = found[1:]
    return None if any(event.changes is None for event in events) else events


def replayed(run: Run, seq: int) -> Snapshot:
    """The run's view as it was after its last event up to that number, folded from its events.

    Refuses a time before its first event, and a past too long or older than views.
    """
    events = Event.objects.filter(run=run, pk__lte=min(seq, 2**63 - 1)).order_by("pk")
    told = list(events.values_list("pk", "at", "changes")[: REPLAYED + 1])
    if not told:
        raise errors.NoSuchMoment(run_id=run.run_id)
    if len(told) > REPLAYED or any(changes is None for _, _, changes in told):
        raise errors.PastNotKept(run_id=run.run_id)
    shown = view.empty()
    for _, _, changes in told:
        view.merge(shown, changes_of(changes))
    last, at, _ = told[-1]
    return Snapshot(run, last, at, shown)


def changes_of(stored: str | None) -> dict[str, Any]:
    """An event's changes as they are kept, read; of an event that told nothing, nothing."""
    changes: Any = {} if stored is None else canonical.loads(stored.encode())
    return changes  # type: ignore[no-any-return]  # what the journal has written


def pulses(run_keys: Collection[int]) -> dict[int, view.Changes]:
    """By run key, of those that somebody holds: what renewals move without an event, as changes. Two statements."""
    found = Lease.objects.filter(pk__in=run_keys, owner_id__isnull=False)
    told = {lease.pk: view.pulse(lease) for lease in found.only("heartbeat_at", "expires_at", "takeover_at")}
    if told:
        for interval in ActiveInterval.objects.select_related("attempt").filter(attempt__run__in=told, ended_at=None):
            view.beat(told[interval.attempt.run_id], interval)
    return told


def heads(run_keys: Collection[int]) -> dict[int, tuple[bytes, datetime | None]]:
    """By run key: what is another after every event and every renewal. One statement; what is gone is left out."""
    found = Run.objects.filter(pk__in=run_keys).values_list("pk", "head_digest", "lease__heartbeat_at")
    return {key: (bytes(digest), beat) for key, digest, beat in found}


def _runs(run_keys: Collection[int]) -> QuerySet[Run]:
    documents = ("input", "launch_options", "sources", "output", "error", "queue_error")
    found = Run.objects.with_documents().select_related("project").filter(pk__in=run_keys)
    return found.defer(*(f"{name}__content" for name in documents)).annotate(**_beginnings("error", "queue_error"))


def _summed_up(run: Run) -> View:
    return view.empty() | {"summary": view.summary(run)}


def _rows(run_keys: Collection[int]) -> dict[Kind, QuerySet[Any]]:
    """What hangs on runs, one statement a kind, with what its entries show; of documents only which ones they are."""
    found = {kind: model.objects.filter(**{f"{kind.run}__in": run_keys}) for model, kind in KINDS.items()}  # type: ignore[attr-defined]
    return {kind: _with(kind, rows) for kind, rows in found.items()}


def _with(kind: Kind, rows: QuerySet[Any]) -> QuerySet[Any]:
    documents = (f"{name}__content" for name in kind.documents)
    with_documents: QuerySet[Any] = rows.select_related(*kind.related, *kind.documents).defer(*documents)
    with_texts: QuerySet[Any] = with_documents.annotate(**_beginnings(*kind.texts))
    return with_texts


def _beginnings(*texts: str) -> dict[str, Substr]:
    return {f"{name}_beginning": Substr(f"{name}__content", 1, EXCERPT_BYTES) for name in texts}
