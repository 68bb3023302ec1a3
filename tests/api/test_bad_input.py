"""What must not be stored is refused alike in every member of every body, by its place, and nothing changes."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from runs.models import AccessToken
from tests.api.verbs import BATCHES, VERBS, Call, Cast, changed, places
from tests.builders import Picture, snapshot_of_everything

LIMIT: Final = 100
DEEPEST_BODY: Final = 250


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def mixed(depth: int) -> Any:
    value: Any = "\0"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


BAD: Final[dict[str, tuple[object, str]]] = {
    "NUL": ("\0", "invalid_text"),
    "NUL within": ("a\0b", "invalid_text"),
    "NUL in a name": ({"a\0": 1}, "invalid_text"),
    "NUL in a list": (["a", "\0"], "invalid_text"),
    "NUL twenty levels deep": (mixed(20), "invalid_text"),
    "half a pair": ("\ud800", "invalid_text"),
    "a pair turned round": ("\udc00\ud800", "invalid_text"),
    "half a pair at the end": ("x\ud83d", "invalid_text"),
    "half a pair in a name": ({"\ud800": 1}, "invalid_text"),
    "NaN": (float("nan"), "invalid_json"),
    "Infinity": (float("inf"), "invalid_json"),
    "minus Infinity in a list": ([[float("-inf")]], "invalid_json"),
    "a number beyond a double": ("@1e400@", "invalid_number"),
    "an integer of 1,001 digits": ("@" + "9" * 1001 + "@", "invalid_number"),
    "too deep": (nested(DEEPEST_BODY), "too_deep"),
    "20,000 deep": ("@" + "[" * 20_000 + "]" * 20_000 + "@", "too_deep"),
    "a member twice": ('@{"a":1,"\\u0061":2}@', "invalid_json"),
}
# One of each kind; they are all found in the same pass.
EVERYWHERE: Final = ("NUL within", "half a pair in a name", "NaN")
ANY_TYPE: Final[list[object]] = [None, True, 1, 1.5, 2**70, "", "1", "true", [], [1], {}, {"a": 1}]
# Any JSON value is one of these.
NULLABLE: Final = {"timeout_ms", "launch_options"}
DOCUMENTS: Final = {"input", "output", "payload", "progress", "definition_snapshot"}
ODD_TEXTS: Final = [" outer", "outer ", "\n", "tab\tbed", "a\u2028b", "x" * 201, "x" * 70_000]


@pytest.fixture(params=sorted(VERBS))
def call(request: pytest.FixtureRequest, cast: Cast) -> Call:
    """Each of the verbs, ready to be made, by somebody whose token's use was noted already."""
    made = VERBS[request.param](cast)
    made.caller.get("nowhere")
    if "owner_id" in made.body:
        made.caller.post("claims", {"owner_id": made.body["owner_id"], "workflows": ["-"], "tokens": ["x" * 43]})
    return made


def picture() -> Picture:
    """All rows, apart from when a token was used."""
    everything = snapshot_of_everything()
    del everything[AccessToken._meta.db_table]
    return everything


def written(body: object) -> bytes:
    """A body as bytes; what stands between "@ and @" goes in as it is."""
    text = json.dumps(body)
    before, mark, rest = text.partition('"@')
    if not mark:
        return text.encode()
    raw, _, after = rest.partition('@"')
    return (before + raw.replace('\\"', '"').replace("\\\\", "\\") + after).encode()


