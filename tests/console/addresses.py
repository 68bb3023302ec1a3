"""The console's addresses, as the tests name them, and lists long enough to have pages."""

from django.urls import reverse

from runs import transitions
from tests.builders import Made, RunBuilder

RUN_LIST = "/console/runs/run/"
TOKEN_LIST = "/console/runs/accesstoken/"
TOKEN_FORM = "/console/runs/accesstoken/add/"


def run_page(made: Made) -> str:
    return reverse("admin:runs_run_change", args=[made.run.pk])


def cancel_page(made: Made) -> str:
    return reverse("admin:runs_run_cancel", args=[made.run.pk])


def document(made: Made, name: str) -> str:
    return reverse("admin:runs_run_document", args=[made.run.pk, name])


def queue_many(runs: RunBuilder, number: int) -> None:
    """So many queued runs, made at one moment."""
    asked = [runs.reservation() for _ in range(number)]
    for start in range(0, number, transitions.BATCH_LIMIT):
        transitions.reserve_all(runs.project, asked[start : start + transitions.BATCH_LIMIT])
