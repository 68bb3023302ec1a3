"""The list of projects, which only the API and `up` make."""

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from runs.admin import tenancy, times
from runs.admin.text import escaped, visible
from runs.admin.theme import ReadOnlyAdmin
from runs.models import Project


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ("runs_of", "created")
    list_display_links = None
    fields = readonly_fields = list_display

    @admin.display(description="project")
    def runs_of(self, project: Project) -> SafeString:
        address = reverse("admin:runs_run_changelist") + "?" + urlencode({tenancy.PROJECT: project.path})
        return format_html(
            '<a class="wq-id wq-link" href="{}" title="{}">{}</a>',
            address,
            escaped(project.path),
            visible(project.path),
        )

    @admin.display(description="created")
    def created(self, project: Project) -> str:
        return times.exact(project.created_at)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return False
