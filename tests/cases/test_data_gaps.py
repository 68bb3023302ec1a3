"""DATA-1 to DATA-6 for the verbs of effects, control, sessions, people and messages."""

import json
from typing import Any, Final

import pytest

from tests.api.cast import LEASE_MS, fresh_token, reservation
from tests.api.people import held, raised
from tests.api.test_bad_input import BAD, EVERYWHERE, LIMIT, nested, picture, written
from tests.api.verbs import Call, Cast, changed, places
from tests.cases.waiting_verbs import FURTHER_VERBS

BIG: Final = [9007199254740993, -9223372036854775808, 18446744073709551616, int("1234567890" * 4)]
# Each verb that takes a document of the caller's own making, and the limit of that document in bytes.
DOCUMENTS: Final = [
    ("reserve_effect", "payload", 2**20),
    ("apply_effect", "result", 2**20),
    ("raise_request", "contract", 65_536),
    ("submit", "payload", 2**20),
    ("accept", "receipt", 8_192),
    ("ask_decision", "presentation", 262_144),
    ("queue_message", "content", 65_536),
    ("send_message", "evidence", 8_192),
]


@pytest.fixture(params=sorted(FURTHER_VERBS))
def call(request: pytest.FixtureRequest, cast: Cast) -> Call:
    """Each of these verbs, ready to be made."""
    made: Call = FURTHER_VERBS[request.param](cast)
    return made


def test_what_cannot_be_stored_is_refused_in_every_member(call: Call) -> None:
    before = picture()

    for place in places(call.body):
        for name in EVERYWHERE:
            value, code = BAD[name]
            reply = call.send(written(changed(call.body, place, value)))

            assert reply.problem == (400, code), (place, name, reply.body)
            if code == "invalid_text":
                assert reply.body["place"].startswith("/" + "/".join(map(str, place))), (place, name)
    assert picture() == before
    assert call.send().status in (200, 201)


def test_what_cannot_be_stored_is_refused_in_unknown_members(call: Call) -> None:
    before = picture()

    for name, (value, code) in BAD.items():
        assert call.send(written({**call.body, "extra": value})).problem == (400, code), name

    assert picture() == before


@pytest.mark.parametrize("text", ["\0", "\ud800", "x\ud83d"])
def test_a_run_whose_result_was_refused_can_still_be_completed_or_failed(cast: Cast, text: str) -> None:
    completed, failed = (held(cast.client, cast.runner) for _ in range(2))

    for made in (completed, failed):
        refused = made.post("complete", output={"a": [text]})
        assert (refused.problem, refused.body["place"]) == ((400, "invalid_text"), "/output/a/0")

    assert completed.post("complete", output={"a": ["clean"]}).body["status"] == "completed"
    assert failed.post("fail", error_code="broken", error_message="It broke.").body["status"] == "failed"


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800", "%00", "%ed%a0%80"])
def test_no_id_in_an_address_is_text_that_cannot_be_stored(cast: Cast, text: str) -> None:
    path = raised(cast.client, cast.runner).path

    for address in (f"requests/{text}", f"requests/{text}/submissions", f"effects/{text}", f"decisions/{text}"):
        assert cast.client.get(f"{path}/{address}").problem == (404, "not_found")


@pytest.mark.parametrize(("verb", "member"), [(verb, member) for verb, member, _ in DOCUMENTS])
def test_an_escaped_pair_is_the_same_request_as_the_character(cast: Cast, verb: str, member: str) -> None:
    call = FURTHER_VERBS[verb](cast)
    body = {**call.body, member: {"😀": "😀"}}
    escaped, plain = json.dumps(body).encode(), json.dumps(body, ensure_ascii=False).encode()

    first, again = call.send(escaped, key="one"), call.send(plain, key="one")

    assert first.status in (200, 201)
    assert (escaped != plain, again.status, again.content) == (True, first.status, first.content)


