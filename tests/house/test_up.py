"""`manage.py up` as a person sees it: a real process with a server, a runner and the demo, on a folder of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

# Its database is SQLite whatever the other tests run on.
pytestmark = pytest.mark.sqlite

ROOT = Path(__file__).resolve().parent.parent.parent
READY = "The demo runs are submitted. Ctrl-C stops everything."
# What pytest and its plugins have put into the environment is not a person's.
OURS = {"DATABASE_URL", "DJANGO_SETTINGS_MODULE", "WORKFLOWQ_SECRET_KEY", "WORKFLOWQ_TEST_DB"}

Start = Callable[..., "Up"]


class Up:
    """One `up` in the foreground."""

    def __init__(self, var: Path, port: int, **more: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env={**inherited, "WORKFLOWQ_VAR": str(var), "PORT": str(port), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""

    def until(self, line: str) -> str:
        """What it has said up to that line, or all it said where it ended before."""
        assert self.process.stdout
        for said in self.process.stdout:
            self.said += said
            if said.strip() == line:
                break
        return self.said

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Its exit code after that signal."""
        self.process.send_signal(number)
        self.until("")
        return self.process.wait()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    started: list[Up] = []

    def up(**more: str) -> Up:
        started.append(Up(tmp_path / "var", port, **more))
        return started[-1]

    yield up
    for up_ in started:
        if up_.process.poll() is None:
            up_.stop(signal.SIGTERM)
        assert up_.process.stdout
        up_.process.stdout.close()


def test_up_serves_shows_its_secrets_once_and_stops_in_order(start: Start) -> None:
    first = start()
    said = first.until(READY)
    healthy = httpx.get(f"{first.address}/healthz", trust_env=False)
    code = first.stop()
    second = start()
    said_again = second.until(READY)

    password, token = re.search(r"^Password +(\S{20})", said, re.MULTILINE), re.search(r"\bwq_\S{43}", said)
    assert READY in said, said
    assert password
    assert token
    assert healthy.json() == {"status": "ok"}
    assert (code, first.said.splitlines()[-1]) == (0, "Stopped.")
    assert READY in said_again, said_again
    assert password[1] not in said_again
    assert "wq_" not in said_again
    assert re.search(r"^Token +as before, in .*/runner_token$", said_again, re.MULTILINE)


def test_up_brings_a_completed_inventory_and_a_failed_brittle_run(start: Start) -> None:
    up = start()
    token = re.search(r"\bwq_\S{43}", up.until(READY))
    assert token

    status: dict[str, str] = {}
    with httpx.Client(base_url=up.address, headers={"Authorization": f"Bearer {token[0]}"}, trust_env=False) as api:
        deadline = time.monotonic() + 60
        while not {"completed", "failed"} <= set(status.values()) and time.monotonic() < deadline:
            time.sleep(0.1)
            status = {run["workflow_name"]: run["status"] for run in api.get("/api/v1/runs").json()["results"]}

    assert status == {"inventory": "completed", "brittle": "failed"}


def test_up_keeps_what_it_makes_from_others(start: Start, tmp_path: Path) -> None:
    start().until(READY)

    modes = {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "var").iterdir()}

    assert modes["runner_token"] == modes["secret_key"] == modes["workflowq.sqlite3"] == 0o600


def test_up_on_a_busy_port_says_so_and_makes_no_account(start: Start, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        up = start()
        said = up.until("")

    assert f"Port {port} can't be had" in said
    assert "Password" not in said
    assert up.process.wait() == 1


def test_up_does_not_serve_hosts_beyond_loopback(start: Start) -> None:
    up = start(WORKFLOWQ_ALLOWED_HOSTS="queue.example")

    assert "`up` serves plain HTTP on 127.0.0.1" in up.until("")
    assert up.process.wait() == 1


def child(up: Up, what: str) -> int:
    """The process id of the child whose command names that."""
    command = ["ps", "-A", "-o", "pid=,ppid=,args="]
    processes = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(rf"^ *(\d+) +{up.process.pid} .*{what}", processes, re.MULTILINE)
    return int(found)


def test_up_starts_a_runner_again_that_died(start: Start) -> None:
    up = start()
    up.until(READY)
    died = child(up, "workflowq.runner")

    os.kill(died, signal.SIGKILL)

    said = up.until("The runner ended by itself, by signal 9. It is started again.")
    assert said.splitlines()[-1].endswith("It is started again.")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and up.process.poll() is None:
        with suppress(ValueError):
            if child(up, "workflowq.runner") != died:
                break
    assert up.stop() == 0


def test_up_ends_with_its_server(start: Start) -> None:
    up = start()
    up.until(READY)

    os.kill(child(up, "uvicorn"), signal.SIGKILL)

    assert "The server ended by itself, by signal 9." in up.until("")
    assert up.process.wait() == 1
