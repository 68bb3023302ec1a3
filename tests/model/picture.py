"""What can be seen of all runs, of the model and of the database alike, so that one can be held against the other."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Sum

from runs import clock
from runs.models import (
    ActiveInterval,
    DecisionSubmission,
    Effect,
    EffectAttempt,
    HumanDecision,
    InteractiveRequest,
    InteractiveSubmission,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from tests.builders import START
from tests.model import model

# By run id: what is seen of the run, and by kind and id of what hangs on it.
Picture = dict[str, dict[str, Any]]


def of_model(queue: model.Queue) -> Picture:
    return {run_id: {**_of_run(run), **_of_dependents(run)} for run_id, run in queue.runs.items()}


def _of_run(run: model.Run) -> dict[str, Any]:
    lease = run.lease
    return {
        "axes": (run.status, run.queue_status),
        "display": run.display_status,
        "paused": run.paused,
        "revision": run.revision,
        "error_code": run.error_code,
        "crashes": run.crashes,
        "available_at": run.available_at,
        "ready_at": run.ready_at,
        "lease": (lease.generation, lease.owner_id, lease.expires_at),
        "wish": lease.intent and (lease.intent.wish, lease.intent.due_at),
        "lineage": (run.order.parent_id, run.restart_number),
    }


def _of_dependents(run: model.Run) -> dict[str, Any]:
    return {
        "attempts": {
            key: (each.node_id, each.number, each.status, each.generation, sum(each.clocks))
            for key, each in run.attempts.items()
        },
        "effects": {
            key: (each.status, each.revision, each.next_at, [one.outcome for one in each.tries])
            for key, each in run.effects.items()
        },
        "requests": {
            key: (each.status, each.revision, {id: one.outcome for id, one in each.submissions.items()})
            for key, each in run.requests.items()
        },
        "decisions": {
            key: (
                *(each.version, each.revision, each.deadline_at, each.outcome, each.provenance),
                sorted((one.person, one.choice, one.outcome) for one in each.answers),
            )
            for key, each in run.decisions.items()
        },
        "messages": {key: (each.kind, each.status) for key, each in run.messages.items()},
        "turns": {key: (each.message_id, each.reason) for key, each in run.turns.items()},
    }


def of_database(project: Project) -> Picture:
    runs = list(Run.objects.filter(project=project).select_related("lease", "parent"))
    kinds = {
        "attempts": _attempts(runs),
        "effects": _effects(runs),
        "requests": _requests(runs),
        "decisions": _decisions(runs),
        "messages": _rows(WorkflowMessage.objects.filter(run__in=runs), "message_id", "kind", "status"),
        "turns": _rows(WorkflowTurn.objects.filter(run__in=runs), "turn_id", "message__message_id", "stop_reason"),
    }
    return {run.run_id: {**_run(run), **{kind: rows[run.pk] for kind, rows in kinds.items()}} for run in runs}


def _run(run: Run) -> dict[str, Any]:
    lease = run.lease
    return {
        "axes": (run.status, run.queue_status),
        "display": run.display_status,
        "paused": run.paused,
        "revision": run.revision,
        "error_code": run.error_code,
        "crashes": run.consecutive_errors,
        "available_at": _ms(run.available_at),
        "ready_at": _ms(lease.ready_at),
        "lease": (lease.generation, lease.owner_id, _ms(lease.expires_at)),
        "wish": lease.wish and (lease.wish, _ms(lease.wish_due_at)),
        "lineage": (run.parent.run_id if run.parent else None, run.restart_number),
    }


_ByRun = dict[int, dict[str, Any]]


def _rows(rows: Any, key: str, *columns: str) -> _ByRun:
    found: _ByRun = defaultdict(dict)
    for run, name, *values in rows.values_list("run_id", key, *columns):
        found[run][name] = tuple(values)
    return found


def _attempts(runs: Iterable[Run]) -> _ByRun:
    # Without an attempt of its own an interval has no name here: these are few, and never paged.
    spent = dict(
        ActiveInterval.objects.filter(attempt__run__in=runs).values_list("attempt").annotate(ms=Sum("elapsed_ms"))
    )
    rows = NodeAttempt.objects.filter(run__in=runs)
    found = _rows(rows, "attempt_id", "node_id", "attempt_number", "status", "generation", "pk")
    return _mended(found, lambda node, number, status, generation, pk: (node, number, status, generation, spent[pk]))


def _effects(runs: Iterable[Run]) -> _ByRun:
    tries = defaultdict(list)
    for pk, outcome in (
        EffectAttempt.objects.filter(effect__run__in=runs).order_by("number").values_list("effect", "outcome")
    ):
        tries[pk].append(outcome)
    rows = Effect.objects.filter(run__in=runs)
    found = _rows(rows, "idempotency_key", "status", "revision", "next_attempt_at", "pk")
    return _mended(found, lambda status, revision, at, pk: (status, revision, _ms(at), tries[pk]))


def _requests(runs: Iterable[Run]) -> _ByRun:
    outcomes: dict[int, dict[str, str]] = defaultdict(dict)
    rows = InteractiveSubmission.objects.filter(request__run__in=runs)
    for pk, name, outcome in rows.values_list("request_id", "submission_id", "outcome"):
        outcomes[pk][name] = outcome
    found = _rows(InteractiveRequest.objects.filter(run__in=runs), "request_id", "status", "revision", "pk")
    return _mended(found, lambda status, revision, pk: (status, revision, outcomes[pk]))


def _decisions(runs: Iterable[Run]) -> _ByRun:
    answers = defaultdict(list)
    rows = DecisionSubmission.objects.filter(decision__run__in=runs)
    for pk, *answer in rows.values_list("decision", "username", "choice", "outcome"):
        answers[pk].append(tuple(answer))
    resolution = ("resolution__outcome", "resolution__provenance")
    found = _rows(
        *(HumanDecision.objects.filter(run__in=runs), "decision_id"),
        *("request_revision", "revision", "deadline_at", *resolution, "pk"),
    )
    return _mended(
        found, lambda version, revision, at, *told: (version, revision, _ms(at), *told[:2], sorted(answers[told[2]]))
    )


def _mended(found: _ByRun, mend: Any) -> _ByRun:
    mended = {run: {key: mend(*row) for key, row in rows.items()} for run, rows in found.items()}
    return defaultdict(dict, mended)


def _ms(at: datetime | None) -> int | None:
    return None if at is None else clock.to_ms(at) - clock.to_ms(START)
