"""A command in the foreground and its child processes, as a real process with real signals."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

# Starts two that stay, says so, waits, and tells what ended the waiting.
PARENT = """
import os, sys
from pathlib import Path
from workflowq.children import ChildEnded, Children, Stopped

# One write a line: three processes share the output.
SAY = '''
import os
def say(line):
    os.write(1, (line + chr(10)).encode())
'''
exec(SAY)
STAYS = SAY + '''
import signal, sys
def stop(number, frame):
    say("stopped " + sys.argv[1])
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
say("started " + sys.argv[1])
signal.pause()
'''
DEAF = STAYS.replace("sys.exit(0)", "pass").replace("signal.pause()", "[signal.pause() for _ in range(9)]")
second = {
    "stays": STAYS,
    "deaf": DEAF,
    "ends": "raise SystemExit(3)",
    "killed": "import os; os.kill(os.getpid(), 9)",
}[sys.argv[1]]

with Children(Path.cwd(), os.environ) as children:
    try:
        children.start("server", [sys.executable, "-c", STAYS, "server"], grace_seconds=30)
        code = children.run("errand", [sys.executable, "-c", "raise SystemExit(7)"], grace_seconds=30)
        say(f"errand {code}")
        children.start("runner", [sys.executable, "-c", second, "runner"], grace_seconds=0.2 if second == DEAF else 30)
        children.wait()
    except Stopped:
        say("asked to stop")
    except ChildEnded as ended:
        say(str(ended))
say("over")
"""


class Foreground:
    """A running parent, read line by line."""

    def __init__(self, second: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", PARENT, second], stdout=subprocess.PIPE, text=True)

    def lines(self, *until: str) -> list[str]:
        """What it prints until it has printed all of these, in whatever order."""
        assert self.process.stdout
        said: list[str] = []
        while not set(until) <= set(said):
            line = self.process.stdout.readline()
            assert line, said
            said.append(line.strip())
        return said


@pytest.fixture
def foreground(request: pytest.FixtureRequest) -> Iterator[Foreground]:
    running = Foreground(request.param)
    yield running
    # In order, since a killed parent would leave its children behind.
    with running.process as process:
        if process.poll() is None:
            process.terminate()


@pytest.mark.parametrize("foreground", ["stays"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_children_last_started_first(foreground: Foreground, number: signal.Signals) -> None:
    foreground.lines("started server", "started runner")

    # Twice, as by tools that signal a process and then its group.
    foreground.process.send_signal(number)
    foreground.process.send_signal(number)

    assert foreground.lines("over") == ["asked to stop", "stopped runner", "stopped server", "over"]


@pytest.mark.parametrize("foreground", ["deaf"], indirect=True)
def test_a_child_that_does_not_listen_is_killed_after_its_grace(foreground: Foreground) -> None:
    foreground.lines("started server", "started runner")

    foreground.process.send_signal(signal.SIGTERM)

    said = foreground.lines("over")
    assert said[-2:] == ["stopped server", "over"]


@pytest.mark.parametrize(
    ("foreground", "told"),
    [
        ("ends", "The runner ended by itself, with exit code 3."),
        ("killed", "The runner ended by itself, by signal 9."),
    ],
    indirect=["foreground"],
)
def test_a_child_that_ends_by_itself_is_told_and_the_rest_is_stopped(foreground: Foreground, told: str) -> None:
    # Its output ends when nobody is left who could write to it.
    output, _ = foreground.process.communicate(timeout=60)

    assert told in output.splitlines()
    assert foreground.process.returncode == 0


@pytest.mark.parametrize("foreground", ["stays"], indirect=True)
def test_an_errand_is_waited_for_and_its_end_is_no_alarm(foreground: Foreground) -> None:
    said = foreground.lines("started server", "started runner")

    assert "errand 7" in said
