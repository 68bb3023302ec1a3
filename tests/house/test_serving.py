"""The server as a whole: health, headers, static files, and websockets nobody answers yet."""

from collections.abc import Iterator
from unittest import mock

import httpx
import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin


@pytest.fixture
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, trust_env=False) as client:
        yield client


def policy(headers: httpx.Headers) -> dict[str, str]:
    """The Content-Security-Policy by directive."""
    directives = (directive.strip().partition(" ") for directive in headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in directives}


def test_the_server_answers_for_its_health(http: httpx.Client) -> None:
    answer = http.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_server_without_its_database_says_so(client: Client) -> None:
    with mock.patch.object(connection, "cursor", side_effect=OperationalError("gone")):
        answer = client.get("/healthz")

    assert (answer.status_code, answer.json()) == (503, {"status": "unavailable"})


def test_the_root_leads_to_the_console(http: httpx.Client) -> None:
    answer = http.get("/")

    assert (answer.status_code, answer.headers["location"]) == (302, "/console/")


def test_every_answer_carries_the_protecting_headers(http: httpx.Client) -> None:
    headers = http.get("/healthz").headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"


@pytest.mark.parametrize("address", ["/healthz", "/api/v1/runs", "/nowhere"])
def test_no_address_may_run_inline_code_or_load_from_elsewhere(http: httpx.Client, address: str) -> None:
    found = policy(http.get(address).headers)

    assert found["default-src"] == "'self'"
    assert found["frame-ancestors"] == "'none'"
    assert "unsafe" not in str(found)


def test_the_console_alone_may_evaluate_and_style_inline(http: httpx.Client) -> None:
    found = policy(http.get("/console/login/").headers)

    assert found["script-src"] == "'self' 'unsafe-eval'"
    assert found["style-src"] == "'self' 'unsafe-inline'"


def test_the_consoles_cookies_are_out_of_reach_for_scripts_and_other_sites(http: httpx.Client) -> None:
    cookie = http.get("/console/login/").headers["set-cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_static_files_come_without_a_collecting_step(http: httpx.Client) -> None:
    answer = http.get("/static/unfold/css/styles.css")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/css")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_static_addresses_do_not_reach_other_files(http: httpx.Client) -> None:
    assert http.get("/static/..%2f..%2fmanage.py").status_code == 404


def test_a_host_that_is_not_ours_is_refused(http: httpx.Client) -> None:
    assert http.get("/healthz", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize("origin", ["http://localhost:8000", "https://evil.example", None])
def test_a_websocket_without_a_live_view_is_refused(server: str, origin: str | None) -> None:
    address = server.replace("http", "ws") + "/live/nothing"
    sent = Origin(origin) if origin else None

    with pytest.raises(InvalidStatus) as refusal, connect(address, origin=sent, proxy=None):
        pass

    assert refusal.value.response.status_code == 403


@pytest.mark.django_db
def test_over_https_plain_requests_are_sent_there_but_for_health(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True

    moved, healthy = client.get("/console/"), client.get("/healthz")

    assert (moved.status_code, moved["location"]) == (301, "https://testserver/console/")
    assert healthy.status_code == 200
