"""Every read that has a shape: single runs, lists, events in order. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import BigIntegerField, Q, QuerySet
from django.db.models.expressions import RawSQL

from runs import errors, rules
from runs.models import Blob, Event, LateResult, NodeAttempt, Project, Run
from runs.models.attempt import AttemptQuerySet
from runs.models.event import EventQuerySet
from runs.models.run import RunQuerySet
from runs.states import AggregateKind


def run(project: Project, run_id: str) -> Run:
    """One run with all its documents. Refuses an id that this project does not have."""
    found = Run.objects.of(project).with_documents().filter(run_id=run_id).first()
    if found is None:
        raise errors.RunNotFound(run_id=run_id)
    return found


def runs(project: Project) -> RunQuerySet:
    """The project's runs for lists, newest first."""
    return Run.objects.of(project).with_identity().newest_first()


def session_reservation(project: Project, session_id: str) -> Run:
    """The newest interactive run of that session that is not over. Refuses where there is none."""
    found = Run.objects.of(project).with_documents().holding_session(session_id).newest_first().first()
    if found is None:
        raise errors.RunNotFound("The session holds no run.")
    return found


def is_held(project: Project, run_id: str, token: str, at: datetime) -> bool:
    """Whether this token holds that run at `at`."""
    found = Run.objects.of(project).select_related("lease").filter(run_id=run_id).first()
    return found is not None and rules.is_held(found.lease, token, at)


def authority(project: Project, run_id: str, token: str) -> Run:
    """The run whose recorded owner has this token, expired or not. Refuses any other token."""
    found = Run.objects.of(project).with_identity().filter(run_id=run_id).first()
    if found is None or not rules.token_matches(found.lease, token):
        raise errors.LeaseLost(run_id=run_id)
    return found


def held_with(project: Project, owner_id: str, tokens: Sequence[str], at: datetime) -> dict[str, Run]:
    """By token: the runs that this owner holds live with these tokens."""
    hashes = {rules.token_hash(token): token for token in tokens}
    found = (
        Run.objects.with_documents()
        .filter(
            project=project,
            lease__token_hash__in=hashes,
            lease__owner_id=owner_id,
            lease__expires_at__gt=at,
        )
        .exclude(lease__wish_due_at__lte=at)
    )
    return {hashes[bytes(run.lease.token_hash or b"")]: run for run in found}


def with_documents(runs: Sequence[Run]) -> list[Run]:
    """The same runs, in the same order, with all their documents."""
    found = Run.objects.with_documents().in_bulk([run.pk for run in runs])
    return [found[run.pk] for run in runs]


def document(project: Project, digest: str, media_type: str) -> Blob:
    """A stored document or text of the project. Refuses what is no digest, and one that the project does not have."""
    found = Blob.objects.filter(project=project, digest=rules.digest(digest), media_type=media_type).first()
    if found is None:
        raise errors.DocumentNotFound(digest=digest)
    return found


def attempts(run: Run) -> AttemptQuerySet:
    """A run's attempts in the order in which they were started."""
    return NodeAttempt.objects.filter(run=run).with_documents().order_by("pk")


def late_results(run: Run) -> QuerySet[LateResult]:
    """What was reported too late, oldest first."""
    return LateResult.objects.filter(run=run).select_related("result").order_by("pk")


def run_events(run: Run, after: int = 0) -> EventQuerySet:
    """A run's events after a sequence number. Within a run, sequence order is commit order."""
    return Event.objects.brief().filter(run=run, pk__gt=after).in_sequence()


def events_after(project: Project, seq: int) -> EventQuerySet:
    """The project's events of runs after a sequence number, by sequence; the feed is what misses none."""
    return Event.objects.brief().filter(project=project, kind=AggregateKind.RUN, pk__gt=seq).in_sequence()


@dataclass(frozen=True, slots=True)
class FeedPosition:
    """A place in a project's feed: the writing transaction and the sequence number of the last event read."""

    transaction_id: int = 0
    seq: int = 0


def feed(project: Project, after: FeedPosition) -> EventQuerySet:
    """The project's events in an order in which none ever appears before one already read.

    On PostgreSQL only events of transactions that nothing older can still join are shown.
    """
    later = Q(transaction_id=after.transaction_id, pk__gt=after.seq) | Q(transaction_id__gt=after.transaction_id)
    events = Event.objects.brief().filter(later, project=project, transaction_id__gte=after.transaction_id)
    if connection.vendor == "postgresql":
        events = events.filter(transaction_id__lt=_OLDEST_RUNNING)
    return events.order_by("transaction_id", "pk")


_OLDEST_RUNNING = RawSQL("pg_snapshot_xmin(pg_current_snapshot())::text::bigint", (), output_field=BigIntegerField())
