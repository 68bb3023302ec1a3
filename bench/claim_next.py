"""What a claim costs with a history and a backlog behind it, against the same claim on a nearly empty table.

The bar: at most 1.5 times.
"""

import secrets
from statistics import median
from time import perf_counter

from bench.database import ready

FINISHED, QUEUED, FUTURE, UNSERVED = 100_000, 10_000, 10_000, 10_000
CLAIMS = 400


def main() -> None:
    """Measure, print, and leave."""
    ready()
    from runs import transitions
    from runs.states import Priority
    from tests import backlog
    from tests.builders import RunBuilder, write

    project, _ = transitions.make_project("bench")
    make = RunBuilder(project)
    finished, future = (
        make.completed(workflow_name="served"),
        make.queued(workflow_name="served", priority=Priority.HIGH),
    )
    unserved, queued = make.queued(workflow_name="unserved"), make.queued(workflow_name="served")
    write(future, available_at=future.run.available_at.replace(year=2100))

    rows = []
    empty = {name: _cost(project, make, workflows) for name, workflows in _FORMS.items()}
    backlog.copy(finished, FINISHED, "finished-")
    backlog.copy(future, FUTURE, "future-")
    backlog.copy(unserved, UNSERVED, "unserved-")
    backlog.copy(queued, QUEUED, "queued-")
    backlog.analyze()
    for name, workflows in _FORMS.items():
        full = _cost(project, make, workflows)
        rows.append((name, empty[name], full, full / empty[name]))

    print(f"{'claim next':<24}{'empty ms':>10}{'full ms':>10}{'ratio':>8}")
    for name, before, after, ratio in rows:
        print(f"{name:<24}{before * 1000:>10.2f}{after * 1000:>10.2f}{ratio:>8.2f}")


_FORMS: dict[str, list[str] | None] = {"of one workflow": ["served"], "of any workflow": None}


def _cost(project: object, make: object, workflows: list[str] | None) -> float:
    """The median time of a claim, in seconds. Each claimed run is handed back, so that there is always one to claim."""
    from runs import transitions
    from runs.transitions import Claimant, Hold

    times = []
    for _ in range(CLAIMS):
        token = secrets.token_urlsafe(32)
        begun = perf_counter()
        runs = transitions.claim_next(project, Claimant("host-bench", 60_000), [token], workflows=workflows)  # type: ignore[arg-type]
        times.append(perf_counter() - begun)
        for run in runs:
            transitions.park(project, Hold(run.run_id, token))  # type: ignore[arg-type]
    return median(times)


if __name__ == "__main__":
    main()
