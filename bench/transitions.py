"""How many transitions a second one process makes: run by run, and a hundred at a time."""

from collections.abc import Callable
from time import perf_counter

from runs import transitions
from runs.models import Project
from runs.transitions import Claimant, Completion
from tests.builders import LEASE_MS, Made, RunBuilder

RUNS = 1_000
CLAIMANT = Claimant("host-bench", LEASE_MS)

# A step of the cycle: what is done with one batch of runs.
Step = Callable[[RunBuilder, list[Made]], object]


def reserve(make: RunBuilder, batch: list[Made]) -> object:
    asked = [make.reservation(run_id=made.run_id, input={"run": made.run_id}) for made in batch]
    return transitions.reserve_all(make.project, asked)


def claim_next(make: RunBuilder, batch: list[Made]) -> object:
    return transitions.claim_next(make.project, CLAIMANT, [made.token for made in batch], workflows=["inventory"])


def mark_running(make: RunBuilder, batch: list[Made]) -> object:
    return transitions.mark_running_all(make.project, [made.hold for made in batch])


def renew(make: RunBuilder, batch: list[Made]) -> object:
    return transitions.renew_all(make.project, [made.hold for made in batch], LEASE_MS)


def complete(make: RunBuilder, batch: list[Made]) -> object:
    completions = [Completion(made.run_id, made.token, {"output": made.run_id}) for made in batch]
    return transitions.complete_all(make.project, completions)


CYCLE: dict[str, Step] = {
    "reserve": reserve,
    "claim next": claim_next,
    "mark running": mark_running,
    "renew": renew,
    "complete": complete,
}


def main() -> None:
    """The whole cycle for many runs, one at a time and in batches."""
    make = RunBuilder(Project.objects.create(path="bench"))
    make.completed()
    sizes = (1, 100)
    spent = {size: cycle(make, size) for size in sizes}
    print(f"{'transitions a second':<22}" + "".join(f"{f'batch of {size}':>14}" for size in sizes))
    for name in CYCLE:
        print(f"{name:<22}" + "".join(f"{RUNS / spent[size][name]:>14,.0f}" for size in sizes))
    whole = [RUNS * len(CYCLE) / sum(spent[size].values()) for size in sizes]
    print(f"{'the whole cycle':<22}" + "".join(f"{rate:>14,.0f}" for rate in whole))


def cycle(make: RunBuilder, size: int) -> dict[str, float]:
    """Seconds spent on each step, for all runs."""
    spent = dict.fromkeys(CYCLE, 0.0)
    for start in range(0, RUNS, size):
        # In the order of their ids, in which the runs of a batch are claimed.
        ids = [f"size-{size}-{number:05}" for number in range(start, start + size)]
        batch = [Made(make.project, run_id, f"token of {run_id}") for run_id in ids]
        for name, step in CYCLE.items():
            begun = perf_counter()
            step(make, batch)
            spent[name] += perf_counter() - begun
    return spent
