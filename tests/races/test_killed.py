"""Processes that are killed at any statement of a transition leave the old state or the new one, and no lock."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from runs import transitions
from runs.models import Project
from tests.builders import OPERATOR, Made, RunBuilder, snapshot_of_everything
from tests.races.killed import PROJECT, VERBS
from tests.soundness import assert_sound


@pytest.fixture
def project(transactional_db: None) -> Project:
    """On the real clock, as the other process is."""
    return Project.objects.create(path=PROJECT)


@pytest.fixture(autouse=True)
def sound(transactional_db: None) -> Iterator[None]:
    yield
    assert_sound()


@contextmanager
def killed_again_and_again(verb: str, made: Made) -> Iterator["subprocess.Popen[str]"]:
    """The process, which says a line for each time it was killed."""
    arguments = [verb, str(connection.settings_dict["NAME"]), made.run_id, made.token]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.races.killed", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("verb", VERBS)
def test_a_killed_process_leaves_the_old_state_or_the_new_one(make: RunBuilder, verb: str) -> None:
    made, witness = make.running(), make.running()
    make.queued(run_id="next")
    before = snapshot_of_everything()

    deaths = 0
    with killed_again_and_again(verb, made) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        while (said := process.stdout.readline().strip()) != "committed":
            assert said == str(deaths)
            assert snapshot_of_everything() == before, f"killed before statement {said}"
            deaths += 1
            process.stdin.write("go on\n")
            process.stdin.flush()

    assert deaths > 5
    assert snapshot_of_everything() != before
    # No lock is left behind: others go on at once.
    transitions.renew(made.project, witness.hold, 30_000)
    transitions.cancel_all(made.project, [made.run_id, witness.run_id, "next"], OPERATOR)
