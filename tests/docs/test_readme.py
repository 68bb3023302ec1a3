"""The README tells the truth: its commands run, its links lead somewhere, its targets and codes exist."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from runs import errors
from runs.transitions import issue_access_token, make_project

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()


def curl_commands() -> str:
    """The shell blocks between the marks, as one script that stops at the first failure."""
    _, _, marked = README.partition("<!-- curl: begin -->")
    marked, _, _ = marked.partition("<!-- curl: end -->")
    return "set -eu\n" + "\n".join(re.findall(r"```sh\n(.*?)```", marked, re.DOTALL))


def test_a_runs_life_in_curl_runs_as_printed(server: str, transactional_db: None) -> None:
    project, _ = make_project("readme")
    _, secret = issue_access_token(project, "shell", ["runs:read", "runs:write", "runs:execute"])
    environment = {**os.environ, "WORKFLOWQ_URL": server, "WORKFLOWQ_TOKEN": secret}

    done = subprocess.run(
        ["bash", "-c", curl_commands()], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert '"queue_status":"done"' in done.stdout.replace(" ", "")
    assert "run.queue_done" in done.stdout


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(((?!http)[^)#]+)", README))))
def test_every_link_of_the_readme_leads_to_a_file(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))))
def test_every_make_target_of_the_readme_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_code_of_the_readme_is_one_that_is_given() -> None:
    table = README.partition("| code | status |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`([a-z_]+)`", " ".join(row.split("|")[1] for row in table.splitlines() if "|" in row)))
    given = "".join(path.read_text() for folder in ("runs", "api") for path in (ROOT / folder).rglob("*.py"))

    assert named
    assert {code for code in named if f'"{code}"' not in given} == set()


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) < 250
    assert errors.Action.STOP in README
