"""The embedded database under eight processes at once: nobody hears that it is locked, and the totals add up."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from django.db import connection

from runs import transitions
from runs.models import Event, Project, Run
from runs.states import Scope
from tests.races.load import PROJECT

pytestmark = pytest.mark.sqlite
CAST = ["web"] * 2 + ["runner"] * 4 + ["sweeper", "reader"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seconds", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_eight_processes_never_hear_that_the_database_is_locked(transactional_db: None, seconds: int) -> None:
    project, _ = transitions.make_project(PROJECT)
    transitions.issue_access_token(project, "client", [Scope.RUNS_WRITE])

    reports = reports_of(CAST, seconds)

    done: Counter[str] = Counter()
    for report in reports:
        done.update({name: number for name, number in report.items() if name != "longest_ms"})
    assert done["long"] <= done["calls"] / 100, reports
    assert_totals(project, done)
    idle = [role for role, report in zip(CAST, reports, strict=True) if not report["calls"]]
    assert idle == []


def assert_totals(project: Project, done: "Counter[str]") -> None:
    """What the processes were told is what is stored: nothing lost, nothing done twice."""
    runs, events = Run.objects.filter(project=project), Event.objects.filter(project=project)
    assert runs.count() == done["reserved"]
    assert runs.filter(status="completed").count() == done["completed"]
    assert runs.filter(status="cancelled").count() == done["cancelled"]
    assert events.filter(type="note").count() == done["noted"]
    assert events.filter(type="lease.claimed").count() == done["claimed"]
    assert min(done["completed"], done["cancelled"], done["claimed"]) > 0


def reports_of(cast: Sequence[str], seconds: int) -> list[dict[str, int]]:
    """What each process of this cast did, by its own account, after all worked for so long together."""
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{connection.settings_dict['NAME']}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.races.load", role, str(number), str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for number, role in enumerate(cast)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = [process.communicate(timeout=seconds + 60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [json.loads(line) for line in said]
