"""Runner processes against the real server and its database: killed, stopped, superseded."""

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runs.transitions import issue_access_token, make_project
from workflowq.demo.submit import main as submit
from workflowq.runner import Client, Definition, LeaseLost, Run

_SCOPES = ("runs:read", "runs:write", "runs:execute")
_MODULE = """
import os, pathlib, time
from workflowq.runner import workflow

@workflow("evidence")
def evidence(ctx, input):
    return [ctx.step(f"step:{number}", leave, input, number) for number in range(5)]

def leave(input, number):
    with open(input["evidence"], "a") as file:
        file.write(f"{os.environ['RUNNER']} {number}\\n")
    while number == 3 and not pathlib.Path(input["gate"]).exists():
        time.sleep(0.02)
    return number * number
"""

Start = Callable[..., subprocess.Popen[bytes]]


class Scene:
    """One run of the workflow above, what its steps left behind, and the gate in its fourth step."""

    def __init__(self, client: Client, folder: Path, definition: Definition) -> None:
        self.client = client
        self.gate = folder / "gate"
        self._evidence = folder / "evidence"
        self._evidence.touch()
        input = {"evidence": str(self._evidence), "gate": str(self.gate)}
        members = {"origin_session_id": "tests", "execution_mode": "headless"}
        self.run_id = client.reserve("run-1", definition, input, **members).run_id

    def evidence(self) -> list[str]:
        return self._evidence.read_text().splitlines()

    def reach_the_gate(self, runner: str) -> None:
        until(lambda: f"{runner} 3" in self.evidence())

    def end(self) -> Run:
        until(lambda: not self.client.get(self.run_id).unfinished)
        return self.client.get(self.run_id)


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.05)


@pytest.fixture
def token(transactional_db: None) -> str:
    project, _ = make_project("kit")
    _, secret = issue_access_token(project, "runner", _SCOPES)
    return secret


@pytest.fixture
def client(server: str, token: str) -> Iterator[Client]:
    with Client(server, token) as client:
        yield client


@pytest.fixture
def scene(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    (tmp_path / "evidence_for_tests.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import evidence_for_tests  # type: ignore[import-not-found]

    yield Scene(client, tmp_path, evidence_for_tests.evidence.definition)
    del sys.modules["evidence_for_tests"]


@pytest.fixture
def start(server: str, token: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a runner process by its name."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(name: str, *options: str, module: str = "evidence_for_tests") -> subprocess.Popen[bytes]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WORKFLOWQ_")},
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
            "WORKFLOWQ_URL": server,
            "WORKFLOWQ_TOKEN": token,
            "RUNNER": name,
        }
        command = [sys.executable, "-m", "workflowq.runner", module, "--name", name, *options]
        begun.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.wait()


def test_a_killed_runners_run_is_taken_over_after_the_lease_and_finished_steps_are_not_done_again(
    scene: Scene, start: Start
) -> None:
    killed = start("first", "--lease-seconds", "2")
    scene.reach_the_gate("first")

    killed.send_signal(signal.SIGKILL)
    start("second", "--lease-seconds", "2")
    scene.reach_the_gate("second")
    scene.gate.touch()

    run = scene.end()
    assert (run.status, run.output) == ("completed", [0, 1, 4, 9, 16])
    assert scene.evidence() == ["first 0", "first 1", "first 2", "first 3", "second 3", "second 4"]


def test_a_stopped_process_that_wakes_after_its_lease_writes_nothing_more(scene: Scene, start: Start) -> None:
    sleeping = start("first", "--lease-seconds", "2")
    scene.reach_the_gate("first")
    sleeping.send_signal(signal.SIGSTOP)
    start("second", "--lease-seconds", "2")
    scene.reach_the_gate("second")

    sleeping.send_signal(signal.SIGCONT)
    scene.gate.touch()

    run = scene.end()
    assert (run.status, run.output) == ("completed", [0, 1, 4, 9, 16])
    assert [line for line in scene.evidence() if line.startswith("first")] == [f"first {number}" for number in range(4)]


def test_all_that_a_superseded_runner_sends_is_refused_as_a_lost_lease(
    scene: Scene, start: Start, client: Client
) -> None:
    run_id, late = scene.run_id, secrets.token_urlsafe(32)
    client.claim(run_id, "host-silent-1", late, lease_ms=1_000)
    client.mark_running(run_id, late)
    client.start_attempt(run_id, late, node_id="step:0", attempt_id="late-attempt")
    start("second")
    scene.reach_the_gate("second")
    before = client.get(run_id)

    (renewal,) = client.renew_all([(run_id, late)])
    for send in (
        lambda: client.record_event(run_id, "late", token=late),
        lambda: client.start_attempt(run_id, late, node_id="step:9", attempt_id="later-attempt"),
        lambda: client.complete_attempt(run_id, late, "late-attempt", "late"),
        lambda: client.park(run_id, late),
        lambda: client.fail(run_id, late, error_code="workflowFailed", error_message="late"),
        lambda: client.complete(run_id, late, "late"),
    ):
        with pytest.raises(LeaseLost) as refused:
            send()
        assert refused.value.facts["cause"] == "superseded"

    assert isinstance(renewal.problem, LeaseLost)
    assert client.get(run_id) == before
    scene.gate.touch()
    assert scene.end().output == [0, 1, 4, 9, 16]


def test_a_run_handed_back_on_sigterm_goes_on_at_once_without_waiting_for_the_lease(scene: Scene, start: Start) -> None:
    leaving = start("first", "--lease-seconds", "600", "--grace-seconds", "0.2")
    scene.reach_the_gate("first")

    leaving.send_signal(signal.SIGTERM)
    assert leaving.wait(20) == 0
    start("second")
    scene.reach_the_gate("second")
    scene.gate.touch()

    assert scene.end().status == "completed"
    assert scene.evidence()[4:] == ["second 3", "second 4"]


def test_the_demo_takes_a_true_inventory_and_fails_where_it_means_to(
    server: str,
    token: str,
    client: Client,
    start: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(30):
        (folder / f"file-{number}").write_bytes(b"%d" % (number % 7) * 1_000)
    monkeypatch.setenv("WORKFLOWQ_URL", server)
    monkeypatch.setenv("WORKFLOWQ_TOKEN", token)

    assert submit(["--folder", str(folder)]) == 0
    start("demo", module="workflowq.demo")

    inventory_id, brittle_id = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    until(lambda: not client.get(inventory_id).unfinished and not client.get(brittle_id).unfinished)
    inventory, brittle = client.get(inventory_id), client.get(brittle_id)
    contents = [path.read_bytes() for path in folder.iterdir()]
    assert inventory.status == "completed"
    assert (inventory.output["files"], inventory.output["bytes"]) == (30, sum(map(len, contents)))
    assert {group["sha256"] for group in inventory.output["duplicates"]} == {
        hashlib.sha256(content).hexdigest() for content in contents
    }
    assert (brittle.status, brittle.error_code) == ("failed", "workflowFailed")
    assert (brittle.error_message or "").startswith("PartMissing: the left bracket can't be fitted: spare bolt missing")
