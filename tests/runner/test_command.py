"""The command as a process: settings, signals, exit codes, and what its log never holds."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runner.fake_server import TOKEN, FakeServer
from tests.runner.loopback import on_loopback
from workflowq.runner import owner_id
from workflowq.runner.__main__ import main
from workflowq.runner.definition import Definition
from workflowq.runner.settings import Server

_MODULE = """
import os, time
from workflowq.runner import workflow

@workflow("slow")
def slow(ctx, input):
    for number in range(input["steps"]):
        ctx.step(f"step:{number}", time.sleep, input["seconds"])
    return "done"

@workflow("leaky")
def leaky(ctx, input):
    raise ValueError("my token is " + os.environ["WORKFLOWQ_TOKEN"] + "\\x1b[31m")
"""


class Process:
    """A runner process over its own modules and token."""

    def __init__(self, folder: Path, url: str, *options: str) -> None:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WORKFLOWQ_")},
            "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[2])]),
            "WORKFLOWQ_URL": url,
            "WORKFLOWQ_TOKEN": TOKEN,
        }
        command = [sys.executable, "-m", "workflowq.runner", "slow_for_tests", "--name", "our host", *options]
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def end(self) -> tuple[int, str]:
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow_for_tests.py").write_text(_MODULE)
    return tmp_path


@pytest.fixture
def real() -> FakeServer:
    return FakeServer()


@pytest.fixture
def url(real: FakeServer) -> Iterator[str]:
    with on_loopback(real) as url:
        yield url


@pytest.fixture
def start(folder: Path, url: str) -> Iterator[Callable[..., Process]]:
    begun: list[Process] = []

    def start(*options: str) -> Process:
        begun.append(Process(folder, url, *options))
        return begun[-1]

    yield start
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture
def definitions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Definition]]:
    monkeypatch.syspath_prepend(str(folder))
    import slow_for_tests  # type: ignore[import-not-found]

    yield {"slow": slow_for_tests.slow.definition, "leaky": slow_for_tests.leaky.definition}
    del sys.modules["slow_for_tests"]


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.01)


def test_sigterm_hands_back_at_the_next_boundary_and_ends_well(
    real: FakeServer, start: Callable[..., Process], definitions: dict[str, Definition]
) -> None:
    run = real.reserve("r", definitions["slow"], {"steps": 500, "seconds": 0.05})
    process = start()
    until(lambda: "step:1" in run.attempts)

    process.process.send_signal(signal.SIGTERM)
    code, log = process.end()

    assert code == 0
    assert (run.parked, run.status) == (1, "running")
    assert all(attempt["status"] == "completed" for attempt in run.attempts.values())
    assert "run r slow parked in " in log


def test_what_outlasts_the_grace_is_parked_and_the_process_ends_over_it(
    real: FakeServer, start: Callable[..., Process], definitions: dict[str, Definition]
) -> None:
    run = real.reserve("r", definitions["slow"], {"steps": 1, "seconds": 60})
    process = start("--grace-seconds", "0.3")
    until(lambda: "step:0" in run.attempts)

    process.process.send_signal(signal.SIGINT)
    code, log = process.end()

    assert code == 0
    assert run.parked == 1
    assert "run r slow parked: the grace ended" in log


def test_a_second_signal_ends_the_process_at_once(
    real: FakeServer, start: Callable[..., Process], definitions: dict[str, Definition]
) -> None:
    run = real.reserve("r", definitions["slow"], {"steps": 1, "seconds": 60})
    process = start("--grace-seconds", "50")
    until(lambda: "step:0" in run.attempts)

    process.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    process.process.send_signal(signal.SIGTERM)
    code, _ = process.end()

    assert code == 128 + signal.SIGTERM
    assert run.parked == 0


def test_a_log_has_one_line_for_each_run_and_no_secret(
    real: FakeServer, start: Callable[..., Process], definitions: dict[str, Definition]
) -> None:
    leaky = real.reserve("leaky-1", definitions["leaky"])
    slow = real.reserve("slow-1", definitions["slow"], {"steps": 2, "seconds": 0})
    process = start()
    until(lambda: leaky.status == "failed" and slow.status == "completed")

    process.process.send_signal(signal.SIGTERM)
    code, log = process.end()

    tokens = {token for call in real.said("claims") for token in call.body["tokens"]}
    assert code == 0
    assert not any(secret in log for secret in {TOKEN, *tokens})
    assert TOKEN not in (leaky.error_message or "")
    assert "\x1b" not in log + (leaky.error_message or "")
    assert len(re.findall(r"run leaky-1 .*\n", log)) == len(re.findall(r"run slow-1 .*\n", log)) == 1
    assert re.search(r"^\S+Z INFO host-our-host-[0-9a-f]{8} serves leaky, slow from http://127", log)
    assert re.search(
        r"^\S+Z WARNING run leaky-1 leaky failed .*: ValueError: my token is \[secret\]", log, re.MULTILINE
    )


def test_a_runner_whose_token_is_refused_says_so_and_ends_with_3(folder: Path, url: str) -> None:
    (folder / "token").write_text("wq_another\n")
    process = Process(folder, url, "--token-file", str(folder / "token"))

    code, log = process.end()

    assert code == 3
    assert "the server refuses this runner: unauthenticated" in log


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "MODULE"),
        (["workflowq.demo"], "no access token"),
        (["workflowq.demo", "--token-file", "/no/such/file"], "can't be read"),
        (["workflowq.demo", "--concurrency", "0"], "from 1 to 100"),
        (["workflowq.demo", "--concurrency", "many"], "not a number"),
        (["workflowq.demo", "--lease-seconds", "nan"], "from 1 to 3600"),
        (["no.such.module"], "no module"),
        (["json"], "no workflow"),
        (["workflowq.demo", "--url", "nowhere"], "http://host:port"),
    ],
)
def test_wrong_settings_are_told_with_exit_code_2(
    arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("WORKFLOWQ_URL", "WORKFLOWQ_TOKEN", "WORKFLOWQ_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    if complaint not in ("no access token", "can't be read"):
        monkeypatch.setenv("WORKFLOWQ_TOKEN", TOKEN)

    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_the_help_tells_settings_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert "WORKFLOWQ_TOKEN_FILE" in told
    assert "exit codes:" in told


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Büro 7/é", "host-B-ro-7-"),
        ("...", "host-runner-"),
        ("n" * 500, "host-" + "n" * 150 + "-"),
        ("ok.1_x", "host-ok.1_x-"),
    ],
)
def test_a_name_is_made_fit_for_an_owner_id(name: str, expected: str) -> None:
    owner = owner_id(name)

    assert re.fullmatch(re.escape(expected) + "[0-9a-f]{8}", owner)
    assert owner != owner_id(name)


def test_a_secret_is_not_in_the_repr_of_what_holds_it() -> None:
    assert TOKEN not in repr(Server("http://queue", TOKEN))
