"""Claims over the wire: fresh ones, repeated ones, and whose an owner id is."""

import pytest

from runs.models import Lease
from tests.api.cast import LEASE_MS, Caller, fresh_token
from tests.builders import FrozenClock


def claim_next(caller: Caller, *tokens: str, **changes: object) -> list[tuple[int, str, int]]:
    """Slot, run and generation of each claim."""
    body = {"owner_id": caller.owner_id, "workflows": ["inventory"], "tokens": [*tokens], **changes}
    reply = caller.post("claims", body)
    assert reply.status == 200, reply.content
    return [(claim["slot"], claim["run"]["run_id"], claim["lease"]["generation"]) for claim in reply.body["claims"]]


def test_a_slot_is_the_place_of_the_token_that_holds_the_run(client: Caller, runner: Caller) -> None:
    first, second = client.reserve(), client.reserve()
    tokens = [fresh_token() for _ in range(3)]

    assert claim_next(runner, *tokens) == [(0, first, 1), (1, second, 1)]
    for token, run_id in zip(tokens, [first, second], strict=False):
        assert runner.post(f"runs/{run_id}/running", {"token": token}).status == 200


def test_nothing_to_claim_is_an_empty_list_that_says_when_to_ask_again(client: Caller, runner: Caller) -> None:
    client.reserve(workflow_name="other")

    reply = runner.post("claims", {"owner_id": "host-a", "workflows": ["inventory"], "tokens": [fresh_token()]})

    assert (reply.status, reply.body) == (200, {"claims": [], "poll_in_ms": 1000})


def test_the_same_tokens_bring_the_same_live_claims_again(client: Caller, runner: Caller, frozen: FrozenClock) -> None:
    first, second = client.reserve(), client.reserve()
    tokens = [fresh_token(), fresh_token()]
    body = {"owner_id": "host-a", "workflows": ["inventory"], "tokens": tokens}
    taken = runner.post("claims", body).body["claims"]
    third = client.reserve()
    frozen.advance(12_000)

    again = runner.post("claims", body).body["claims"]

    assert [claim["run"]["run_id"] for claim in taken] == [first, second]
    assert [claim["run"] for claim in again] == [claim["run"] for claim in taken]
    assert [claim["lease"]["generation"] for claim in again] == [1, 1]
    lease = again[0]["lease"]
    assert (lease["lease_ms"], lease["lease_remaining_ms"], lease["renew_in_ms"]) == (LEASE_MS, 18_000, 0)
    assert Lease.objects.get(run__run_id=third).owner_id is None


def test_tokens_that_hold_nothing_yet_are_filled_beside_those_that_do(client: Caller, runner: Caller) -> None:
    first = client.reserve()
    held, fresh = fresh_token(), fresh_token()
    claim_next(runner, held)
    second = client.reserve()

    assert claim_next(runner, fresh, held) == [(0, second, 1), (1, first, 1)]


def test_a_token_whose_lease_ran_out_claims_anew(client: Caller, runner: Caller, frozen: FrozenClock) -> None:
    run_id = client.reserve()
    token = fresh_token()
    claim_next(runner, token)
    frozen.advance(LEASE_MS)

    assert claim_next(runner, token) == [(0, run_id, 2)]


def test_a_live_run_is_not_handed_out_again_to_its_own_owner(client: Caller, runner: Caller) -> None:
    """As after a hot reload: a second process under the same name."""
    run_id = client.reserve()
    token = runner.run(run_id)

    refused = runner.post(f"runs/{run_id}/claim", {"owner_id": "host-a", "token": fresh_token()})

    assert claim_next(runner, fresh_token()) == []
    assert refused.problem == (409, "lease_held")
    assert refused.body["action"] == "retry"
    assert 0 < refused.body["retry_in_ms"] <= LEASE_MS
    assert int(refused.headers["Retry-After"]) <= 30
    done = runner.post(f"runs/{run_id}/complete", {"token": token})
    assert (done.status, done.body["lease"]["generation"]) == (200, 1)


def test_its_owner_may_take_a_live_run_again_on_purpose(client: Caller, runner: Caller) -> None:
    run_id = client.reserve()
    old, new, newest = runner.run(run_id), fresh_token(), fresh_token()

    assert claim_next(runner, new, reclaim=True) == [(0, run_id, 2)]
    again = runner.post(f"runs/{run_id}/claim", {"owner_id": "host-a", "token": newest, "reclaim": True})

    assert again.body["lease"]["generation"] == 3
    for token in (old, new):
        assert runner.post(f"runs/{run_id}/renew", {"token": token}).problem == (409, "lease_lost")


