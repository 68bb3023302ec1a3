"""What can be seen of all runs in the database. Read after every step of a walk: statements are compiled only once."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import QuerySet

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
from tests.model.picture import Picture

Row = tuple[Any, ...]
# By run key and the id of what hangs on the run.
_Rows = dict[tuple[int, str], list[Row]]
_ByRun = dict[int, dict[str, Any]]


def of_database(project: Project) -> Picture:
    """All runs of this project."""
    runs = Run.objects.filter(project=project).select_related("lease", "parent")
    kinds = {kind: read(project.pk) for kind, read in _KINDS.items()}
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


def _attempts(project: int) -> _ByRun:
    spent = _read(_intervals, project)
    return _told(
        _read(_attempt_rows, project), lambda place, row: (*row, sum(elapsed for (elapsed,) in spent.get(place, ())))
    )


def _effects(project: int) -> _ByRun:
    tries = _read(_tries, project)
    return _told(
        _read(_effect_rows, project),
        lambda place, row: (*row[:2], _ms(row[2]), [outcome for (outcome,) in tries.get(place, ())]),
    )


def _requests(project: int) -> _ByRun:
    submissions = _read(_submissions, project)
    return _told(_read(_request_rows, project), lambda place, row: (*row, dict(submissions.get(place, ()))))


def _decisions(project: int) -> _ByRun:
    answers = _read(_answers, project)
    return _told(
        _read(_decision_rows, project), lambda place, row: (_ms(row[0]), *row[1:], sorted(answers.get(place, ())))
    )


def _messages(project: int) -> _ByRun:
    return _told(_read(_message_rows, project), lambda _, row: row)


def _turns(project: int) -> _ByRun:
    return _told(_read(_turn_rows, project), lambda _, row: row)


_KINDS = {
    "attempts": _attempts,
    "effects": _effects,
    "requests": _requests,
    "decisions": _decisions,
    "messages": _messages,
    "turns": _turns,
}


def _attempt_rows() -> QuerySet[Any, Row]:
    rows = NodeAttempt.objects.filter(run__project=0)
    return rows.values_list("run_id", "attempt_id", "node_id", "attempt_number", "status", "generation")


def _intervals() -> QuerySet[Any, Row]:
    rows = ActiveInterval.objects.filter(attempt__run__project=0)
    return rows.values_list("attempt__run_id", "attempt__attempt_id", "elapsed_ms")


def _effect_rows() -> QuerySet[Any, Row]:
    rows = Effect.objects.filter(run__project=0)
    return rows.values_list("run_id", "idempotency_key", "status", "revision", "next_attempt_at")


def _tries() -> QuerySet[Any, Row]:
    rows = EffectAttempt.objects.filter(effect__run__project=0).order_by("number")
    return rows.values_list("effect__run_id", "effect__idempotency_key", "outcome")


def _request_rows() -> QuerySet[Any, Row]:
    return InteractiveRequest.objects.filter(run__project=0).values_list("run_id", "request_id", "status", "revision")


def _submissions() -> QuerySet[Any, Row]:
    rows = InteractiveSubmission.objects.filter(request__run__project=0)
    return rows.values_list("request__run_id", "request__request_id", "submission_id", "outcome")


def _decision_rows() -> QuerySet[Any, Row]:
    rows = HumanDecision.objects.filter(run__project=0).values_list("run_id", "decision_id", "deadline_at")
    resolution = ("resolution__outcome", "resolution__provenance")
    return rows.values_list("run_id", "decision_id", "deadline_at", "request_revision", "revision", *resolution)


def _answers() -> QuerySet[Any, Row]:
    rows = DecisionSubmission.objects.filter(decision__run__project=0)
    return rows.values_list("decision__run_id", "decision__decision_id", "username", "choice", "outcome")


def _message_rows() -> QuerySet[Any, Row]:
    return WorkflowMessage.objects.filter(run__project=0).values_list("run_id", "message_id", "kind", "status")


def _turn_rows() -> QuerySet[Any, Row]:
    rows = WorkflowTurn.objects.filter(run__project=0)
    return rows.values_list("run_id", "turn_id", "message__message_id", "stop_reason")


@cache
def _statement(rows: Callable[[], QuerySet[Any, Row]]) -> str:
    """Of which the project is the only parameter."""
    sql, _ = rows().query.sql_with_params()
    return str(sql)


def _read(rows: Callable[[], QuerySet[Any, Row]], project: int) -> _Rows:
    found: _Rows = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_statement(rows), [project])
        for run, name, *row in cursor.fetchall():
            found[run, name].append(tuple(row))
    return found


def _told(rows: _Rows, tell: Callable[[tuple[int, str], Row], Any]) -> _ByRun:
    found: _ByRun = defaultdict(dict)
    for place, (row,) in rows.items():
        run, name = place
        found[run][name] = tell(place, row)
    return found


def _ms(at: datetime | None) -> int | None:
    """Since the walk began. SQLite's own times have no zone."""
    return None if at is None else clock.to_ms(at if at.tzinfo else at.replace(tzinfo=UTC)) - clock.to_ms(START)
