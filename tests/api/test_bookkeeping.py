"""The queue's own bookkeeping over the wire: effects by type, lost effects, authority; and lists of doubts."""

from runs.models import Effect
from tests.api.cast import Caller
from tests.api.effect_verbs import in_doubt, reserve, running, start
from tests.api.verbs import Cast
from tests.builders import FrozenClock


def test_pending_effects_of_a_type_are_settled_by_an_operator(cast: Cast) -> None:
    run_id, token = running(cast)
    reserve(cast.runner, run_id, token)

    settled = cast.operator.post(f"runs/{run_id}/settle-effects", {"effect_type": "mail.send"})
    again = cast.operator.post(f"runs/{run_id}/settle-effects", {"effect_type": "mail.send"})

    assert (settled.status, settled.body) == (200, {"run_id": run_id, "settled": 1})
    assert again.body["settled"] == 0
    assert Effect.objects.get().status == "applied"


def test_a_runner_settles_no_effects_by_type(cast: Cast) -> None:
    run_id, _ = running(cast)

    refused = cast.runner.post(f"runs/{run_id}/settle-effects", {"effect_type": "mail.send"})

    assert refused.problem == (403, "scope_missing")


def test_what_a_lost_runner_left_applying_is_doubted_all_at_once(cast: Cast, frozen: FrozenClock) -> None:
    run_id, token = running(cast)
    address = reserve(cast.runner, run_id, token)
    start(cast.runner, address, token)
    frozen.advance(30_000)
    later = cast.runner.claim(run_id)

    doubted = cast.runner.post(f"runs/{run_id}/doubt-lost-effects", {"token": later})
    again = cast.runner.post(f"runs/{run_id}/doubt-lost-effects", {"token": later})

    assert [(effect["effect_id"], effect["status"]) for effect in doubted.body["results"]] == [
        (address.rpartition("/")[2], "ambiguous")
    ]
    assert again.body == {"results": []}


def test_the_recorded_owners_token_has_authority_even_when_it_has_expired(cast: Cast, frozen: FrozenClock) -> None:
    run_id, token = running(cast)
    frozen.advance(30_000)

    mine = cast.runner.post(f"runs/{run_id}/authority", {"token": token})
    cast.runner.claim(run_id)
    superseded = cast.runner.post(f"runs/{run_id}/authority", {"token": token})

    assert (mine.status, mine.body["run_id"]) == (200, run_id)
    assert superseded.problem == (409, "lease_lost")


def test_a_run_with_an_effect_in_doubt_is_shown_and_listed_as_ambiguous(cast: Cast, client: Caller) -> None:
    run_id = in_doubt(cast)[0].split("/")[1]
    running(cast)

    listed = client.get("runs?display_status=ambiguous,paused").body["results"]
    others = client.get("runs?display_status=running").body["results"]

    assert [(run["run_id"], run["display_status"]) for run in listed] == [(run_id, "ambiguous")]
    assert run_id not in [run["run_id"] for run in others]
