"""Access tokens in the console: issued with a secret that is shown once, listed without it, revoked."""

import hashlib
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client

from runs import clock, transitions
from runs.models import AccessToken, Project
from runs.states import Scope
from tests.builders import snapshot_of_everything
from tests.console.addresses import TOKEN_FORM, TOKEN_LIST
from tests.console.conftest import Browser

SECRET = re.compile(r"wq_[A-Za-z0-9_-]{43}")


@pytest.fixture
def page(browser: Browser, token_keeper: User) -> Client:
    return browser(token_keeper)


def asked(project: Project, **changes: object) -> dict[str, object]:
    """What the form sends for a runner's token."""
    return {
        "project": project.pk,
        "name": "host-a",
        "kind": "service",
        "scopes": ["runs:read", "runs:execute"],
        "lifetime_days": "30",
        **changes,
    }


def test_the_secret_is_shown_once_and_kept_as_a_hash(page: Client, project: Project) -> None:
    response = page.post(TOKEN_FORM, asked(project))
    secret = SECRET.search(response.content.decode())
    assert secret is not None

    token = AccessToken.objects.get()
    assert bytes(token.secret_hash) == hashlib.sha256(secret[0].encode()).digest()
    assert "no-store" in response["Cache-Control"]
    for address in (TOKEN_LIST, f"{TOKEN_LIST}{token.pk}/change/", f"{TOKEN_LIST}{token.pk}/history/", "/console/"):
        assert not SECRET.search(page.get(address).content.decode())


def test_sending_the_form_again_makes_no_second_token(page: Client, project: Project) -> None:
    page.post(TOKEN_FORM, asked(project))

    again = page.post(TOKEN_FORM, asked(project)).content.decode()

    assert "This project has a token of this name." in again
    assert not SECRET.search(again)
    assert AccessToken.objects.count() == 1


def test_a_token_is_of_a_project_for_its_scopes_and_until_its_end(page: Client, project: Project) -> None:
    page.post(TOKEN_FORM, asked(project))

    token = AccessToken.objects.get()
    assert (token.project, token.user, token.scopes) == (project, None, "runs:execute runs:read")
    assert token.expires_at is not None
    assert abs(token.expires_at - clock.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_every_scope_is_offered(page: Client, project: Project) -> None:
    html = page.get(TOKEN_FORM).content.decode()

    assert re.findall(r'name="scopes" value="([^"]+)"', html) == list(Scope)


def test_a_token_without_an_end_never_expires(page: Client, project: Project) -> None:
    page.post(TOKEN_FORM, asked(project, lifetime_days=""))

    assert AccessToken.objects.get().expires_at is None


def test_a_personal_token_belongs_to_whoever_asks(page: Client, project: Project, token_keeper: User) -> None:
    page.post(TOKEN_FORM, asked(project, kind="personal", scopes=["decisions:answer"]))

    assert AccessToken.objects.get().user == token_keeper


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scopes": ["runs:execute", "decisions:answer"]}, "No token both executes runs and answers decisions."),
        ({"scopes": []}, "This field is required."),
        ({"scopes": ["everything"]}, "Select a valid choice."),
        ({"name": ""}, "This field is required."),
        ({"name": "a\0b"}, "Null characters are not allowed."),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"project": "12345"}, "Select a valid choice."),
        ({"lifetime_days": "-1"}, "Select a valid choice."),
    ],
)
def test_what_is_refused_is_said_on_the_form(
    page: Client, project: Project, changes: dict[str, object], sentence: str
) -> None:
    html = page.post(TOKEN_FORM, asked(project) | changes).content.decode()

    assert sentence in html
    assert not AccessToken.objects.exists()


def test_the_list_tells_active_expired_and_revoked_tokens_apart(page: Client, project: Project) -> None:
    transitions.issue_access_token(project, "good", ["runs:read"])
    transitions.issue_access_token(project, "old", ["runs:read"], expires_at=clock.now() - timedelta(days=1))
    lost, _ = transitions.issue_access_token(project, "lost", ["runs:read"])
    transitions.revoke_access_token(lost)

    html = page.get(TOKEN_LIST).content.decode()

    states = re.findall(r"\s(active|expired|revoked)\s+</span>", html)
    assert sorted(states) == ["active", "expired", "revoked"]


def test_a_token_is_revoked_after_asking(page: Client, project: Project) -> None:
    token, _ = transitions.issue_access_token(project, "lost", ["runs:read"])
    ticked = {"action": "revoke_tokens", "_selected_action": [token.pk]}
    before = snapshot_of_everything()

    html = page.post(TOKEN_LIST, ticked).content.decode()
    assert "Revoke 1 token?" in html
    assert snapshot_of_everything() == before

    response = page.post(TOKEN_LIST, {**ticked, "confirmed": "yes"})

    token.refresh_from_db()
    assert token.revoked_at is not None
    assert [str(message) for message in get_messages(response.wsgi_request)] == ["1 token revoked."]


def test_who_may_only_look_neither_issues_nor_revokes(browser: Browser, token_keeper: User, project: Project) -> None:
    token_keeper.user_permissions.set(token_keeper.user_permissions.filter(codename="view_accesstoken"))
    token, _ = transitions.issue_access_token(project, "safe", ["runs:read"])
    page = browser(token_keeper)
    before = snapshot_of_everything()

    assert page.get(TOKEN_LIST).status_code == 200
    assert page.get(TOKEN_FORM).status_code == 403
    assert page.post(TOKEN_FORM, asked(project)).status_code == 403
    page.post(TOKEN_LIST, {"action": "revoke_tokens", "_selected_action": [token.pk], "confirmed": "yes"})

    assert snapshot_of_everything() == before
