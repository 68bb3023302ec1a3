"""What the page of one run shows. A constant number of statements, each with a bound on its rows and bytes."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs import canonical, clock, rules
from runs.admin import labels, times
from runs.admin.cancelling import refusal
from runs.admin.documents import Document, excerpts
from runs.admin.run_columns import RUN_PAGE
from runs.admin.run_history import attempts, events
from runs.admin.text import identifier, visible
from runs.models import Run
from runs.states import Priority
from runs.waiting import waiting_reasons

# What `facts` reads of other rows.
IDENTITY: Final = ("project", "workflow", "definition", "lease", "parent", "root")
DOCUMENTS: Final = ("input", "launch_options", "output", "error", "queue_error", "sources", "snapshot")
MAX_SOURCES: Final = 100
Facts = list[tuple[str, SafeString]]


@dataclass(frozen=True, slots=True)
class Stored:
    """One of the run's documents: its heading, its beginning, and where the whole one is."""

    title: str
    document: Document
    address: str


def context_of(run: Run, before: int | None) -> dict[str, Any]:
    """All that the template needs; events before that sequence number, where there is one."""
    now = clock.now()
    refused = refusal(run, now)
    waits = waiting_reasons([run], now).get(run.pk)
    read = excerpts([blob_of(run, name) for name in DOCUMENTS])

    def stored(name: str, title: str) -> Stored | None:
        key = blob_of(run, name)
        if key is None:
            return None
        return Stored(title, read[key], reverse("admin:runs_run_document", args=[run.pk, name]))

    errors = [stored("error", "Error")]
    if run.queue_error_id != run.error_id:
        errors.append(stored("queue_error", "Error of the queue"))
    documents = [stored("input", "Input"), stored("launch_options", "Launch options"), stored("output", "Output")]
    return {
        "run": run,
        "run_id": visible(run.run_id),
        "workflow": visible(run.workflow.name),
        "waits": waits and visible(waits.sentence),
        "label": labels.label(run.display_status),
        "cancel_refused": refused.detail if refused else None,
        "error_code": run.error_code and visible(run.error_code),
        "errors": [error for error in errors if error],
        "sections": [
            ("Identity", _identity(run)),
            ("Lineage", _lineage(run)),
            ("Execution", _execution(run, now)),
            ("Queue", _queue(run, now)),
            ("Lease", _lease(run, now)),
            ("Definition", _definition(run)),
        ],
        "documents": [document for document in documents if document],
        "snapshot": stored("snapshot", "Definition snapshot"),
        "sources": _sources(run),
        "attempts": attempts(run, now),
        "events": events(run, now, before),
    }


def blob_of(run: Run, name: str) -> int | None:
    """The key of one of the run's DOCUMENTS, if it has it."""
    if name == "snapshot":
        return run.definition.snapshot_id
    key: int | None = getattr(run, f"{name}_id")
    return key


def _identity(run: Run) -> Facts:
    return [
        ("Run", identifier(run.run_id)),
        ("Project", identifier(run.project.path)),
        ("Workflow", identifier(run.workflow.name)),
        ("Workflow reference", identifier(run.workflow_ref)),
        ("Origin session", identifier(run.origin_session_id)),
        ("Execution mode", _plain(run.execution_mode)),
        ("Priority", _plain(Priority(run.priority).name.lower())),
        ("Revision", _plain(run.revision)),
    ]


def _lineage(run: Run) -> Facts:
    restart = Run.objects.filter(parent=run).only("pk", "run_id").first()
    return [
        ("Parent", _link(run.parent)),
        ("Parent's revision", _plain(run.parent_run_revision)),
        ("Root", _link(run.root) if run.root else _plain("this run")),
        ("Restart number", _plain(run.restart_number)),
        ("Restarted as", _link(restart)),
    ]


def _execution(run: Run, now: datetime) -> Facts:
    return [
        ("Status", labels.label(run.status)),
        ("Detail", visible(run.status_detail) if run.status_detail else identifier(None)),
        ("Paused", _plain("yes" if run.paused else "no")),
        ("Created", times.stamp(run.created_at, now)),
        ("Started", times.stamp(run.started_at, now)),
        ("Updated", times.stamp(run.updated_at, now)),
        ("Finished", times.stamp(run.finished_at, now)),
    ]


def _queue(run: Run, now: datetime) -> Facts:
    return [
        ("Queue status", labels.label(run.queue_status)),
        ("Error code", identifier(run.error_code)),
        ("Consecutive errors", _plain(run.consecutive_errors)),
        ("Available", times.stamp(run.available_at, now)),
        ("Ready", times.stamp(run.lease.ready_at, now)),
        ("Updated", times.stamp(run.queue_updated_at, now)),
        ("Finished", times.stamp(run.queue_finished_at, now)),
    ]


def _lease(run: Run, now: datetime) -> Facts:
    lease = run.lease
    state = "free" if lease.owner_id is None else "live" if rules.is_live(lease, now) else "expired"
    return [
        ("State", labels.label(state)),
        ("Owner", identifier(lease.owner_id)),
        ("Owner type", _plain(lease.owner_type)),
        ("Generation", _plain(lease.generation)),
        ("Acquired", times.stamp(lease.acquired_at, now)),
        ("Last renewed", times.stamp(lease.heartbeat_at, now)),
        ("Expires", times.stamp(lease.expires_at, now)),
    ]


def _definition(run: Run) -> Facts:
    return [
        ("Digest", identifier("sha256:" + bytes(run.definition.digest).hex())),
        ("First seen", identifier(times.exact(run.definition.created_at))),
    ]


def _sources(run: Run) -> dict[str, Any]:
    """The root's source and the mounted ones, in the order in which the queue stores them."""
    rows: Any = canonical.loads(bytes(run.sources.content))
    return {
        "rows": [[identifier(part) for part in (row[0] or "root", *row[1:])] for row in rows[:MAX_SOURCES]],
        "more": max(0, len(rows) - MAX_SOURCES),
        "address": reverse("admin:runs_run_document", args=[run.pk, "sources"]),
    }


def _link(run: Run | None) -> SafeString:
    if run is None:
        return identifier(None)
    return format_html(
        '<a class="wq-id wq-link" href="{}">{}</a>', reverse(RUN_PAGE, args=[run.pk]), visible(run.run_id)
    )


def _plain(value: object) -> SafeString:
    return identifier(None) if value is None else format_html("{}", value)
