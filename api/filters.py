"""The filters of the run list: an allow-list, with values taken literally and never as patterns."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

import django_filters  # type: ignore[import-untyped]
from django import forms
from django.db import connection
from django.db.models import QuerySet
from django.utils.dateparse import parse_datetime

from api import errors
from runs.models import Project, Run, Workflow
from runs.models.run import RunQuerySet
from runs.states import DisplayStatus, ExecutionMode, QueueStatus, RunStatus

# A plus sign that was not escaped arrives as a blank.
_BLANK_FOR_PLUS: Final = re.compile(r"(.*T.*) (\d\d:?\d\d)")
_AFTER_ALL: Final = chr(0x10FFFF)


class _Listed(forms.Field):
    """One or several of a few texts, parted by commas."""

    def __init__(self, names: Collection[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.names = list(names)

    def to_python(self, value: Any) -> list[str]:
        wanted = str(value).split(",") if value else []
        if any(name not in self.names for name in wanted):
            raise forms.ValidationError(f"This must be one of, or several parted by commas: {', '.join(self.names)}.")
        return wanted


class _Moment(forms.Field):
    def to_python(self, value: Any) -> datetime | None:
        if not value:
            return None
        text = _BLANK_FOR_PLUS.sub(r"\1+\2", str(value))
        try:
            at = parse_datetime(text)
            if at is None or at.tzinfo is None:
                raise ValueError
            return at.astimezone(UTC)
        except (ValueError, OverflowError):
            raise forms.ValidationError(
                "This must be a time with its offset, such as 2026-12-01T03:00:00Z or 2026-12-01T08:30:00+05:30."
            ) from None


class _OneOf(django_filters.Filter):  # type: ignore[misc]
    field_class = _Listed

    def __init__(self, names: Collection[str], **kwargs: Any) -> None:
        super().__init__(lookup_expr="in", names=names, **kwargs)


class _Time(django_filters.Filter):  # type: ignore[misc]
    field_class = _Moment


class _Exact(django_filters.CharFilter):  # type: ignore[misc]
    def __init__(self, **kwargs: Any) -> None:
        # Blanks are part of the text.
        super().__init__(strip=False, **kwargs)


class RunFilters(django_filters.FilterSet):  # type: ignore[misc]
    status = _OneOf([*RunStatus], label="One or several, parted by commas.")
    display_status = _OneOf([*DisplayStatus], method="displayed", label="Both axes in one word; one or several.")
    queue_status = _OneOf([*QueueStatus], label="One or several, parted by commas.")
    workflow_name = _Exact(method="of_workflow")
    origin_session_id = _Exact()
    execution_mode = _OneOf([*ExecutionMode])
    error_code = _Exact()
    owner_id = _Exact(method="owned_by", label="Who holds the run, or held it when its lease ran out.")
    created_after = _Time(field_name="created_at", lookup_expr="gt")
    created_before = _Time(field_name="created_at", lookup_expr="lt")
    run_id_prefix = _Exact(method="with_prefix", label="How the run id begins; upper and lower case differ.")

    class Meta:
        model = Run
        fields = ()

    def __init__(self, data: dict[str, str], queryset: QuerySet[Run], *, project: Project) -> None:
        super().__init__(data, queryset)
        self.project = project

    def displayed(self, runs: RunQuerySet, field: str, statuses: list[str]) -> RunQuerySet:
        return runs.displayed_as(map(DisplayStatus, statuses)) if statuses else runs

    def of_workflow(self, runs: QuerySet[Run], field: str, name: str) -> QuerySet[Run]:
        # By its key, which the index of runs by workflow begins with.
        keys = Workflow.objects.filter(project=self.project, name=name).values("pk")
        return runs.filter(workflow_id=keys[:1])

    def owned_by(self, runs: QuerySet[Run], field: str, owner_id: str) -> QuerySet[Run]:
        # The lease's own project, which the index of owned leases begins with.
        return runs.filter(lease__project=self.project, lease__owner_id=owner_id)

    def with_prefix(self, runs: QuerySet[Run], field: str, prefix: str) -> QuerySet[Run]:
        if connection.vendor == "postgresql":
            # Django escapes what LIKE would take for a pattern, and the index has pattern operators.
            return runs.filter(run_id__startswith=prefix)
        # SQLite's LIKE ignores case and its index; its order of text is that of the bytes.
        return runs.filter(run_id__gte=prefix, run_id__lt=prefix + _AFTER_ALL)


NAMES: Final = frozenset(RunFilters.base_filters)


def filtered(runs: QuerySet[Run], project: Project, parameters: dict[str, str]) -> QuerySet[Run]:
    """The runs that all filters among the parameters let through."""
    wanted = {name: value for name, value in parameters.items() if name in NAMES}
    filters = RunFilters(wanted, runs, project=project)
    if not filters.is_valid():
        raise errors.InvalidRequest({name: [str(text) for text in texts] for name, texts in filters.errors.items()})
    found: QuerySet[Run] = filters.qs
    return found
