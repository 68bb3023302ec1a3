"""When leases are renewed, and how the runner learns that one is gone."""

import threading
import time
from dataclasses import replace

import httpx
import pytest

from tests.runner.builders import claimed, pass_the_lease, two_steps
from tests.runner.fake_clock import FakeClock
from tests.runner.fake_server import FakeServer
from workflowq.runner import Client, LeaseLost, RunCancelled, RunPaused
from workflowq.runner.heartbeat import Heartbeat
from workflowq.runner.lease import HeldLease


@pytest.fixture
def heartbeat(client: Client) -> Heartbeat:
    return Heartbeat(client, 30_000)


def held_runs(client: Client, fake: FakeServer, heartbeat: Heartbeat, count: int) -> list[HeldLease]:
    for number in range(count):
        fake.reserve(f"r{number}", two_steps.definition)
    held = [claimed(client, two_steps)[1] for _ in range(count)]
    for one in held:
        heartbeat.add(one)
    return held


def test_nothing_is_due_while_nothing_is_held(heartbeat: Heartbeat) -> None:
    assert heartbeat.due_in() is None


def test_all_leases_are_renewed_in_one_call_at_a_third(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    held = held_runs(client, fake, heartbeat, 3)
    assert heartbeat.due_in() == 10
    clock.now += 10

    heartbeat.beat()

    (call,) = fake.said("renewals")
    assert [one["run_id"] for one in call.body["leases"]] == ["r0", "r1", "r2"]
    assert heartbeat.due_in() == 10
    assert {one.ends for one in held} == {clock.now + 30}


@pytest.mark.parametrize(
    ("change", "kind"),
    [({"status": "cancelled"}, RunCancelled), ({"paused": True}, RunPaused), ({"token": "another"}, LeaseLost)],
)
def test_a_refused_renewal_loses_that_lease_with_its_reason(
    client: Client,
    fake: FakeServer,
    clock: FakeClock,
    heartbeat: Heartbeat,
    change: dict[str, object],
    kind: type[Exception],
) -> None:
    lost, kept = held_runs(client, fake, heartbeat, 2)
    fake.runs["r0"] = replace(fake.runs["r0"], **change)  # type: ignore[arg-type]
    clock.now += 10

    heartbeat.beat()

    with pytest.raises(kind):
        lost.check()
    kept.check()
    clock.now += 10
    heartbeat.beat()
    assert [one["run_id"] for one in fake.said("renewals")[-1].body["leases"]] == ["r1"]


def test_trouble_is_met_with_growing_waits_until_the_lease_has_run_out(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    (held,) = held_runs(client, fake, heartbeat, 1)
    fake.down = True
    beats = 0

    while (due := heartbeat.due_in()) is not None:
        clock.now += due
        heartbeat.beat()
        beats += 1

    assert clock.now == 1030
    assert 4 <= beats <= 60
    with pytest.raises(LeaseLost):
        held.check()


def test_a_lease_survives_trouble_that_is_shorter(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    (held,) = held_runs(client, fake, heartbeat, 1)
    fake.away("renewals", times=2)
    clock.now += 10

    for _ in range(3):
        heartbeat.beat()
        clock.now += heartbeat.due_in() or 0

    held.check()
    assert len(fake.said("renewals")) == 3


def test_a_busy_answer_for_one_lease_is_asked_again(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    (held,) = held_runs(client, fake, heartbeat, 1)
    busy = {"run_id": "r0", "ok": False, "problem": {"code": "busy", "action": "retry", "status": 503}}
    fake.answer("renewals", httpx.Response(200, json={"results": [busy]}))
    clock.now += 10

    heartbeat.beat()

    assert (heartbeat.due_in() or 99) < 10
    held.check()


def test_a_machine_that_slept_knows_its_leases_are_gone_and_makes_up_for_nothing(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    held = held_runs(client, fake, heartbeat, 2)
    clock.now += 90 * 60

    assert heartbeat.due_in() == 0
    heartbeat.beat()

    assert fake.said("renewals") == []
    assert all(one.lost for one in held)
    assert heartbeat.due_in() is None


def test_a_clock_that_stood_still_in_sleep_is_told_by_the_first_contact(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    (held,) = held_runs(client, fake, heartbeat, 1)
    pass_the_lease(clock, fake, "r0")
    clock.now -= 21

    heartbeat.beat()

    assert len(fake.said("renewals")) == 1
    assert held.lost is not None
    assert held.lost.facts["cause"] == "superseded"


def test_a_server_that_wants_renewals_at_once_does_not_get_a_storm(
    client: Client, fake: FakeServer, clock: FakeClock, heartbeat: Heartbeat
) -> None:
    fake.renew_fraction = 10**9
    held_runs(client, fake, heartbeat, 1)

    heartbeat.beat()

    assert heartbeat.due_in() == pytest.approx(3.0)


def test_a_busy_workflow_does_not_starve_the_heartbeat() -> None:
    fake = FakeServer()
    with fake.client() as client:
        fake.reserve("r", two_steps.definition)
        _, held = claimed(client, two_steps, lease_ms=1_000)
        heartbeat = Heartbeat(client, 1_000)
        heartbeat.add(held)
        heartbeat.start()
        busy = [threading.Thread(target=spin, args=(2.5,)) for _ in range(3)]

        for thread in busy:
            thread.start()
        for thread in busy:
            thread.join()

        heartbeat.stop()
        held.check()
    assert len(fake.said("renewals")) >= 4


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
