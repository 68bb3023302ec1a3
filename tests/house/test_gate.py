"""The gate before SQLite's writer, seen from threads: order, limits, and everybody who lets go of it early."""

import gc
import threading
import time
from pathlib import Path

import pytest

from workflowq.sqlite.gate import Gate, GateTimeout, gate_of

PATIENT = 30.0


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return gate_of(str(tmp_path / "queue.sqlite3"))


def waiting(gate: Gate, many: int) -> None:
    """Wait until that many threads stand in the gate's queue."""
    deadline = time.monotonic() + PATIENT
    while len(gate._queue) < many:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_threads_pass_in_the_order_in_which_they_came(gate: Gate) -> None:
    passed: list[int] = []

    def write(number: int) -> None:
        with gate.enter(PATIENT):
            passed.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    with gate.enter(PATIENT):
        for number, thread in enumerate(threads, start=1):
            thread.start()
            waiting(gate, number)
    for thread in threads:
        thread.join()

    assert passed == list(range(8))


def test_one_who_comes_back_queues_behind_those_who_wait(gate: Gate) -> None:
    passed: list[str] = []

    def write() -> None:
        with gate.enter(PATIENT):
            passed.append("the one who waited")

    first = gate.enter(PATIENT)
    thread = threading.Thread(target=write)
    thread.start()
    waiting(gate, 1)
    first.leave()
    with gate.enter(PATIENT):
        passed.append("the one who came back")
    thread.join()

    assert passed == ["the one who waited", "the one who came back"]


def test_a_waiter_gives_up_at_its_limit(gate: Gate) -> None:
    with gate.enter(PATIENT), pytest.raises(GateTimeout):
        gate.enter(0.01)


def test_a_waiter_that_gave_up_is_not_waited_for(gate: Gate) -> None:
    with gate.enter(PATIENT), pytest.raises(GateTimeout):
        gate.enter(0.01)

    with gate.enter(0.01):
        pass


def test_a_pass_that_is_dropped_opens_the_gate(gate: Gate) -> None:
    dropped = gate.enter(PATIENT)

    del dropped
    gc.collect()

    with gate.enter(0.01):
        pass


def test_leaving_twice_lets_nobody_in_beside_the_next_one(gate: Gate) -> None:
    first = gate.enter(PATIENT)
    first.leave()

    with gate.enter(PATIENT):
        first.leave()

        with pytest.raises(GateTimeout):
            gate.enter(0.01)


def test_a_file_has_one_gate_however_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite3").symlink_to(tmp_path / "queue.sqlite3")

    names = ["queue.sqlite3", "link.sqlite3", "../" + tmp_path.name + "/queue.sqlite3"]

    assert len({gate_of(str(tmp_path / name)) for name in names}) == 1


def test_another_process_is_kept_out(tmp_path: Path) -> None:
    # A gate of its own, with files of its own, is what another process has.
    ours, theirs = Gate(tmp_path / "queue.sqlite3"), Gate(tmp_path / "queue.sqlite3")

    with ours.enter(PATIENT), pytest.raises(GateTimeout):
        theirs.enter(0.01)

    with theirs.enter(0.01):
        pass


def test_a_database_in_memory_has_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with gate_of("file:shared?mode=memory", in_memory=True).enter(PATIENT):
        pass

    assert list(tmp_path.iterdir()) == []
