"""Whole cycles a second (reserve, claim, mark running, complete), one at a time and in batches of a hundred."""

import secrets
from time import perf_counter

from bench.database import ready

SINGLE, BATCHES, BATCH = 200, 20, 100


def main() -> None:
    """Measure, print, and leave."""
    ready()
    from runs import transitions
    from runs.transitions import Claimant, Completion, Hold
    from tests.builders import RunBuilder

    project, _ = transitions.make_project("bench")
    make = RunBuilder(project)
    claimant = Claimant("host-bench", 60_000)

    def cycles(size: int) -> None:
        tokens = [secrets.token_urlsafe(32) for _ in range(size)]
        transitions.reserve_all(project, [make.reservation() for _ in range(size)])
        runs = transitions.claim_next(project, claimant, tokens)
        holds = [Hold(run.run_id, token) for run, token in zip(runs, tokens, strict=True)]
        transitions.mark_running_all(project, holds)
        transitions.renew_all(project, holds, 60_000)
        transitions.complete_all(
            project,
            [Completion(run.run_id, hold.token or "", {"ok": True}) for run, hold in zip(runs, holds, strict=True)],
        )

    rates = {}
    for name, times, size in (("one at a time", SINGLE, 1), (f"{BATCH} at a time", BATCHES, BATCH)):
        begun = perf_counter()
        for _ in range(times):
            cycles(size)
        rates[name] = times * size / (perf_counter() - begun)

    print(f"{'cycles':<20}{'a second':>10}")
    for name, rate in rates.items():
        print(f"{name:<20}{rate:>10.0f}")
    one, many = rates.values()
    print(f"{'ratio':<20}{many / one:>10.1f}")


if __name__ == "__main__":
    main()
