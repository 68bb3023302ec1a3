"""How the databases find what is to be swept: among the owned leases, never by going through the backlog."""

from typing import Any

import pytest
from django.db import connection

from runs import transitions
from runs.transitions import Swept
from tests import backlog
from tests.builders import LEASE_MS, OPERATOR, FrozenClock, RunBuilder
from tests.queue.test_claim_plan import Statement, nodes, postgres_plan, sqlite_plan

HOT_TABLES = {"runs_lease", "runs_run", "runs_receipt", "runs_humandecision"}


@pytest.fixture(autouse=True)
def sound() -> None:
    """The copies that make up the backlog have no events."""


@pytest.fixture
def full(make: RunBuilder, clock: FrozenClock) -> RunBuilder:
    """Thousands of runs that are queued or over, one lease that ran out and one wish that is due."""
    backlog.copy(make.completed(), 4_000, "done-")
    backlog.copy(make.queued(), 4_000, "queued-")
    make.expired()
    wished = make.running(lease_ms=10 * LEASE_MS)
    transitions.request_pause(make.project, wished.run_id, 1_000, OPERATOR)
    clock.advance(1_000)
    backlog.analyze()
    return make


def statements_of_a_sweep() -> list[Statement]:
    """All that a sweep asks and tells the database, with parameters."""
    statements: list[Statement] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if "SAVEPOINT" not in sql:
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        assert transitions.sweep() == Swept(released=1, settled=1)
    return statements


@pytest.mark.postgres
def test_on_postgresql_no_statement_of_a_sweep_reads_a_whole_table(full: RunBuilder) -> None:
    scans = [
        (node["Relation Name"], sql)
        for sql, params in statements_of_a_sweep()
        for node in nodes(postgres_plan((sql, params)))
        # Of an empty table there is no other way.
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in HOT_TABLES and node["Plan Rows"] > 1
    ]

    assert scans == []


@pytest.mark.sqlite
def test_on_sqlite_no_statement_of_a_sweep_reads_a_whole_table(full: RunBuilder) -> None:
    scans = [
        (detail, sql)
        for sql, params in statements_of_a_sweep()
        for _, detail in sqlite_plan((sql, params))
        if detail.startswith("SCAN") and detail.split()[1] in HOT_TABLES and "USING INDEX" not in detail
    ]

    assert scans == []
