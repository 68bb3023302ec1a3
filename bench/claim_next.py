"""What claim next costs over a backlog and a history, as a multiple of its cost where there is next to nothing."""

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

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
    """Measure on an empty table, fill it, measure again."""
    make = RunBuilder(Project.objects.create(path="bench"))
    for name in ASKED["twenty workflows"] or []:
        make.completed(workflow_name=name)
    small = {words: measured(make, names, lambda: make.queued(workflow_name=SERVED)) for words, names in ASKED.items()}
    begun = perf_counter()
    fill(make)
    print(f"filled in {perf_counter() - begun:.0f} s: {Run.objects.count():,} runs")
    large = {words: measured(make, names, lambda: None) for words, names in ASKED.items()}
    print(f"{'a claim of one run, for':<26}{'empty':>10}{'full':>10}{'ratio':>8}")
    for words in ASKED:
        ratio = large[words] / small[words]
        told = "" if ratio <= BAR else f"   above {BAR}"
        print(f"{words:<26}{small[words]:>7.2f} ms{large[words]:>7.2f} ms{ratio:>8.2f}{told}")


def measured(make: RunBuilder, workflows: Sequence[str] | None, prepare: Callable[[], object]) -> float:
    """The median of many claims in milliseconds; each is completed, so that the next one finds another run."""
    times = []
    for number in range(CLAIMS):
        prepare()
        token, claimant = f"token {number}", Claimant("host-bench", LEASE_MS)
        begun = perf_counter()
        (run,) = transitions.claim_next(make.project, claimant, [token], workflows=workflows)
        times.append(perf_counter() - begun)
        transitions.complete(make.project, Completion(run.run_id, token))
    return 1_000 * median(times)


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
