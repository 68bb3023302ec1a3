"""A run's whole life over the wire, in the order of the README."""

from tests.api.cast import Caller, fresh_token, reservation


def test_a_run_goes_from_reserved_to_completed_through_a_runner(client: Caller, runner: Caller) -> None:
    body = reservation(input={"folder": "/srv"}, execution_mode="headless")
    run_id = body["run_id"]
    reserved = client.post("runs", body)
    assert (reserved.status, reserved.body["status"], reserved.body["revision"]) == (201, "queued", 1)

    token = fresh_token()
    claims = runner.post("claims", {"owner_id": "host-a", "workflows": ["inventory"], "tokens": [token]})
    (claim,) = claims.body["claims"]
    assert (claim["slot"], claim["run"]["run_id"], claim["run"]["input"]) == (0, run_id, {"folder": "/srv"})
    assert claim["run"]["definition_snapshot"] == {"name": "inventory"}
    assert (claim["lease"]["lease_ms"], claim["lease"]["renew_in_ms"]) == (30_000, 10_000)

    assert runner.post(f"runs/{run_id}/running", {"token": token}).body["queue_status"] == "running"
    assert runner.post(f"runs/{run_id}/renew", {"token": token}).status == 200
    start = {"token": token, "node_id": "walk", "attempt_id": "walk-1"}
    assert runner.post(f"runs/{run_id}/attempts", start).status == 201
    step = f"runs/{run_id}/attempts/walk-1"
    assert runner.post(f"{step}/progress", {"token": token, "progress": {"files": 3}}).body["progress"] == {"files": 3}
    assert runner.post(f"{step}/complete", {"token": token, "output": [1, 2]}).body["status"] == "completed"
    noted = runner.post(f"runs/{run_id}/events", {"token": token, "type": "counted", "payload": {"files": 3}})
    assert (noted.status, noted.body["actor_id"], noted.body["generation"]) == (201, "host-a", 1)
    done = runner.post(f"runs/{run_id}/complete", {"token": token, "output": {"files": 3}})
    assert (done.status, done.body["status"]) == (200, "completed")

    seen = client.get(f"runs/{run_id}").body
    assert (seen["output"], seen["lease"]["generation"], seen["lease"]["owner_id"]) == ({"files": 3}, 1, None)
    events = client.get(f"runs/{run_id}/events").body["results"]
    assert [event["type"] for event in events] == [
        "run.queued", "lease.claimed", "run.queue_running", "attempt.started", "attempt.completed", "counted",
        "run.queue_done",
    ]  # fmt: skip
    assert [event["revision"] for event in events] == list(range(1, 8))
