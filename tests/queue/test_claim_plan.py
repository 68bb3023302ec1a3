"""How the databases find what comes next: through the claim indexes, never by going through the backlog."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from runs import transitions
from runs.models.lease import OFFERED_ANY_INDEX, OFFERED_INDEX
from runs.states import Priority
from runs.transitions import Claimant
from tests import backlog
from tests.builders import LEASE_MS, START, RunBuilder, write

HOT_TABLES = {"runs_lease", "runs_run"}
RUNNER = Claimant("host-next", LEASE_MS)

Statement = tuple[str, Any]


@pytest.fixture(autouse=True)
def sound() -> None:
    """The copies that make up the backlog have no events."""


@pytest.fixture
def full(make: RunBuilder) -> RunBuilder:
    """A project with thousands of runs: finished, queued, of future date and high priority, of other workflows."""
    make.running()
    make.expired()
    backlog.copy(make.completed(), 4_000, "done-")
    backlog.copy(make.queued(), 2_000, "queued-")
    backlog.copy(make.queued(workflow_name="unserved"), 1_000, "unserved-")
    future = make.queued(priority=Priority.HIGH)
    write(future, available_at=START.replace(year=2100))
    backlog.copy(future, 1_000, "future-")
    backlog.analyze()
    return make


def statements_of_a_claim(make: RunBuilder, workflows: list[str] | None) -> list[Statement]:
    """All that claim next asks and tells the database, with parameters."""
    statements: list[Statement] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        if "SAVEPOINT" not in sql:
            statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        runs = transitions.claim_next(make.project, RUNNER, ["token 1", "token 2"], workflows=workflows)
    assert len(runs) == 2
    return statements


def the_search(statements: list[Statement]) -> Statement:
    """The one that finds which leases may be claimed."""
    (search,) = [statement for statement in statements if "UNION ALL" in statement[0]]
    return search


@pytest.mark.postgres
@pytest.mark.parametrize(("workflows", "index"), [(["inventory"], OFFERED_INDEX), (None, OFFERED_ANY_INDEX)])
def test_postgresql_walks_the_claim_index(full: RunBuilder, workflows: list[str] | None, index: str) -> None:
    plan = postgres_plan(the_search(statements_of_a_claim(full, workflows)))

    walks = [node for node in nodes(plan) if node.get("Index Name") == index]
    sorted_whole = [leaf for node in nodes(plan) if node["Node Type"] == "Sort" for leaf in unlimited(node)]
    assert len(walks) == len(Priority)
    assert index not in sorted_whole


@pytest.mark.postgres
@pytest.mark.parametrize("workflows", [["inventory"], None])
def test_on_postgresql_no_statement_of_a_claim_reads_a_whole_table(
    full: RunBuilder, workflows: list[str] | None
) -> None:
    statements = statements_of_a_claim(full, workflows)

    scans = [
        (node["Relation Name"], sql)
        for sql, params in statements
        for node in nodes(postgres_plan((sql, params)))
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in HOT_TABLES
    ]
    assert scans == []


@pytest.mark.sqlite
@pytest.mark.parametrize(("workflows", "index"), [(["inventory"], OFFERED_INDEX), (None, OFFERED_ANY_INDEX)])
def test_sqlite_walks_the_claim_index(full: RunBuilder, workflows: list[str] | None, index: str) -> None:
    rows = sqlite_plan(the_search(statements_of_a_claim(full, workflows)))

    walks = [(parent, detail) for parent, detail in rows if f"USING INDEX {index} " in detail or detail.endswith(index)]
    sorted_ones = {parent for parent, detail in rows if "TEMP B-TREE FOR ORDER BY" in detail}
    assert len(walks) == len(Priority)
    assert all("priority=? AND ready_at<?" in detail for _, detail in walks)
    assert not sorted_ones & {parent for parent, _ in walks}


@pytest.mark.sqlite
@pytest.mark.parametrize("workflows", [["inventory"], None])
def test_on_sqlite_no_statement_of_a_claim_reads_a_whole_table(full: RunBuilder, workflows: list[str] | None) -> None:
    statements = statements_of_a_claim(full, workflows)

    scans = [
        (detail, sql)
        for sql, params in statements
        for _, detail in sqlite_plan((sql, params))
        if detail.startswith("SCAN") and detail.split()[1] in HOT_TABLES
    ]
    assert scans == []


def postgres_plan(statement: Statement) -> dict[str, Any]:
    sql, params = statement
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", params)
        (plan,) = cursor.fetchone()
    root: dict[str, Any] = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return root


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The node itself and all below it."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def unlimited(plan: dict[str, Any]) -> Iterator[str]:
    """The indexes that are read below this node without a limit between."""
    if plan["Node Type"] == "Limit":
        return
    if "Index Name" in plan:
        yield plan["Index Name"]
    for child in plan.get("Plans", ()):
        yield from unlimited(child)


def sqlite_plan(statement: Statement) -> list[tuple[int, str]]:
    """Of every step the step above it and what it does."""
    sql, params = statement
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
        return [(parent, detail) for _, parent, _, detail in cursor.fetchall()]
