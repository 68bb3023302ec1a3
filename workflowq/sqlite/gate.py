"""The gate before SQLite's single writer: threads pass it first in, first out, and processes take turns.

SQLite itself lets waiting writers sleep and try again, so that a busy one can starve the others for seconds.
Knows files and threads, nothing of Django.
"""

import fcntl
import os
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

# Between two looks at another process's lock. Only the first thread of each process looks.
LOOK_SECONDS = 0.0005


class GateTimeout(Exception):
    """The gate stayed shut for as long as the caller would wait."""


class Pass:
    """The right to write, until `leave`; a dropped one is left, so that a dead thread can't keep the gate shut."""

    def __init__(self, gate: "Gate") -> None:
        self._gate: Gate | None = gate
        self._process = os.getpid()

    def __enter__(self) -> "Pass":
        return self

    def __exit__(self, *failure: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Open the gate for the next one; the second time it does nothing."""
        gate, self._gate = self._gate, None
        # After a fork both processes hold the pass; it is the parent's.
        if gate is not None and self._process == os.getpid():
            gate.open()

    __del__ = leave


class Gate:
    """One database's gate; `path` is the database file, None where it is in this process's memory."""

    def __init__(self, path: Path | None) -> None:
        self._guard = threading.Lock()
        self._inside = False
        self._queue: deque[threading.Event] = deque()
        self._turnstile = _Turnstile(path) if path else None

    def enter(self, timeout: float) -> Pass:
        """Wait for the right to write; raise GateTimeout after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        self._enter_among_threads(deadline)
        try:
            if self._turnstile:
                self._turnstile.take(deadline)
        except BaseException:
            self._call_next()
            raise
        return Pass(self)

    def open(self) -> None:
        """Let the next one in. For Pass alone."""
        try:
            if self._turnstile:
                self._turnstile.give_back()
        finally:
            self._call_next()

    def close(self) -> None:
        """Let the gate's files go without opening it."""
        if self._turnstile:
            self._turnstile.close()

    def _enter_among_threads(self, deadline: float) -> None:
        with self._guard:
            if not self._inside:
                self._inside = True
                return
            called = threading.Event()
            self._queue.append(called)
        try:
            if called.wait(max(0.0, deadline - time.monotonic())):
                return
            raise GateTimeout
        except BaseException:
            self._step_out(called)
            raise

    def _step_out(self, called: threading.Event) -> None:
        with self._guard, suppress(ValueError):
            self._queue.remove(called)
            return
        # Called between giving up and stepping out: pass the call on.
        self._call_next()

    def _call_next(self) -> None:
        # The gate stays "inside" while it is handed on, so that nobody slips in before the one who was called.
        with self._guard:
            if self._queue:
                self._queue.popleft().set()
            else:
                self._inside = False


class _Turnstile:
    """A lock between processes, made of two file locks, that its last holder can't take again past the waiting.

    To enter, hold `.turn`, then take `.gate`, then leave `.turn`. Whoever leaves the gate and wants back in finds
    `.turn` held by the next in line.
    """

    def __init__(self, path: Path) -> None:
        self._files: list[int] = []
        self._turn = self._opened(path.with_name(path.name + ".turn"))
        self._gate = self._opened(path.with_name(path.name + ".gate"))

    def _opened(self, path: Path) -> int:
        # Who may write the database may pass its gate, and nobody else need see it.
        self._files.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660))
        return self._files[-1]

    def take(self, deadline: float) -> None:
        _lock(self._turn, deadline)
        try:
            _lock(self._gate, deadline)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def give_back(self) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let the files go without opening the gate: a forked child's copies of them."""
        while self._files:
            os.close(self._files.pop())

    __del__ = close


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() >= deadline:
            raise GateTimeout
        time.sleep(LOOK_SECONDS)


_gates: dict[str, Gate] = {}
_gates_guard = threading.Lock()


def gate_of(name: str, *, in_memory: bool = False) -> Gate:
    """This process's one gate for the database file `name`, or for the shared in-memory database of that name."""
    if found := _gates.get(name):
        return found
    path = None if in_memory else Path(name).resolve()
    with _gates_guard:
        key = str(path or name)
        gate = _gates.get(key) or Gate(path)
        _gates[key] = gate
        # The name as given finds it the next time without a look at the disk.
        return _gates.setdefault(name, gate)


def _start_anew() -> None:
    # A forked child shares the parent's file locks and has none of its threads: it needs files and queues of its own.
    global _gates_guard
    _gates_guard = threading.Lock()
    for gate in set(_gates.values()):
        gate.close()
    _gates.clear()


os.register_at_fork(after_in_child=_start_anew)
