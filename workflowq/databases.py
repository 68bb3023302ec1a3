"""Turns DATABASE_URL into Django's database settings, safe ones on both databases."""

from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

SQLITE = "workflowq.sqlite"
POSTGRESQL = "django.db.backends.postgresql"

# FULL: a commit that was answered survives a power cut, in WAL mode too.
SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"
LOCK_WAIT_SECONDS = 30
POOL_WAIT_SECONDS = 10
# Without a pool a thread keeps its connection this long: a new one for each request would cost more than the request.
KEPT_SECONDS = 600


def configured(url: str, *, base: Path, pool: int) -> dict[str, Any]:
    """The settings of the database at `url`; a relative SQLite path starts at `base`, `pool` 0 means none."""
    try:
        parsed: dict[str, Any] = dict(dj_database_url.parse(url))
    except ValueError as refusal:
        raise ImproperlyConfigured(f"DATABASE_URL can't be read: {refusal}") from None
    engine = parsed["ENGINE"]
    if engine == "django.db.backends.sqlite3":
        return _sqlite(parsed, base)
    if engine == POSTGRESQL:
        return _postgresql(parsed, pool)
    raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgres://.")


def _sqlite(parsed: dict[str, Any], base: Path) -> dict[str, Any]:
    name = parsed["NAME"]
    if name != ":memory:":
        name = str(base / name)
    options = {
        "transaction_mode": "IMMEDIATE",
        "timeout": LOCK_WAIT_SECONDS,
        "init_command": SQLITE_PRAGMAS,
    }
    return {"ENGINE": SQLITE, "NAME": name, "OPTIONS": options}


def _postgresql(parsed: dict[str, Any], pool: int) -> dict[str, Any]:
    # The rest of this keeps a transaction pooler in front of PostgreSQL possible: nothing may live longer on a
    # connection than a transaction does. Django leaves prepared statements off by itself.
    options: dict[str, Any] = {**parsed.get("OPTIONS", {}), "prepare_threshold": None}
    if pool:
        options["pool"] = {"min_size": min(2, pool), "max_size": pool, "timeout": POOL_WAIT_SECONDS}
    return {
        **parsed,
        "OPTIONS": options,
        "CONN_MAX_AGE": 0 if pool else KEPT_SECONDS,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
