"""Child processes of a command in the foreground: started in order, watched, and stopped in the opposite order."""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Self

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Tools that signal a process and then its group reach us twice with what was meant once.
SAME_SIGNAL_SECONDS = 1.0


class Stopped(Exception):
    """Somebody asked this command to stop."""


class ChildEnded(Exception):
    """A child that should have stayed ended by itself."""

    def __init__(self, message: str, child: "Child | None" = None) -> None:
        super().__init__(message)
        self.child = child


@dataclass(frozen=True, slots=True)
class Child:
    """One process, what to call it, and how long it may take to stop."""

    name: str
    process: subprocess.Popen[bytes]
    command: Sequence[str]
    grace_seconds: float


class Children:
    """Started with `start`; whoever leaves the `with` block leaves no child behind. A second signal kills them."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._running: list[Child] = []
        # A queue that a signal handler may put into while the same thread is taking from it.
        self._news: queue.SimpleQueue[Child | None] = queue.SimpleQueue()
        self._asked_at: float | None = None

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._hear) for number in STOPPING}
        return self

    def __exit__(self, *failure: object) -> None:
        for child in reversed(self._running):
            _stop(child)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def start(self, name: str, command: Sequence[str], *, grace_seconds: float) -> Child:
        """Start one that should stay until it is stopped."""
        process = subprocess.Popen(  # noqa: S603 (our own commands)
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            # A group of its own: Ctrl-C in the terminal reaches this command alone, which then keeps the order.
            process_group=0,
        )
        child = Child(name, process, command, grace_seconds)
        self._running.append(child)
        threading.Thread(target=self._watch, args=(child,), daemon=True).start()
        return child

    def restart(self, ended: Child) -> Child:
        """Start again what has ended."""
        self._running.remove(ended)
        return self.start(ended.name, ended.command, grace_seconds=ended.grace_seconds)

    def run(self, name: str, command: Sequence[str], *, grace_seconds: float) -> int:
        """Start one that does something and ends; answer its exit code."""
        child = self.start(name, command, grace_seconds=grace_seconds)
        if (ended := self._next()) is not child:
            raise _ended(ended)
        self._running.remove(child)
        return child.process.returncode

    def wait(self, seconds: float | None = None) -> None:
        """Return after that many seconds; raise Stopped or ChildEnded if there is reason to before."""
        try:
            raise _ended(self._next(seconds))
        except queue.Empty:
            return

    def _next(self, seconds: float | None = None) -> Child:
        news = self._news.get(timeout=seconds)
        if news is None:
            raise Stopped
        return news

    def _watch(self, child: Child) -> None:
        child.process.wait()
        self._news.put(child)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        at = time.monotonic()
        if self._asked_at is None:
            self._asked_at = at
            self._news.put(None)
        elif at - self._asked_at > SAME_SIGNAL_SECONDS:
            for child in self._running:
                child.process.kill()
            os._exit(128 + number)


def _stop(child: Child) -> None:
    if child.process.poll() is not None:
        return
    child.process.terminate()
    try:
        child.process.wait(child.grace_seconds)
    except subprocess.TimeoutExpired:
        child.process.kill()
        child.process.wait()


def _ended(child: Child) -> ChildEnded:
    code = child.process.returncode
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return ChildEnded(f"The {child.name} ended by itself, {how}.", child)
