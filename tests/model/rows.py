"""What can be seen of all runs in the database. Read after every step of a walk: statements are compiled only once."""

from collections import defaultdict
from collections.abc import Callable, Collection
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
    Lease,
    NodeAttempt,
    Project,
    Run,
    WorkflowMessage,
    WorkflowTurn,
)
from tests.builders import START
from tests.model.picture import KINDS, Picture

Row = tuple[Any, ...]
# By run key and the id of what hangs on the run.
_Rows = dict[tuple[int, str], list[Row]]
_ByRun = dict[int, dict[str, Any]]
_NONE: _ByRun = {}


def of_database(project: Project, kinds: Collection[str]) -> Picture:
    """All runs of this project, with what hangs on them of these kinds; of the others nothing."""
    hanging = {kind: _KINDS[kind](project.pk) if kind in kinds else _NONE for kind in KINDS}
    return {
        run_id: {**_run(*row), **{kind: rows.get(key, {}) for kind, rows in hanging.items()}}
        for (key, run_id), (row,) in _read(_run_rows, project.pk).items()
    }


def _run(*row: Any) -> dict[str, Any]:
    seen = dict(zip(_RUN_COLUMNS, row, strict=True))
    run = Run(**{name: seen[name] for name in ("status", "paused", "error_code")})
    run.lease = Lease(effects_in_doubt=seen["lease__effects_in_doubt"])
    return {
        "axes": (run.status, seen["queue_status"]),
        "display": run.display_status,
        "paused": run.paused,
        "revision": seen["revision"],
        "error_code": run.error_code,
        "crashes": seen["consecutive_errors"],
        "available_at": _ms(seen["available_at"]),
        "ready_at": _ms(seen["lease__ready_at"]),
        "lease": (seen["lease__generation"], seen["lease__owner_id"], _ms(seen["lease__expires_at"])),
        "wish": seen["lease__wish"] and (seen["lease__wish"], _ms(seen["lease__wish_due_at"])),
        "lineage": (seen["parent__run_id"], seen["restart_number"]),
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


_RUN_COLUMNS = (
    *("status", "queue_status", "paused", "revision", "error_code", "consecutive_errors", "available_at"),
    *("lease__ready_at", "lease__generation", "lease__owner_id", "lease__expires_at", "lease__effects_in_doubt"),
    *("lease__wish", "lease__wish_due_at", "parent__run_id", "restart_number"),
)


def _run_rows() -> QuerySet[Any, Row]:
    return Run.objects.filter(project=0).values_list("pk", "run_id", *_RUN_COLUMNS)


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