def test_nobody_else_may_take_a_live_run_on_purpose(client: Caller, runner: Caller, other_runner: Caller) -> None:
    run_id = client.reserve()
    runner.run(run_id)
    body = {"owner_id": "host-b", "token": fresh_token(), "reclaim": True}

    assert other_runner.post(f"runs/{run_id}/claim", body).problem == (409, "lease_held")
    assert claim_next(other_runner, fresh_token(), reclaim=True) == []


def test_a_claim_by_id_is_repeated_with_its_token(client: Caller, runner: Caller, frozen: FrozenClock) -> None:
    run_id = client.reserve()
    body = {"owner_id": "host-a", "token": fresh_token()}
    first = runner.post(f"runs/{run_id}/claim", body)
    frozen.advance(6_000)

    second = runner.post(f"runs/{run_id}/claim", body)

    assert first.body["run"] == second.body["run"]
    assert second.body["lease"]["generation"] == 1
    assert second.body["lease"]["lease_remaining_ms"] == 24_000
    assert second.body["lease"]["renew_in_ms"] == 4_000
    assert second.body["run"]["definition_snapshot"] == {"name": "inventory"}


def test_an_owner_id_belongs_to_the_token_that_used_it_first(
    client: Caller, runner: Caller, other_runner: Caller
) -> None:
    run_id = client.reserve()
    token = runner.claim(run_id)

    by_id = other_runner.post(f"runs/{run_id}/claim", {"owner_id": "host-a", "token": token})
    nextly = other_runner.post("claims", {"owner_id": "host-a", "workflows": ["inventory"], "tokens": [token]})

    assert by_id.problem == nextly.problem == (409, "owner_taken")


@pytest.mark.parametrize("owner_id", ["system", "workflow-control"])
def test_the_servers_own_names_are_nobodys(client: Caller, runner: Caller, owner_id: str) -> None:
    body = {"owner_id": owner_id, "token": fresh_token()}

    assert runner.post(f"runs/{client.reserve()}/claim", body).problem == (400, "invalid_request")


@pytest.mark.parametrize("owner_id", ["host-é", "host-😀", "x" * 200, "a b"])
def test_an_owner_may_have_any_name_of_200_characters(client: Caller, runner: Caller, owner_id: str) -> None:
    body = {"owner_id": owner_id, "token": fresh_token()}

    assert runner.post(f"runs/{client.reserve()}/claim", body).body["lease"]["owner_id"] == owner_id


def test_excluded_runs_are_left_to_others(client: Caller, runner: Caller) -> None:
    first, second = client.reserve(), client.reserve()

    assert claim_next(runner, fresh_token(), exclude_run_ids=[first]) == [(0, second, 1)]


@pytest.mark.parametrize(
    "changes",
    [{"tokens": []}, {"tokens": ["x" * 43] * 2}, {"tokens": ["x" * 32 + str(n) for n in range(101)]},
     {"workflows": []}, {"workflows": ["w"] * 101}, {"exclude_run_ids": ["r"] * 101}, {"lease_ms": 999},
     {"lease_ms": 3_600_001}, {"reclaim": 1}, {"owner_id": ""}, {"wait_ms": 1}],
)  # fmt: skip
def test_a_claim_out_of_bounds_is_refused(runner: Caller, changes: dict[str, object]) -> None:
    body = {"owner_id": "host-a", "workflows": ["inventory"], "tokens": [fresh_token()], **changes}

    reply = runner.post("claims", body)

    assert reply.problem == (400, "invalid_request")
    assert [name.split(".")[0] for name in reply.body["errors"]] == list(changes)


@pytest.mark.parametrize("lease_ms", [1_000, 3_600_000])
def test_a_lease_lasts_as_long_as_was_asked(client: Caller, runner: Caller, lease_ms: int) -> None:
    body = {"owner_id": "host-a", "token": fresh_token(), "lease_ms": lease_ms}

    lease = runner.post(f"runs/{client.reserve()}/claim", body).body["lease"]

    assert (lease["lease_ms"], lease["renew_in_ms"]) == (lease_ms, lease_ms // 3)


def test_claims_and_renewals_ask_for_no_idempotency_key(client: Caller, runner: Caller) -> None:
    first, second = client.reserve(), client.reserve()
    token = fresh_token()

    for run_id in (first, second):
        body = {"owner_id": "host-a", "token": token}
        reply = runner.post(f"runs/{run_id}/claim", body, key="the same")
        assert (reply.status, reply.body["run"]["run_id"]) == (200, run_id)
        assert runner.post(f"runs/{run_id}/renew", {"token": token}, key="the same").status == 200
