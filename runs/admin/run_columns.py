"""The columns of the run list."""

from django.contrib.admin import display
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs import rules
from runs.admin import labels, times
from runs.admin.run_list import seen_at
from runs.admin.text import NOTHING, escaped, identifier, visible
from runs.models import Lease, Run

RUN_PAGE = "admin:runs_run_change"


class RunColumns:
    """Each takes a run of a list with its lease and workflow, and asks the database for nothing."""

    @display(description="status")
    def status_label(self, run: Run) -> SafeString:
        return labels.label(run.display_status)

    @display(description="run")
    def run_link(self, run: Run) -> SafeString:
        return format_html(
            '<a class="wq-id wq-link" href="{}" title="{}">{}</a>',
            reverse(RUN_PAGE, args=[run.pk]),
            escaped(run.run_id),
            visible(run.run_id),
        )

    @display(description="workflow")
    def workflow_name(self, run: Run) -> SafeString:
        return identifier(run.workflow.name)

    @display(description="queue")
    def queue(self, run: Run) -> str:
        return run.queue_status

    @display(description="owner")
    def owner(self, run: Run) -> SafeString:
        return owner_of(run.lease, live=rules.is_live(run.lease, seen_at(run)))

    @display(description="duration")
    def duration(self, run: Run) -> str:
        if run.started_at is None:
            return NOTHING
        return times.length((run.finished_at or seen_at(run)) - run.started_at)

    @display(description="error code")
    def code(self, run: Run) -> SafeString:
        return identifier(run.error_code)

    @display(description="created")
    def created(self, run: Run) -> SafeString:
        return times.relative(run.created_at, seen_at(run))


RUN_COLUMNS = ("status_label", "run_link", "workflow_name", "queue", "owner", "duration", "code", "created")


def owner_of(lease: Lease, *, live: bool) -> SafeString:
    """Who holds the run and under which generation; an expired holder is marked."""
    if lease.owner_id is None:
        return identifier(None)
    mark = "" if live else format_html(' <span class="wq-mark">{}</span>', "expired")
    return format_html(
        '{} <span class="wq-quiet" title="Lease generation {}">g{}</span>{}',
        identifier(lease.owner_id),
        lease.generation,
        lease.generation,
        mark,
    )
