"""How DATABASE_URL becomes a set-up that transitions are safe on."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from workflowq.databases import configured

BASE = Path("/srv/queue")
POSTGRES = "postgres://user:secret@db.example:6432/queue"


def test_sqlite_begins_every_transaction_as_a_writer() -> None:
    config = configured("sqlite:////data/queue.sqlite3", base=BASE, pool=10)

    assert config["ENGINE"] == "workflowq.sqlite"
    assert config["NAME"] == "/data/queue.sqlite3"
    assert config["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert config["OPTIONS"]["init_command"] == "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"


def test_a_relative_sqlite_path_does_not_depend_on_where_one_stands() -> None:
    config = configured("sqlite:///var/queue.sqlite3", base=BASE, pool=10)

    assert config["NAME"] == "/srv/queue/var/queue.sqlite3"


def test_postgresql_keeps_its_connections_in_a_pool() -> None:
    config = configured(POSTGRES, base=BASE, pool=10)

    assert config["OPTIONS"]["pool"]["max_size"] == 10
    assert config["CONN_MAX_AGE"] == 0


def test_postgresql_without_a_pool_keeps_a_connection_for_each_thread() -> None:
    config = configured(POSTGRES, base=BASE, pool=0)

    assert "pool" not in config["OPTIONS"]
    assert config["CONN_MAX_AGE"] > 0


def test_postgresql_is_used_as_a_transaction_pooler_allows() -> None:
    config = configured(POSTGRES, base=BASE, pool=10)

    assert config["DISABLE_SERVER_SIDE_CURSORS"] is True
    assert config["OPTIONS"]["prepare_threshold"] is None


def test_options_of_the_address_are_kept() -> None:
    config = configured(POSTGRES + "?sslmode=verify-full", base=BASE, pool=1)

    assert config["OPTIONS"]["sslmode"] == "verify-full"
    assert config["OPTIONS"]["pool"] == {"min_size": 1, "max_size": 1, "timeout": 10}


@pytest.mark.parametrize("url", ["mysql://db.example/queue", "queue.sqlite3", "postgres://db:port/queue"])
def test_what_is_not_one_of_the_two_databases_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        configured(url, base=BASE, pool=10)


@pytest.mark.sqlite
@pytest.mark.django_db
def test_sqlite_really_has_the_settings() -> None:
    with connection.cursor() as cursor:
        found = {
            pragma: cursor.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in ("journal_mode", "foreign_keys")
        }

    assert found == {"journal_mode": "wal", "foreign_keys": 1}


@pytest.mark.postgres
@pytest.mark.django_db
def test_postgresql_connections_carry_no_state_of_their_own() -> None:
    with connection.cursor() as cursor:
        for _ in range(10):
            cursor.execute("SELECT %s::int", [1])
        prepared = cursor.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        changed = cursor.execute(
            "SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'TimeZone'"
        ).fetchall()

    assert prepared == (0,)
    assert changed == []
