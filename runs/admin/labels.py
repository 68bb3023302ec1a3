"""Statuses as coloured labels. The colours' names are the theme's."""

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from runs.states import AttemptStatus, DisplayStatus

_COLOURS: dict[str, str] = {
    DisplayStatus.QUEUED: "",
    DisplayStatus.RUNNING: "info",
    DisplayStatus.WAITING: "warning",
    DisplayStatus.PAUSED: "warning",
    DisplayStatus.COMPLETED: "success",
    DisplayStatus.FAILED: "danger",
    DisplayStatus.TIMED_OUT: "danger",
    DisplayStatus.CANCELLED: "",
    DisplayStatus.AMBIGUOUS: "primary",
    AttemptStatus.INTERRUPTED: "warning",
    # Of leases and access tokens.
    "live": "success",
    "active": "success",
    "expired": "warning",
}


def label(status: str) -> SafeString:
    """A status of a run or an attempt."""
    return render_to_string(
        "unfold/helpers/label.html", {"text": status.replace("_", " "), "type": _COLOURS.get(status, "")}
    )
