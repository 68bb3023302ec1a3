"""The console's addresses, as the tests name them."""

from django.urls import reverse

from tests.builders import Made

RUN_LIST = "/console/runs/run/"
TOKEN_LIST = "/console/runs/accesstoken/"
TOKEN_FORM = "/console/runs/accesstoken/add/"


def run_page(made: Made) -> str:
    return reverse("admin:runs_run_change", args=[made.run.pk])


def cancel_page(made: Made) -> str:
    return reverse("admin:runs_run_cancel", args=[made.run.pk])


def document(made: Made, name: str) -> str:
    return reverse("admin:runs_run_document", args=[made.run.pk, name])
