"""Idempotency keys: the same request is carried out once and answered alike, another one is told so."""

import json
from datetime import timedelta

import pytest

from runs import clock
from runs.models import AccessToken, Event, Project, Receipt, Run
from runs.states import Scope
from tests.api.cast import Caller, caller, fresh_token, reservation
from tests.api.verbs import KEYED, VERBS, Cast
from tests.builders import FrozenClock, snapshot_of_everything


@pytest.mark.parametrize("verb", KEYED)
def test_every_change_repeated_under_its_key_is_answered_again_and_not_done_again(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    first = call.send(key="one")
    before = snapshot_of_everything()

    second = call.send(key="one")

    assert first.status in (200, 201)
    assert (second.status, second.content) == (first.status, first.content)
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert snapshot_of_everything() == before


@pytest.mark.parametrize("verb", KEYED)
def test_a_key_used_for_another_request_is_a_conflict(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    call.send(key="one")
    other = VERBS[verb](cast)
    events = Event.objects.count()

    refused = other.send(key="one")

    assert refused.problem == (409, "idempotency_conflict")
    assert refused.body["action"] == "mend"
    assert Event.objects.count() == events


def test_order_of_members_blanks_and_escapes_make_no_other_request(client: Caller) -> None:
    body = reservation(input={"a": 1, "b": "é", "c": [1.0]})
    first = client.post("runs", body, key="one")
    respelled = json.dumps(dict(reversed(body.items())), indent=3).replace("1.0", "1e0").replace("\\u00e9", "é")

    assert client.post("runs", respelled.encode(), key="one").content == first.content


@pytest.mark.parametrize(
    "changes", [{"input": {"a": 2}}, {"input": {"a": "1"}}, {"input": {"a": 1, "b": None}}, {"workflow_name": "other"},
                {"priority": "normal"}]
)  # fmt: skip
def test_another_content_is_another_request(client: Caller, changes: dict[str, object]) -> None:
    body = reservation(input={"a": 1})
    client.post("runs", body, key="one")

    assert client.post("runs", {**body, **changes}, key="one").problem == (409, "idempotency_conflict")
    assert Run.objects.count() == 1


def test_another_lease_token_is_another_request(cast: Cast) -> None:
    call = VERBS["complete"](cast)
    call.send(key="one")

    assert call.send({**call.body, "token": fresh_token()}, key="one").problem == (409, "idempotency_conflict")


def test_a_key_belongs_to_its_access_token_and_project(client: Caller, stranger: Caller, project: Project) -> None:
    colleague = caller(project, Scope.RUNS_WRITE, name="colleague")

    replies = [who.post("runs", reservation(), key="one") for who in (client, colleague, stranger)]

    assert [reply.status for reply in replies] == [201, 201, 201]


def test_keys_that_differ_in_case_are_different_keys(client: Caller) -> None:
    replies = [client.post("runs", reservation(), key=key) for key in ("Order-7", "order-7", "ORDER-7")]

    assert [reply.status for reply in replies] == [201, 201, 201]


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "\t", "x" * 201, "a\x7f", "a\x00b"])
@pytest.mark.parametrize("verb", ["reserve", "complete", "reserve_all"])
def test_a_key_that_is_none_is_refused_and_nothing_done(cast: Cast, verb: str, key: str) -> None:
    call = VERBS[verb](cast)
    events = Event.objects.count()

    assert call.send(key=key).problem == (400, "invalid_idempotency_key")
    assert Event.objects.count() == events


@pytest.mark.parametrize("key", ["!", "~", "x" * 200, 'a"b\\c'])
def test_a_key_is_up_to_200_visible_ascii_characters(client: Caller, key: str) -> None:
    body = reservation()

    assert client.post("runs", body, key=key).status == 201
    assert client.post("runs", body, key=key).headers["Idempotency-Replayed"] == "true"


def test_a_refused_request_may_be_mended_under_its_key(cast: Cast) -> None:
    call = VERBS["complete"](cast)

    assert call.send({**call.body, "output": "x" * 2_000_000}, key="one").status == 413
    assert call.send({**call.body, "token": fresh_token()}, key="one").problem == (409, "lease_lost")
    assert call.send(key="one").status == 200


def test_an_answer_is_kept_for_a_day(client: Caller, frozen: FrozenClock) -> None:
    body = reservation()
    client.post("runs", body, key="one")

    frozen.advance(24 * 3_600_000 - 1)
    within = client.post("runs", body, key="one")
    frozen.advance(1)
    after = client.post("runs", body, key="one")

    assert within.status == 201
    assert after.problem == (409, "already_reserved")


def test_a_completion_whose_answer_was_lost_succeeds_again_after_the_lease(cast: Cast, frozen: FrozenClock) -> None:
    call = VERBS["complete"](cast)
    first = call.send(key="one")
    frozen.advance(3_600_000)

    assert call.send(key="one").content == first.content
    assert call.send(key="two").problem == (409, "run_finished")


@pytest.mark.parametrize("verb", ["complete", "cancel_held", "reserve_all"])
def test_scopes_are_asked_for_again_on_a_repeat(cast: Cast, project: Project, verb: str) -> None:
    call = VERBS[verb](cast)
    call.send(key="one")
    AccessToken.objects.filter(project=project).update(scopes=Scope.RUNS_READ.value)

    assert call.send(key="one").problem == (403, "scope_missing")


def test_a_token_that_was_revoked_repeats_nothing(client: Caller, project: Project) -> None:
    body = reservation()
    client.post("runs", body, key="one")
    AccessToken.objects.filter(project=project, name="client").update(revoked_at=clock.now() - timedelta(hours=1))

    assert client.post("runs", body, key="one").problem == (401, "unauthenticated")


def test_receipts_hold_no_secrets(cast: Cast) -> None:
    secrets: set[str] = set()
    for verb in KEYED:
        call = VERBS[verb](cast)
        assert call.send(key=verb).status in (200, 201)
        items = call.body.get("items", [call.body])
        secrets |= {item["token"] for item in items if "token" in item}

    kept = "".join(f"{receipt.key}{receipt.answer}" for receipt in Receipt.objects.all())

    assert Receipt.objects.count() == len(KEYED)
    assert len(secrets) > 5
    assert not any(secret in kept for secret in secrets)