@pytest.mark.parametrize(("verb", "member", "most"), DOCUMENTS)
def test_a_document_of_the_limit_is_taken_and_one_byte_more_is_not(
    cast: Cast, verb: str, member: str, most: int
) -> None:
    call = FURTHER_VERBS[verb](cast)

    def send(size: int) -> Any:
        # {"a":"..."} takes eight bytes beside its text, of two bytes a character.
        text = "é" * ((size - 8) // 2) + "x" * (size % 2)
        return call.send(json.dumps({**call.body, member: {"a": text}}, ensure_ascii=False).encode())

    before = picture()
    refused = send(most + 1)
    assert (refused.problem, refused.body["place"]) == ((413, "payload_too_large"), f"/{member}")
    assert picture() == before
    assert send(most).status in (200, 201)


@pytest.mark.parametrize(
    ("verb", "member"), [(verb, member) for verb, member, _ in DOCUMENTS if verb != "ask_decision"]
)
def test_a_document_of_the_deepest_nesting_is_taken_and_one_level_more_is_not(
    cast: Cast, verb: str, member: str
) -> None:
    call = FURTHER_VERBS[verb](cast)

    refused = call.send({**call.body, member: {"a": nested(LIMIT)}})
    taken = call.send({**call.body, member: {"a": nested(LIMIT - 1)}}, key="one")
    again = call.send({**call.body, member: {"a": nested(LIMIT - 1)}}, key="one")

    assert (refused.problem, refused.body["place"]) == ((400, "too_deep"), f"/{member}")
    assert taken.status in (200, 201)
    assert again.content == taken.content


@pytest.mark.parametrize("content", [BIG, nested(LIMIT)], ids=["big integers", "deepest"])
def test_a_document_goes_through_every_station_unchanged(cast: Cast, content: Any) -> None:
    """Input, event, step, request, submission, effect, output, and the input of the restart."""
    run_id = cast.client.reserve(input=content, origin_session_id="desk")
    token = cast.runner.run(run_id)
    path, by = f"runs/{run_id}", {"token": token}

    cast.runner.post(f"{path}/events", {**by, "type": "seen", "payload": content})
    cast.runner.post(f"{path}/attempts", {**by, "node_id": "n", "attempt_id": "a1", "input": content})
    effect = cast.runner.post(f"{path}/effects", {**by, "effect_type": "m", "idempotency_key": "k", "payload": content})
    asked = {"request_id": "q1", "attempt_id": "a1", "target_session_id": "desk", "contract": content}
    request = cast.runner.post(f"{path}/requests", {**by, **asked})
    body = {"submission_id": "s1", "session_id": "desk", "request_revision": 1, "payload": content}
    submitted = cast.client.post(f"{path}/requests/q1/submissions", body)
    cast.runner.post(f"{path}/fail", {**by, "error_code": "x", "error_message": "x"})
    read = cast.client.get(path).body
    lineage = {"parent_run_id": run_id, "lineage_kind": "restart", "parent_run_revision": read["revision"]}
    child = cast.client.reserve(input=read["input"], origin_session_id="desk", **lineage)

    noted = [event for event in cast.client.get(f"{path}/events").body["results"] if event["type"] == "seen"]
    assert [event["payload"] for event in noted] == [content]
    assert cast.client.get(f"{path}/attempts").body["results"][0]["input"] == content
    assert cast.client.get(f"{path}/effects/{effect.body['effect_id']}").body["payload"] == content
    assert (request.body["contract"], submitted.body["payload"]) == (content, content)
    claim = {"owner_id": "host-a", "token": fresh_token(), "lease_ms": LEASE_MS}
    assert cast.runner.post(f"runs/{child}/claim", claim).body["run"]["input"] == content


def test_a_body_of_a_million_brackets_leaves_the_server_serving(cast: Cast) -> None:
    made = raised(cast.client, cast.runner)
    brackets = b"[" * 1_000_000 + b"]" * 1_000_000

    refused = cast.client.post(f"{made.path}/requests/q1/submissions", b'{"payload":' + brackets + b"}")

    assert refused.problem == (400, "too_deep")
    assert cast.client.post("runs", reservation()).status == 201


@pytest.mark.parametrize(("verb", "member"), [("ask_decision", "presentation"), ("answer_decision", "input")])
def test_what_a_person_is_shown_and_answers_may_be_as_deep_as_any_document(cast: Cast, verb: str, member: str) -> None:
    call = FURTHER_VERBS[verb](cast)

    taken = call.send({**call.body, member: nested(100)})

    assert taken.status in (200, 201)
