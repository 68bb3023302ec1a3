"""Views of runs: as a run stands now, what moved since a viewer's cursor, and how it stood at any event of its past."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max, QuerySet
from django.db.models.functions import Substr

from runs import canonical, clock, errors, view
from runs.models import (
    ActiveInterval,
    DecisionSubmission,
    Effect,
    EffectAttempt,
    Event,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    Lease,
    NodeAttempt,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from runs.moment import one_moment
from runs.view import View
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
        run = _run(run_key)
        if run is None:
            return None
        cursor: int = Event.objects.filter(run=run).aggregate(last=Max("pk"))["last"] or 0
        shown, cut = view.empty(), []
        shown["summary"] = view.summary(run)
        for rows in _rows(run):
            found = list(rows.order_by("-pk")[: ENTRIES + 1])
            if len(found) > ENTRIES:
                cut.append(view.entry(found[0])[0][1])
            for row in reversed(found[:ENTRIES]):
                (part, kind), key, entry = view.entry(row)
                shown[part][kind][key] = entry
        return Snapshot(run, cursor, clock.now(), _with_nodes(shown), tuple(cut))


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


def changes_of(stored: str) -> dict[str, Any]:
    """An event's changes as they are kept, read."""
    changes: Any = canonical.loads(stored.encode())
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


def _run(run_key: int) -> Run | None:
    documents = ("input", "launch_options", "sources", "output", "error", "queue_error")
    found = Run.objects.with_documents().select_related("project")
    found = found.defer(*(f"{name}__content" for name in documents))
    return found.annotate(**_beginnings("error", "queue_error")).filter(pk=run_key).first()


def _rows(run: Run) -> Sequence[QuerySet[Any]]:
    """What hangs on a run, one statement a kind, with what its entries show; of documents only which ones they are."""
    return (
        _with(NodeAttempt.objects.filter(run=run), "input", "output", "error").annotate(**_beginnings("error")),
        ActiveInterval.objects.filter(attempt__run=run).select_related("attempt"),
        _with(Effect.objects.filter(run=run), "payload", "result", "error").annotate(**_beginnings("error")),
        EffectAttempt.objects.filter(effect__run=run).select_related("effect").annotate(**_beginnings("error")),
        _with(InteractiveRequest.objects.filter(run=run).select_related("attempt"), "contract"),
        _with(InteractiveSubmission.objects.filter(request__run=run), "payload", "receipt").select_related("request"),
        _with(HumanDecision.objects.filter(run=run), "request", "default_response").select_related(
            "attempt", "resolution"
        ),
        _with(DecisionSubmission.objects.filter(decision__run=run), "input").select_related("decision"),
        _with(WorkflowMessage.objects.filter(run=run), "content", "evidence"),
        WorkflowTurn.objects.filter(run=run).select_related("message"),
    )


def _with(rows: QuerySet[Any], *documents: str) -> QuerySet[Any]:
    return rows.select_related(*documents).defer(*(f"{name}__content" for name in documents))


def _beginnings(*texts: str) -> dict[str, Substr]:
    return {f"{name}_beginning": Substr(f"{name}__content", 1, EXCERPT_BYTES) for name in texts}


def _with_nodes(shown: View) -> View:
    """The same view with the nodes of its graph, each by its latest attempt."""
    for attempt in shown["timeline"]["attempts"].values():
        shown["graph"]["nodes"][attempt["node_id"]] = view.node(attempt)
    return shown
