"""Who gets in, what nobody may do by hand, and that looking changes nothing."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import AccessToken, Project
from tests.builders import Made, RunBuilder, snapshot_of_everything
from tests.console.addresses import RUN_LIST, TOKEN_FORM, TOKEN_LIST, cancel_page, document, run_page
from tests.console.conftest import Browser

JOURNALLED = (
    "lease",
    "event",
    "nodeattempt",
    "blob",
    "workflow",
    "workflowdefinition",
    "owner",
    "receipt",
)


def addresses(made: Made) -> list[str]:
    """Every page about runs, and the others."""
    return [
        "/console/",
        "/console/runs/",
        RUN_LIST,
        run_page(made),
        cancel_page(made),
        document(made, "input"),
        TOKEN_LIST,
        TOKEN_FORM,
        "/console/runs/project/",
        "/console/auth/user/",
        "/console/auth/user/add/",
    ]


def test_somebody_unknown_is_asked_who_they_are(runs: RunBuilder) -> None:
    made = runs.queued()

    for address in addresses(made):
        response = Client().get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/console/login/")


def test_an_account_that_is_not_staff_is_asked_too(browser: Browser, runs: RunBuilder) -> None:
    made = runs.queued()
    page = browser(User.objects.create_user("guest"))

    for address in addresses(made):
        assert page.get(address)["Location"].startswith("/console/login/")


def test_staff_without_rights_see_nothing(browser: Browser, newcomer: User, runs: RunBuilder) -> None:
    made = runs.queued()
    page = browser(newcomer)

    for address in addresses(made)[2:]:
        assert page.get(address).status_code == 403
    home = page.get("/console/").content.decode()
    assert RUN_LIST not in home
    assert TOKEN_LIST not in home


def test_a_viewer_of_runs_sees_runs_alone(browser: Browser, viewer: User, runs: RunBuilder) -> None:
    made = runs.queued()
    page = browser(viewer)

    assert page.get(run_page(made)).status_code == 200
    for address in (cancel_page(made), TOKEN_LIST, TOKEN_FORM, "/console/runs/project/", "/console/auth/user/"):
        assert page.get(address).status_code == 403


def test_accounts_are_for_superusers(browser: Browser, chief: User, operator: User) -> None:
    assert browser(chief).get("/console/auth/user/").status_code == 200
    assert browser(chief).get(f"/console/auth/user/{operator.pk}/change/").status_code == 200
    assert browser(operator).get(f"/console/auth/user/{chief.pk}/change/").status_code == 403


def test_rights_are_given_on_an_accounts_page(browser: Browser, chief: User, newcomer: User) -> None:
    page = browser(chief)
    address = f"/console/auth/user/{newcomer.pk}/change/"
    form = page.get(address).context["adminform"].form
    choices = {str(label): str(value) for value, label in form.fields["user_permissions"].choices}

    page.post(
        address,
        {
            "username": newcomer.username,
            "is_active": "on",
            "is_staff": "on",
            "user_permissions": [choices["See runs"], choices["Cancel runs"]],
        },
    )

    assert User.objects.get(pk=newcomer.pk).get_all_permissions() == {"runs.view_run", "runs.control_run"}


def test_nobody_deletes_an_account(browser: Browser, chief: User, operator: User) -> None:
    page = browser(chief)

    assert page.post(f"/console/auth/user/{operator.pk}/delete/", {"post": "yes"}).status_code == 403
    page.post("/console/auth/user/", {"action": "delete_selected", "_selected_action": [operator.pk], "post": "yes"})

    assert User.objects.filter(pk=operator.pk).exists()


@pytest.mark.parametrize("model", JOURNALLED)
def test_what_the_queue_writes_has_no_pages(browser: Browser, chief: User, model: str) -> None:
    assert browser(chief).get(f"/console/runs/{model}/").status_code == 404


@pytest.mark.parametrize("model", ["run", "project", "accesstoken"])
def test_not_even_a_superuser_edits_or_deletes(browser: Browser, chief: User, runs: RunBuilder, model: str) -> None:
    made = runs.completed()
    token = AccessToken.objects.create(
        project=made.project, name="t", scopes="runs:read", secret_hash=b"x" * 32, created_at=made.run.created_at
    )
    key = {"run": made.run.pk, "project": made.project.pk, "accesstoken": token.pk}[model]
    page, list_page = browser(chief), f"/console/runs/{model}/"
    before = snapshot_of_everything()

    answers = [
        page.post(f"{list_page}{key}/change/", {"name": "other", "path": "other", "run_id": "other"}),
        page.get(f"{list_page}{key}/delete/"),
        page.post(f"{list_page}{key}/delete/", {"post": "yes"}),
    ]
    page.post(list_page, {"action": "delete_selected", "_selected_action": [key], "post": "yes"})

    assert {answer.status_code for answer in answers} <= {403, 405}
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("model", ["run", "project"])
def test_not_even_a_superuser_adds(browser: Browser, chief: User, model: str) -> None:
    page = browser(chief)

    assert page.get(f"/console/runs/{model}/add/").status_code == 403
    assert page.post(f"/console/runs/{model}/add/", {"path": "x"}).status_code == 403
    assert not Project.objects.exists()


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_changes_nothing(browser: Browser, chief: User, runs: RunBuilder, method: str) -> None:
    made = runs.running()
    page = browser(chief)
    before = snapshot_of_everything()

    for address in addresses(made):
        for query in ("", "?action=cancel_runs&confirmed=yes&index=0&_selected_action=" + str(made.run.pk)):
            getattr(page, method)(address + query)

    assert snapshot_of_everything() == before


def test_a_form_without_its_token_is_refused(operator: User, runs: RunBuilder) -> None:
    made = runs.running()
    page = Client(enforce_csrf_checks=True)
    page.force_login(operator)
    before = snapshot_of_everything()

    for address in (cancel_page(made), RUN_LIST):
        ticked = {"action": "cancel_runs", "confirmed": "yes", "_selected_action": [made.run.pk]}
        assert page.post(address, ticked).status_code == 403
        assert page.post(address, ticked, headers={"Origin": "https://elsewhere.example"}).status_code == 403

    assert snapshot_of_everything() == before


def test_no_page_is_kept_by_browsers_or_proxies(browser: Browser, chief: User, runs: RunBuilder) -> None:
    made = runs.queued()

    for address in addresses(made):
        assert "no-store" in browser(chief).get(address)["Cache-Control"]
