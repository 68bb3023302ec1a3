"""System checks that refuse unsafe set-ups, in sentences that say what to do instead."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register, run_checks
from django.core.exceptions import ImproperlyConfigured

from workflowq import databases

TAG = "workflowq"
SECRET_KEY_LEAST = 32


def refuse_unsafe(*, asgi: bool = False) -> None:
    """Raise ImproperlyConfigured where a check finds an error: servers call this, since Django doesn't for them."""
    found = run_checks(tags=[TAG])
    if asgi:
        found += asgi_faults(settings.DATABASES["default"])
    errors = [f"{fault.msg} {fault.hint or ''}".strip() for fault in found if fault.is_serious()]
    if errors:
        raise ImproperlyConfigured("\n".join(errors))


@register(TAG)
def check_secret_key(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """There is a secret key, and it can't be guessed."""
    # Django raises on reading an empty one, so look where it is kept.
    key: str = settings._wrapped.SECRET_KEY if settings.configured else ""
    if not key:
        return [
            Error(
                "There is no secret key.",
                hint=f"Set WORKFLOWQ_SECRET_KEY, or let `make up` write one to {settings.SECRET_KEY_FILE}.",
                id="workflowq.E001",
            )
        ]
    if len(key) < SECRET_KEY_LEAST:
        return [Error(f"The secret key is shorter than {SECRET_KEY_LEAST} characters.", id="workflowq.E002")]
    return []


@register(TAG)
def check_hosts(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Debugging pages and plain HTTP stay on the loopback address, and hosts are named."""
    found: list[CheckMessage] = []
    beyond = sorted(set(settings.ALLOWED_HOSTS) - settings.LOOPBACK_HOSTS)
    if "*" in beyond:
        found.append(Error("WORKFLOWQ_ALLOWED_HOSTS must name the hosts; * is any.", id="workflowq.E003"))
    if settings.DEBUG and beyond:
        found.append(
            Error(
                f"WORKFLOWQ_DEBUG shows secrets on its error pages, and other machines reach {', '.join(beyond)}.",
                hint="Turn it off, or allow loopback hosts alone.",
                id="workflowq.E004",
            )
        )
    if beyond and not settings.HTTPS:
        found.append(
            Warning(
                f"Tokens and passwords for {', '.join(beyond)} travel unencrypted.",
                hint="Leave WORKFLOWQ_HTTPS on; behind a proxy that ends TLS also set WORKFLOWQ_BEHIND_PROXY.",
                id="workflowq.W005",
            )
        )
    return found


@register(TAG)
def check_limits(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Limits that bound each other are in order."""
    limits = settings.WORKFLOWQ
    ladders = [
        ("LEASE_MS_MIN", "LEASE_MS_DEFAULT"),
        ("LEASE_MS_DEFAULT", "LEASE_MS_MAX"),
        ("PAGE_DEFAULT", "PAGE_MAX"),
        ("MAX_DOCUMENT_BYTES", "MAX_BODY_BYTES"),
    ]
    return [
        Error(f"WORKFLOWQ_{lower} must not be above WORKFLOWQ_{upper}.", id="workflowq.E006")
        for lower, upper in ladders
        if limits[lower] > limits[upper]
    ]


@register(TAG)
def check_databases(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every database is set up so that transitions are safe on it."""
    return [fault for config in settings.DATABASES.values() for fault in database_faults(config)]


def database_faults(config: Mapping[str, Any]) -> list[CheckMessage]:
    """What is unsafe about one entry of DATABASES."""
    engine = config["ENGINE"]
    if engine == databases.SQLITE:
        return _sqlite_faults(config)
    if engine == databases.POSTGRESQL:
        if config.get("OPTIONS", {}).get("pool") and config.get("CONN_MAX_AGE") != 0:
            return [Error("A pool keeps the connections: CONN_MAX_AGE must be 0 beside it.", id="workflowq.E014")]
        return []
    return [
        Error(
            f"The database engine is {engine}.",
            hint=f"It must be {databases.SQLITE}, which queues writers fairly, or {databases.POSTGRESQL}.",
            id="workflowq.E010",
        )
    ]


def _sqlite_faults(config: Mapping[str, Any]) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    options = config.get("OPTIONS", {})
    pragmas = options.get("init_command", "").replace(" ", "").lower()
    if options.get("transaction_mode") != "IMMEDIATE":
        found.append(
            Error(
                "SQLite's transaction_mode must be IMMEDIATE: transitions read before they write.", id="workflowq.E011"
            )
        )
    if "journal_mode=wal" not in pragmas:
        found.append(Error("SQLite's journal_mode must be WAL: readers must not stop writers.", id="workflowq.E012"))
    if "foreign_keys=" in pragmas:
        found.append(Error("SQLite's foreign_keys are on and must be left alone.", id="workflowq.E013"))
    return found


def asgi_faults(config: Mapping[str, Any]) -> list[CheckMessage]:
    """What is unsafe about a database under ASGI, where each request may run in a thread of its own."""
    pooled = bool(config.get("OPTIONS", {}).get("pool"))
    if config["ENGINE"] == databases.POSTGRESQL and not pooled and config.get("CONN_MAX_AGE") != 0:
        return [
            Error(
                "Under ASGI connections that outlive their request pile up without a pool.",
                hint="Set WORKFLOWQ_DB_POOL above 0.",
                id="workflowq.E015",
            )
        ]
    return []
