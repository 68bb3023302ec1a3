"""One process of the load test: `python -m tests.races.load ROLE NUMBER SECONDS`, on the database of the environment.

It says when it is ready, begins with the first line on its input, and ends by telling what it did as JSON.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import count
from time import monotonic

import django

LEASE_MS = 1_000
PROJECT = "load"
# Waits of one call in seconds that are counted as long.
LONG = 2.0


def main(role: str, number: str, seconds: str) -> None:
    """Do what this role does, again and again until the time is over."""
    django.setup()
    act = ROLES[role](f"{role}-{number}")
    say("ready")
    sys.stdin.readline()
    done: Counter[str] = Counter()
    longest = 0.0
    end = monotonic() + float(seconds)
    while (begun := monotonic()) < end:
        done += act()
        took = monotonic() - begun
        done["calls"] += 1
        done["long"] += took > LONG
        longest = max(longest, took)
    say(json.dumps({**done, "longest_ms": int(longest * 1_000)}))


def say(line: str) -> None:
    """Tell the process that started this one."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


Act = Callable[[], "Counter[str]"]


def web(name: str) -> Act:
    """Reserves, notes, cancels, and stamps its access token."""
    from runs import clock, errors, transitions
    from runs.models import AccessToken, Project
    from runs.transitions import Note
    from tests.builders import OPERATOR, RunBuilder

    make = RunBuilder(Project.objects.get(path=PROJECT))
    token = AccessToken.objects.get(project=make.project)
    numbers = count(1)

    def act() -> "Counter[str]":
        done: Counter[str] = Counter()
        first, second = (
            make.reservation(run_id=f"{name}-{next(numbers)}", origin_session_id=name, **HEADLESS) for _ in "ab"
        )
        done["reserved"] += len(transitions.reserve_all(make.project, [first, second]))
        transitions.record_event(make.project, Note(first.run_id, "note"), OPERATOR)
        done["noted"] += 1
        transitions.stamp_use(token, clock.now())
        try:
            transitions.cancel(make.project, second.run_id, OPERATOR)
            done["cancelled"] += 1
        except errors.RunFinished:
            pass
        return done

    return act


HEADLESS = {"execution_mode": "headless"}


def runner(name: str) -> Act:
    """Claims, renews, records and completes; what was cancelled or lost under its hands it lets go."""
    from runs import errors, transitions
    from runs.models import Project
    from runs.transitions import Claimant, Completion, Hold, Note
    from tests.builders import OPERATOR

    project, claimant, numbers = Project.objects.get(path=PROJECT), Claimant(f"host-{name}", LEASE_MS), count()

    def act() -> "Counter[str]":
        done: Counter[str] = Counter()
        tokens = [f"{name} {next(numbers)}" for _ in range(2)]
        runs = transitions.claim_next(project, claimant, tokens, workflows=["inventory"])
        done["claimed"] += len(runs)
        for run, token in zip(runs, tokens, strict=False):
            try:
                transitions.mark_running(project, Hold(run.run_id, token))
                transitions.renew(project, Hold(run.run_id, token), LEASE_MS)
                transitions.record_event(project, Note(run.run_id, "note", token=token), OPERATOR)
                done["noted"] += 1
                transitions.complete(project, Completion(run.run_id, token, run.run_id))
                done["completed"] += 1
            except (errors.RunCancelled, errors.LeaseLost):
                done["lost"] += 1
        return done

    return act


def sweeper(name: str) -> Act:
    """Sweeps."""
    from runs import transitions

    return lambda: Counter(swept=transitions.sweep().total)


def reader(name: str) -> Act:
    """Lists runs and events as a console does."""
    from runs import reading
    from runs.models import Project
    from runs.reading import FeedPosition

    project = Project.objects.get(path=PROJECT)

    def act() -> "Counter[str]":
        runs = list(reading.runs(project)[:50])
        events = list(reading.run_events(runs[0])[:50]) if runs else []
        feed = list(reading.feed(project, FeedPosition())[:50])
        return Counter(read=len(runs) + len(events) + len(feed))

    return act


ROLES: dict[str, Callable[[str], Act]] = {"web": web, "runner": runner, "sweeper": sweeper, "reader": reader}

if __name__ == "__main__":
    main(*sys.argv[1:])
