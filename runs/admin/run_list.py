"""The list of runs: one project, newest first, paged by position, a fixed number of statements, nothing counted."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest

from runs import clock
from runs.admin import paging, search, tenancy
from runs.admin.filters import StatusFilter
from runs.admin.text import visible
from runs.admin.theme import ChangeList
from runs.models import Run
from runs.states import DisplayStatus

_SEEN_AT: Final = "_console_seen_at"


def seen_at(run: Run) -> datetime:
    """When the list that this run was read for was made."""
    at: datetime = vars(run)[_SEEN_AT]
    return at


class Link(NamedTuple):
    """One of several views of the list."""

    text: str
    address: str
    chosen: bool


class RunList(ChangeList):
    """What the list page shows; the clock is read once, so that all ages of a page agree."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.project = tenancy.chosen_project(request)
        self.projects = tenancy.offered_projects(request)
        self.now = clock.now()
        self.position = paging.Position.of(request.GET)
        # A position belongs to the list as it is filtered now; no form or link on the page may carry it on.
        parameters = request.GET.copy()
        for name in (paging.OLDER_THAN, paging.NEWER_THAN):
            parameters.pop(name, None)
        request.GET = parameters  # type: ignore[assignment]  # a copy may be put there as well
        super().__init__(request, *args, **kwargs)
        self.title = "Runs"

    def get_filters_params(self, params: Any = None) -> Any:
        """The address's parameters that are filters; the project is none, it stays when filters are cleared."""
        found = super().get_filters_params(params)
        found.pop(tenancy.PROJECT, None)
        return found

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        self.search_is_cut = False
        if self.project is None:
            self.root_queryset = self.root_queryset.none()
            return super().get_queryset(request, exclude_parameters)
        self.root_queryset = Run.objects.of(self.project)
        runs = super().get_queryset(request, exclude_parameters)
        if not self.query.strip():
            return runs
        found = search.by_beginning(self.project, self.query)
        self.search_is_cut = found.has_more
        return runs.filter(pk__in=found.keys)

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[Any]:
        # Newest first is the only order that pages by position know.
        return ["-created_at", "-pk"]

    def get_results(self, request: HttpRequest) -> None:
        self.page = paging.page(self.queryset, self.position, self.list_per_page)
        self.result_list = self.page.runs
        for run in self.page.runs:
            vars(run)[_SEEN_AT] = self.now
        # Of this page: nothing counts the table. Equal numbers keep the theme from offering to show the rest.
        self.result_count = self.full_result_count = len(self.page.runs)
        self.show_full_result_count = self.show_admin_actions = True
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)

    @property
    def is_narrowed(self) -> bool:
        """Whether the address leaves out any run of the project."""
        return bool(self.has_active_filters or self.query)

    @property
    def project_links(self) -> list[Link]:
        """The list of each project, where there are several."""
        if len(self.projects) < 2:
            return []
        return [
            Link(visible(project.path), "?" + urlencode({tenancy.PROJECT: project.path}), project == self.project)
            for project in self.projects
        ]

    @property
    def status_links(self) -> Iterator[Link]:
        """The list as it is, by status."""
        chosen = self.params.get(StatusFilter.parameter_name, "")
        for status in ("", *DisplayStatus):
            address = self.get_query_string({StatusFilter.parameter_name: status or None})
            yield Link(status.replace("_", " ") or "all", address, chosen == status)

    @property
    def first_page(self) -> str:
        return self.get_query_string()

    @property
    def newer_page(self) -> str:
        return self.get_query_string({paging.NEWER_THAN: self.page.newer})

    @property
    def older_page(self) -> str:
        return self.get_query_string({paging.OLDER_THAN: self.page.older})

    @property
    def last_page(self) -> str:
        return self.get_query_string({paging.NEWER_THAN: paging.OLDEST})
