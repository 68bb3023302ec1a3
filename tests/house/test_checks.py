"""Set-ups that are refused, and those that are not."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from workflowq import checks
from workflowq.checks import asgi_faults, database_faults, refuse_unsafe

IMMEDIATE = {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"}
POOLED = {"ENGINE": "django.db.backends.postgresql", "CONN_MAX_AGE": 0, "OPTIONS": {"pool": {"max_size": 4}}}


def found(faults: list[Any]) -> list[str]:
    return [fault.id for fault in faults]


def test_the_settings_of_these_tests_are_safe() -> None:
    refuse_unsafe(asgi=True)


@pytest.mark.parametrize(("key", "fault"), [("", "workflowq.E001"), ("short", "workflowq.E002"), ("k" * 32, None)])
def test_a_secret_key_must_be_there_and_long(settings: Settings, key: str, fault: str | None) -> None:
    settings.SECRET_KEY = key

    assert found(checks.check_secret_key(None)) == ([fault] if fault else [])


def test_a_server_without_a_secret_key_does_not_start_and_says_why(settings: Settings) -> None:
    settings.SECRET_KEY = ""

    with pytest.raises(ImproperlyConfigured, match=r"There is no secret key. Set WORKFLOWQ_SECRET_KEY"):
        refuse_unsafe()


@pytest.mark.parametrize(
    ("hosts", "debug", "https", "faults"),
    [
        (["localhost", "[::1]"], True, False, []),
        (["queue.example"], False, True, []),
        (["queue.example"], True, True, ["workflowq.E004"]),
        (["queue.example"], False, False, ["workflowq.W005"]),
        (["*"], False, True, ["workflowq.E003"]),
    ],
)
def test_hosts_beyond_loopback_get_neither_debugging_nor_plain_http(
    settings: Settings, hosts: list[str], debug: bool, https: bool, faults: list[str]
) -> None:
    settings.ALLOWED_HOSTS, settings.DEBUG, settings.HTTPS = hosts, debug, https

    assert found(checks.check_hosts(None)) == faults


@pytest.mark.parametrize(
    ("lower", "upper"),
    [("LEASE_MS_DEFAULT", "LEASE_MS_MAX"), ("LEASE_MS_MIN", "LEASE_MS_DEFAULT"), ("PAGE_DEFAULT", "PAGE_MAX")],
)
def test_limits_may_not_contradict_each_other(settings: Settings, lower: str, upper: str) -> None:
    settings.WORKFLOWQ = {**settings.WORKFLOWQ, lower: settings.WORKFLOWQ[upper] + 1}

    faults = checks.check_limits(None)

    assert any(f"WORKFLOWQ_{lower} must not be above WORKFLOWQ_{upper}" in fault.msg for fault in faults)


@pytest.mark.parametrize(
    ("options", "faults"),
    [
        (IMMEDIATE, []),
        ({**IMMEDIATE, "transaction_mode": "DEFERRED"}, ["workflowq.E011"]),
        ({"init_command": IMMEDIATE["init_command"]}, ["workflowq.E011"]),
        ({**IMMEDIATE, "init_command": "PRAGMA journal_mode = DELETE"}, ["workflowq.E012"]),
        ({**IMMEDIATE, "init_command": "PRAGMA journal_mode = wal; PRAGMA foreign_keys = 0"}, ["workflowq.E013"]),
    ],
)
def test_sqlite_must_be_immediate_with_wal_and_foreign_keys(options: dict[str, str], faults: list[str]) -> None:
    assert found(database_faults({"ENGINE": "workflowq.sqlite", "OPTIONS": options})) == faults


def test_djangos_own_sqlite_engine_is_refused_for_its_unfairness() -> None:
    assert found(database_faults({"ENGINE": "django.db.backends.sqlite3", "OPTIONS": IMMEDIATE})) == ["workflowq.E010"]


def test_a_pool_goes_with_connections_that_end_with_the_request() -> None:
    assert found(database_faults(POOLED)) == []
    assert found(database_faults({**POOLED, "CONN_MAX_AGE": 60})) == ["workflowq.E014"]


def test_under_asgi_kept_connections_need_a_pool() -> None:
    kept = {**POOLED, "CONN_MAX_AGE": 60, "OPTIONS": {}}

    assert found(database_faults(kept)) == []
    assert found(asgi_faults(kept)) == ["workflowq.E015"]
    assert found(asgi_faults(POOLED)) == []
