"""The runs' pages: the list, the run page with its documents, and cancelling. The admin's other pages are closed."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from runs import access, clock, transitions
from runs.admin import cancelling, documents, labels, run_page
from runs.admin.filters import RUN_FILTERS
from runs.admin.run_columns import RUN_COLUMNS, RUN_PAGE, RunColumns
from runs.admin.run_list import RunList
from runs.admin.text import counted, visible
from runs.admin.theme import ReadOnlyAdmin, ticked, whole
from runs.models import Blob, NodeAttempt, Run

BEFORE: Final = "before"


@admin.register(Run)
class RunAdmin(RunColumns, ReadOnlyAdmin):
    list_display = RUN_COLUMNS
    list_display_links = None
    list_filter = RUN_FILTERS
    list_filter_submit = True
    list_select_related = ("lease", "workflow")
    # Only shows the box.
    search_fields = ("run_id",)
    search_help_text = "Beginning of a run id"
    change_list_template = "console/run_list.html"
    list_before_template = "console/run_list_views.html"
    actions = ("cancel_runs",)

    def get_urls(self) -> list[URLPattern]:
        def named(route: str, name: str, view: Callable[..., HttpResponse]) -> URLPattern:
            return path(f"<int:key>/{route}", self.admin_site.admin_view(view), name=f"runs_run_{name}")

        return [
            named("cancel/", "cancel", self.cancel_view),
            named("documents/<slug:name>/", "document", self.document_view),
            named("attempts/<int:attempt>/<slug:name>/", "attempt_document", self.attempt_document_view),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> Any:
        return Run.objects.filter(project__in=access.visible_projects(request.user))

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[RunList]:
        return RunList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        # Never a column with an operator such as __regex: an address names filters, and nothing else.
        return lookup in {each.parameter_name for each in RUN_FILTERS}

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        # The list searches by itself, in the one project that it shows.
        return queryset, False

    def has_control_permission(self, request: HttpRequest) -> bool:
        """Whether this account may cancel runs."""
        user: Any = request.user
        return bool(user.has_perm(access.CONTROL))

    # --- The run page ---------------------------------------------------------------------------------------------

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of one run; takes no form."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        run = self._run(request, object_id)
        return self._page(
            request,
            "console/run_page.html",
            original=run,
            may_control=self.has_control_permission(request),
            **run_page.context_of(run, whole(request.GET.get(BEFORE, ""))),
        )

    def document_view(self, request: HttpRequest, key: int, name: str) -> HttpResponse:
        """One of the run's documents as a file."""
        run = self._run(request, key)
        blob = run_page.blob_of(run, name) if name in run_page.DOCUMENTS else None
        return self._download(blob, name)

    def attempt_document_view(self, request: HttpRequest, key: int, attempt: int, name: str) -> HttpResponse:
        """An attempt's input, output or error as a file."""
        found = NodeAttempt.objects.filter(run=self._run(request, key), pk=attempt).first()
        named = found is not None and name in ("input", "output", "error")
        return self._download(getattr(found, f"{name}_id") if named else None, f"attempt-{attempt}-{name}")

    def _download(self, key: int | None, name: str) -> HttpResponse:
        blob = None if key is None else Blob.objects.filter(pk=key).first()
        if blob is None:
            raise Http404("There is no such document.")
        return documents.download(blob, name)

    def _run(self, request: HttpRequest, key: str | int) -> Run:
        """The run of this key. A 404 where this account sees none."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        number = whole(str(key))
        runs = self.get_queryset(request).select_related(*run_page.IDENTITY)
        run: Run | None = None if number is None else runs.filter(pk=number).first()
        if run is None:
            raise Http404("There is no such run.")
        return run

    # --- Cancelling -----------------------------------------------------------------------------------------------

    def cancel_view(self, request: HttpRequest, key: int) -> HttpResponse:
        """Asks before it cancels one run: only the form's POST does it."""
        run = self._run(request, key)
        if not self.has_control_permission(request):
            raise PermissionDenied
        address = reverse(RUN_PAGE, args=[run.pk])
        return self._cancel(request, [run], address, request.method == "POST")

    @admin.action(permissions=["control"], description="Cancel")
    def cancel_runs(self, request: HttpRequest, queryset: Any) -> HttpResponse:
        """Asks before it cancels the ticked runs, whatever became of them since the list was made."""
        chosen = self.get_queryset(request).filter(pk__in=ticked(request)[: transitions.BATCH_LIMIT])
        runs = list(chosen.select_related("project", "workflow", "lease").order_by("-created_at", "-pk"))
        return self._cancel(request, runs, request.get_full_path(), "confirmed" in request.POST)

    def _cancel(self, request: HttpRequest, runs: Sequence[Run], address: str, confirmed: bool) -> HttpResponse:
        form = cancelling.ReasonForm(request.POST if confirmed else None)
        if confirmed and form.is_valid():
            report = cancelling.cancel(runs, request.user.get_username(), form.cleaned_data["reason"])
            self.message_user(request, report.sentence, report.level)
            return HttpResponseRedirect(address)
        now = clock.now()
        refused = {run.pk: cancelling.refusal(run, now) for run in runs}
        return self._page(
            request,
            "console/confirm.html",
            heading=f"Cancel {counted(len(runs), 'run')}?",
            explanation="At once, also under a live runner: its lease is lost, and nothing of the run stays open.",
            rows=[
                (
                    run.pk,
                    visible(run.run_id),
                    visible(run.workflow.name),
                    labels.label(run.display_status),
                    refusal.detail if (refusal := refused[run.pk]) else "",
                )
                for run in runs
            ],
            form=form,
            button="Cancel runs" if len(runs) > 1 else "Cancel run",
            allowed=any(refusal is None for refusal in refused.values()),
            action="cancel_runs",
            back=address,
            checkbox_name=ACTION_CHECKBOX_NAME,
        )

    def _page(self, request: HttpRequest, template: str, **context: Any) -> TemplateResponse:
        request.current_app = self.admin_site.name
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), "opts": self.opts, **context}
        )
