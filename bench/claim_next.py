"""What claim next costs over a backlog and a history, as a multiple of its cost where there is next to nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter

from django.db import connections

from runs import clock, transitions
from runs.models import Project, Run
from runs.states import Priority
from runs.transitions import Claimant, Completion
from tests import backlog
from tests.builders import LEASE_MS, RunBuilder, write

CLAIMS = 300
FINISHED, QUEUED, FUTURE, UNSERVED = 100_000, 10_000, 10_000, 10_000
SERVED = "inventory"
BAR = 1.5

# How a runner may ask: in words, and the workflows that it names.
ASKED: dict[str, list[str] | None] = {
    "its one workflow": [SERVED],
    "twenty workflows": [SERVED, *(f"idle {number}" for number in range(19))],
    "any workflow": None,
}


def main() -> None:
    """Fill the second database, then measure on both in turn, so that whatever else the machine does troubles both."""
    with on("full"):
        full = prepared()
        begun = perf_counter()
        fill(full)
        print(f"filled in {perf_counter() - begun:.0f} s: {Run.objects.count():,} runs")
    empty = prepared()
    print(f"{'a claim of one run, for':<26}{'empty':>10}{'full':>10}{'ratio':>8}")
    for words, workflows in ASKED.items():
        small, large = measured(empty, full, workflows)
        ratio = large / small
        told = "" if ratio <= BAR else f"   above {BAR}"
        print(f"{words:<26}{small:>7.2f} ms{large:>7.2f} ms{ratio:>8.2f}{told}")


@contextmanager
def on(alias: str) -> Iterator[None]:
    """Everything that is said to the default database goes to this one."""
    before = connections["default"]
    connections["default"] = connections[alias]
    try:
        yield
    finally:
        connections["default"] = before


def prepared() -> RunBuilder:
    """A project with the workflows that runners will name, and one finished run of each."""
    make = RunBuilder(Project.objects.create(path="bench"))
    for name in ASKED["twenty workflows"] or []:
        make.completed(workflow_name=name)
    return make


def measured(empty: RunBuilder, full: RunBuilder, workflows: Sequence[str] | None) -> tuple[float, float]:
    """The medians of many claims in milliseconds, on the empty and on the full database."""
    small, large = [], []
    for _ in range(CLAIMS):
        empty.queued(workflow_name=SERVED)
        small.append(claimed(empty, workflows))
        with on("full"):
            large.append(claimed(full, workflows))
    return median(small), median(large)


def claimed(make: RunBuilder, workflows: Sequence[str] | None) -> float:
    """What one claim took; its run is completed, so that the next one finds another."""
    claimant = Claimant("host-bench", LEASE_MS)
    begun = perf_counter()
    (run,) = transitions.claim_next(make.project, claimant, ["a token"], workflows=workflows)
    took = perf_counter() - begun
    transitions.complete(make.project, Completion(run.run_id, "a token"))
    return 1_000 * took


def fill(make: RunBuilder) -> None:
    """The history and the backlog of the bar, and what must not be walked over: the future, and what nobody serves."""
    backlog.copy(make.completed(), FINISHED, "done-")
    future = make.queued(priority=Priority.HIGH)
    write(future, available_at=clock.now().replace(year=2100))
    backlog.copy(future, FUTURE, "future-")
    unserved = make.queued(workflow_name="unserved", priority=Priority.LOW)
    backlog.copy(unserved, UNSERVED, "unserved-")
    backlog.copy(make.queued(workflow_name=SERVED), QUEUED, "queued-")
    backlog.analyze()