def members(body: Any) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Every place of a body whose type is fixed, with its value."""
    for place in places(body):
        if DOCUMENTS.isdisjoint(place) and place[-2:-1] != ("launch_options",):
            value = body
            for name in place:
                value = value[name]
            yield place, value


def test_what_cannot_be_stored_is_refused_in_every_member_of_every_body(call: Call) -> None:
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


def test_what_cannot_be_stored_is_refused_in_unknown_members_too(call: Call) -> None:
    before = picture()

    for name, (value, code) in BAD.items():
        assert call.send(written({**call.body, "extra": value})).problem == (400, code), name

    assert picture() == before


def test_no_member_takes_a_value_of_another_json_type(call: Call) -> None:
    before = picture()

    for place, value in members(call.body):
        for other in ANY_TYPE:
            if type(other) is type(value) or (other is None and place[-1] in NULLABLE):
                continue
            reply = call.send(changed(call.body, place, other))

            if reply.status == 200 and place[0] in ("items", "leases"):
                assert not any(result["ok"] for result in reply.body["results"]), (place, other)
            else:
                assert reply.problem[0] == 400, (place, other)
    assert picture() == before


def test_a_document_at_the_limit_of_depth_is_kept_and_one_level_more_is_refused(cast: Cast) -> None:
    deepest, deeper = nested(LIMIT), nested(LIMIT + 1)
    run_id = cast.client.reserve(input=deepest, execution_mode="headless")
    token = cast.runner.run(run_id)

    refused = cast.runner.post(f"runs/{run_id}/complete", {"token": token, "output": deeper}, key="one")
    taken = cast.runner.post(f"runs/{run_id}/complete", {"token": token, "output": deepest}, key="one")

    assert (refused.problem, refused.body["place"]) == ((400, "too_deep"), "/output")
    assert taken.status == 200
    read = cast.client.get(f"runs/{run_id}").body
    assert (read["input"], read["output"]) == (deepest, deepest)


def test_an_attempt_at_the_limit_of_depth_is_answered_from_its_receipt(cast: Cast) -> None:
    call = VERBS["complete_attempt"](cast)
    body = {**call.body, "output": nested(LIMIT)}

    first, again = call.send(body, key="one"), call.send(body, key="one")

    assert (first.status, again.status, again.headers["Idempotency-Replayed"]) == (200, 200, "true")
    assert first.content == again.content
    assert again.body["output"] == nested(LIMIT)


def test_an_item_too_deep_stands_in_no_other_items_way(cast: Cast) -> None:
    calls = [VERBS["complete_all"](cast).body["items"][0] for _ in range(2)]
    items = [{**calls[0], "output": nested(LIMIT + 1)}, calls[1]]

    refused, done = cast.runner.post("batch/complete", {"items": items}).body["results"]

    assert (refused["problem"]["code"], refused["problem"]["place"]) == ("too_deep", "/items/0/output")
    assert (refused["run_id"], done["ok"]) == (items[0]["run_id"], True)


@pytest.mark.parametrize("depth", [20_000, 900_000])
def test_a_body_of_brackets_is_refused_at_once(cast: Cast, depth: int) -> None:
    body = b'{"run_id":"x","input":' + b"[" * depth + b"]" * depth + b"}"

    assert cast.client.post("runs", body).problem == (400, "too_deep")


def test_proper_pairs_come_back_as_the_character_and_equal_their_other_spelling(cast: Cast) -> None:
    call = VERBS["adopt"](cast)
    escaped = json.dumps({**call.body, "input": "😀"}).encode()
    plain = json.dumps({**call.body, "input": "😀"}, ensure_ascii=False).encode()
    assert escaped != plain

    first, second = call.send(escaped), call.send(plain)

    assert (first.body["state"], second.body["state"]) == ("reserved", "adopted")
    assert cast.client.get(call.path).body["input"] == "😀"


def test_the_names_of_numbers_that_are_none_are_just_text(cast: Cast) -> None:
    run_id = cast.client.reserve(input=["NaN", "Infinity", "-Infinity"])

    assert cast.client.get(f"runs/{run_id}").body["input"] == ["NaN", "Infinity", "-Infinity"]


def test_big_integers_keep_every_digit(cast: Cast) -> None:
    numbers = [9007199254740993, -9223372036854775808, 18446744073709551616, int("1234567890" * 4)]
    call = VERBS["start_attempt"](cast)
    run_id = cast.client.reserve(input=numbers, launch_options={"n": numbers[3]})

    started = call.send({**call.body, "input": numbers}, key="one")
    again = call.send({**call.body, "input": numbers}, key="one")

    assert cast.client.get(f"runs/{run_id}").body["input"] == numbers
    assert cast.client.get(f"runs/{run_id}").body["launch_options"] == {"n": numbers[3]}
    assert started.body["input"] == again.body["input"] == numbers


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_names_are_taken_as_they_are_or_refused(cast: Cast, text: str) -> None:
    for verb, member in [("reserve", "workflow_name"), ("reserve", "origin_session_id"), ("claim", "owner_id"),
                         ("note", "type"), ("start_attempt", "node_id"), ("fail", "error_code")]:  # fmt: skip
        call = VERBS[verb](cast)

        reply = call.send({**call.body, member: text})

        assert reply.problem == (400, "invalid_request"), (verb, member)
        assert list(reply.body["errors"]) == [member]


def test_batches_are_whole_however_their_items_are(cast: Cast) -> None:
    for verb in BATCHES:
        call = VERBS[verb](cast)
        (member,) = (name for name in call.body if isinstance(call.body[name], list))
        odd: list[object] = [None, 1, "x", [], {}, {"run_id": 7}, {"run_id": "run-x"}]

        reply = call.send({member: [*odd, *call.body[member]]})

        results = reply.body["results"]
        assert [result["ok"] for result in results] == [False] * len(odd) + [True], verb
        assert [result["run_id"] for result in results[:-1]] == [None] * 6 + ["run-x"], verb
        assert {result["problem"]["code"] for result in results[:-1]} == {"invalid_request"}, verb
