"""Why runs wait, read from the database: for one run, or for a page of them in as many statements. Changes nothing."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from runs import canonical, clock
from runs.models import Effect, Event, HumanDecision, InteractiveRequest, Run
from runs.rules_waiting import Pause, Reason, Surroundings, WaitCode, reason, wait_code
from runs.states import RUN_SCOPE, AggregateKind, RequestStatus


def waiting_reason(run: Run) -> Reason | None:
    """Why this run waits; None where somebody works on it, or it is over."""
    return waiting_reasons([run]).get(run.pk)


def waiting_reasons(runs: Collection[Run], at: datetime | None = None) -> dict[int, Reason]:
    """By run key: why those of these runs wait that do. Five statements at most besides the clock, however many runs.

    The runs come with what `with_identity` reads.
    """
    at = at or clock.now()
    by_code: dict[WaitCode, list[Run]] = defaultdict(list)
    for run in runs:
        code = wait_code(run, run.lease, run.workflow.asked_for_at, at)
        if code is not None:
            by_code[code].append(run)
    around = _surroundings(by_code)
    told = {run.pk: reason(run, run.lease, around[run.pk], at) for group in by_code.values() for run in group}
    return {key: each for key, each in told.items() if each is not None}


def _surroundings(by_code: dict[WaitCode, list[Run]]) -> dict[int, Surroundings]:
    asking, doubting = by_code[WaitCode.WAITING_FOR_PERSON], by_code[WaitCode.EFFECT_IN_DOUBT]
    pauses = _pauses(by_code[WaitCode.PAUSED])
    sessions = _named(InteractiveRequest.objects.filter(status=RequestStatus.PENDING), "target_session_id", asking)
    decisions = _named(HumanDecision.objects.filter(resolution=None), "decision_id", asking)
    effects = _named(Effect.objects.in_doubt().filter(owner_scope=RUN_SCOPE), "effect_id", doubting)
    return {
        run.pk: Surroundings(
            workflow_name=run.workflow.name,
            asked_for_at=run.workflow.asked_for_at,
            pause=pauses.get(run.pk),
            sessions=sessions[run.pk],
            decision_ids=decisions[run.pk],
            effect_ids=effects[run.pk],
            error_detail=_detail(run) if code == WaitCode.HELD_BACK else None,
        )
        for code, group in by_code.items()
        for run in group
    }


def _pauses(runs: Sequence[Run]) -> dict[int, Pause]:
    """By run key: its newest pause, looked for from its newest event back: the length of a history costs nothing."""
    if not runs:
        return {}
    of_run = Event.objects.filter(run=OuterRef("pk"), kind=AggregateKind.RUN, type="run.paused").order_by("-pk")
    newest = Run.objects.filter(pk__in=[run.pk for run in runs]).values_list(Subquery(of_run.values("pk")[:1]))
    events = Event.objects.defer("changes").filter(pk__in=[key for (key,) in newest if key is not None])
    return {event.run_id: Pause(event.actor_type, event.actor_id, event.at, _why(event)) for event in events}


def _why(event: Event) -> str | None:
    payload: Any = canonical.loads(event.payload.encode())
    reason = payload.get("reason")
    return reason if isinstance(reason, str) else None


def _named(rows: QuerySet[Any], field: str, runs: Sequence[Run]) -> dict[int, list[str]]:
    names: dict[int, list[str]] = defaultdict(list)
    if runs:
        for key, name in rows.filter(run__in=runs).order_by("pk").values_list("run_id", field):
            if name not in names[key]:
                names[key].append(name)
    return names


def _detail(run: Run) -> str | None:
    return None if run.queue_error is None else bytes(run.queue_error.content).decode()
