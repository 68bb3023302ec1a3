"""The run list's filters. Each is served by an index or by a column of the rows that the others leave."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from runs import clock
from runs.admin.tenancy import chosen_project
from runs.admin.text import escaped
from runs.admin.theme import DropdownFilter, TextFilter
from runs.models import Run, Workflow
from runs.models.run import displayed_as
from runs.states import DisplayStatus, ExecutionMode, QueueStatus

MAX_WORKFLOWS: Final = 200
_SPANS: Final = {
    "hour": ("Past hour", timedelta(hours=1)),
    "day": ("Past 24 hours", timedelta(days=1)),
    "week": ("Past 7 days", timedelta(days=7)),
    "month": ("Past 30 days", timedelta(days=30)),
}
Choices = Sequence[tuple[str, str]]


class _Filter(DropdownFilter):
    """A choice of known values; any other value finds nothing."""

    def condition(self, value: str) -> Q | None:
        """What the value means; None where it means nothing."""
        raise NotImplementedError

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        condition = self.condition(value)
        return queryset.none() if condition is None else queryset.filter(condition)


class StatusFilter(_Filter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(status.value, status.value.replace("_", " ")) for status in DisplayStatus]

    def condition(self, value: str) -> Q | None:
        return displayed_as(DisplayStatus(value)) if value in list(DisplayStatus) else None


class QueueStatusFilter(_Filter):
    title = "queue status"
    parameter_name = "queue_status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(status.value, status.value) for status in QueueStatus]

    def condition(self, value: str) -> Q | None:
        return Q(queue_status=value) if value in list(QueueStatus) else None


class ModeFilter(_Filter):
    title = "execution mode"
    parameter_name = "execution_mode"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(mode.value, mode.value) for mode in ExecutionMode]

    def condition(self, value: str) -> Q | None:
        return Q(execution_mode=value) if value in list(ExecutionMode) else None


class CreatedFilter(_Filter):
    title = "creation"
    parameter_name = "created"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        return [(name, title) for name, (title, _) in _SPANS.items()]

    def condition(self, value: str) -> Q | None:
        return Q(created_at__gte=clock.now() - _SPANS[value][1]) if value in _SPANS else None


class WorkflowFilter(_Filter):
    """By name; names beyond the bound are still good in an address."""

    title = "workflow"
    parameter_name = "workflow"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Run], model_admin: Any) -> None:
        self.project = chosen_project(request)
        super().__init__(request, params, model, model_admin)

    def has_output(self) -> bool:
        return True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Choices:
        workflows = Workflow.objects.filter(project=self.project).order_by("name")
        names = list(workflows.values_list("name", flat=True)[:MAX_WORKFLOWS])
        chosen = request.GET.get(self.parameter_name)
        if chosen and chosen not in names:
            names.insert(0, chosen)
        return [(name, escaped(name)) for name in names]

    def condition(self, value: str) -> Q | None:
        if "\0" in value:
            return None
        # A key, not a join or a subquery: only so does a planner know how many runs there are, and which index fits.
        key = Workflow.objects.filter(project=self.project, name=value).values_list("pk", flat=True).first()
        return None if key is None else Q(workflow=key)


class ErrorCodeFilter(TextFilter):
    """The whole code, as it stands."""

    title = "error code"
    parameter_name = "error_code"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        value = self.value()
        if not value:
            return queryset
        return queryset.none() if "\0" in value else queryset.filter(error_code=value)


RUN_FILTERS: Final = (StatusFilter, QueueStatusFilter, WorkflowFilter, ErrorCodeFilter, ModeFilter, CreatedFilter)
