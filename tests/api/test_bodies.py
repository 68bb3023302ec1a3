"""Bodies: bounded before they are read, JSON in UTF-8 and nothing else."""

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest
from django.conf import settings

from api.bodies import bounded
from tests.api.cast import Caller, Reply, fresh_token, reservation
from tests.api.verbs import VERBS, Cast

BODY = settings.WORKFLOWQ["MAX_BODY_BYTES"]
DOCUMENT = settings.WORKFLOWQ["MAX_DOCUMENT_BYTES"]


def filled(size: int) -> bytes:
    """A reservation of exactly so many bytes, most of them blanks."""
    body = json.dumps(reservation(execution_mode="headless")).encode()
    return body[:-1] + b" " * (size - len(body)) + b"}"


def test_a_body_of_the_limit_passes_and_one_byte_more_does_not(client: Caller) -> None:
    assert client.post("runs", filled(BODY - 1)).status == 201
    assert client.post("runs", filled(BODY)).status == 201
    refused = client.post("runs", filled(BODY + 1))
    assert refused.problem == (413, "payload_too_large")
    assert refused.body["limit"] == BODY


def text_of(size: int, character: str) -> str:
    """A text that takes so many bytes as a stored document, quotes included."""
    wide = len(character.encode())
    return character * ((size - 2) // wide) + "x" * ((size - 2) % wide)


@pytest.mark.parametrize("character", ["x", "é", "😀"])
def test_a_document_is_measured_in_stored_bytes(client: Caller, character: str) -> None:
    def send(size: int) -> Reply:
        body = reservation(input=text_of(size, character), execution_mode="headless")
        return client.post("runs", json.dumps(body, ensure_ascii=False).encode())

    assert send(DOCUMENT - 1).status == 201
    assert send(DOCUMENT).status == 201
    refused = send(DOCUMENT + 1)
    assert (refused.problem, refused.body["place"]) == ((413, "payload_too_large"), "/input")


@pytest.mark.parametrize(
    ("verb", "member", "most"),
    [("record_event", "payload", 65_536), ("progress_attempt", "progress", 8_192), ("complete", "output", DOCUMENT)],
)
def test_every_document_has_a_limit_and_says_its_place(cast: Cast, verb: str, member: str, most: int) -> None:
    call = VERBS[verb](cast)

    def send(size: int) -> Reply:
        return call.send(json.dumps({**call.body, member: text_of(size, "é")}, ensure_ascii=False).encode())

    refused, taken = send(most + 1), send(most)

    assert (refused.problem, refused.body["place"]) == ((413, "payload_too_large"), f"/{member}")
    assert taken.status in (200, 201)


@pytest.mark.parametrize("verb", ["fail", "fail_attempt", "fail_unbegun"])
def test_error_text_is_measured_in_bytes_and_refused_rather_than_cut(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)

    refused = call.send({**call.body, "error_message": "é" * 32_769})
    taken = call.send({**call.body, "error_message": "é" * 32_768})

    assert refused.problem == (400, "invalid_request")
    assert taken.body["error_message"] == "é" * 32_768


def test_a_run_whose_output_was_too_large_can_still_be_completed(cast: Cast) -> None:
    call = VERBS["complete"](cast)

    assert call.send({**call.body, "output": "x" * DOCUMENT}).problem == (413, "payload_too_large")
    assert call.send().body["status"] == "completed"


def test_a_hundred_thousand_small_members_are_just_a_document(client: Caller) -> None:
    many = {f"k{number}": 1 for number in range(60_000)}

    assert client.post("runs", reservation(input=many)).status == 201
    refused = client.post("runs", reservation(**{f"k{number}": 1 for number in range(100_000)}))
    assert refused.problem == (400, "invalid_request")
    assert len(refused.body["errors"]) == 20


def test_a_body_without_a_length_is_read_where_the_server_marks_its_end(client: Caller) -> None:
    body = json.dumps(reservation()).encode()
    chunked = {"CONTENT_LENGTH": "", "CONTENT_TYPE": "application/json", "HTTP_TRANSFER_ENCODING": "chunked"}

    taken = client.post("runs", **chunked, **{"wsgi.input": BytesIO(body), "wsgi.input_terminated": True})
    endless = client.post("runs", **chunked, **{"wsgi.input": _Endless(), "wsgi.input_terminated": True})
    unmarked = client.post("runs", **chunked, **{"wsgi.input": BytesIO(body)})

    assert taken.status == 201
    assert endless.problem == (413, "payload_too_large")
    assert unmarked.problem == (411, "length_required")


def test_a_wrong_length_is_refused(cast: Cast) -> None:
    body = VERBS["cancel_held"](cast)
    data = json.dumps(body.body).encode()

    for length in ("-1", "x", "1e3", "٣", "9" * 30):
        assert body.send(data, CONTENT_LENGTH=length).problem == (400, "invalid_request")
    assert body.send(data, CONTENT_LENGTH=str(BODY + 1)).problem == (413, "payload_too_large")
    shorter = {"wsgi.input": BytesIO(data), "CONTENT_LENGTH": str(len(data) + 10)}
    assert body.send(data, **shorter).problem == (400, "invalid_request")
    assert body.send(data, CONTENT_LENGTH=str(len(data) - 1)).problem == (400, "invalid_json")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip", "x"])
def test_a_compressed_body_is_refused_unread(client: Caller, encoding: str) -> None:
    body = {"wsgi.input": _Unreadable(), "CONTENT_LENGTH": "10"}

    refused = client.post("runs", HTTP_CONTENT_ENCODING=encoding, **body)

    assert refused.problem == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-seq", "",
     "application/json; charset=latin-1", "application/json; charset=utf-8; charset=utf-16", "application/JSONx"],
)  # fmt: skip
def test_a_body_of_another_type_is_refused(client: Caller, content_type: str) -> None:
    assert client.post("runs", reservation(), content_type=content_type).problem == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_in_utf8_is_taken(client: Caller, content_type: str) -> None:
    assert client.post("runs", reservation(), content_type=content_type).status == 201


@pytest.mark.parametrize(
    "data",
    [b"{", b"{}{}", b"{'a':1}", b'{"a":1,}', b"\xff", b'{"a":"\xed\xa0\x80"}', b'{"a":"\x00"}', b"\xef\xbb\xbf{}",
     b"{}\x00", "{}".encode("utf-16")],
)  # fmt: skip
def test_what_is_not_json_is_refused(client: Caller, data: bytes) -> None:
    assert client.post("runs", data).problem == (400, "invalid_json")


@pytest.mark.parametrize("data", [b"[]", b"null", b"1", b'"x"', b"true"])
def test_a_body_is_an_object(client: Caller, data: bytes) -> None:
    assert client.post("runs", data).problem == (400, "invalid_request")


def test_a_call_that_needs_no_members_needs_no_body(cast: Cast) -> None:
    run_id = cast.client.reserve()

    assert cast.operator.send("POST", f"runs/{run_id}/cancel", content_type="").body["status"] == "cancelled"


def test_under_asgi_no_more_than_the_limit_and_one_byte_gets_in() -> None:
    taken: list[bytes] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            taken.append(message["body"])
            more = message.get("more_body", False)
        waiting = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()

    async def receive() -> dict[str, Any]:
        # A body without an end.
        return {"type": "http.request", "body": b"x" * 10, "more_body": True}

    async def send(message: Any) -> None: ...

    async def called() -> None:
        await bounded(application, 24)({"type": "http", "path": "/api/v1/runs"}, receive, send)

    asyncio.run(called())

    assert b"".join(taken) == b"x" * 25


def test_an_oversized_body_is_refused_by_the_whole_server(server: str, project: Any) -> None:
    import httpx

    from runs.states import Scope
    from runs.transitions import issue_access_token

    _, secret = issue_access_token(project, "over the network", [Scope.RUNS_WRITE])
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def chunks() -> Any:
        yield filled(BODY)[:-1]
        yield b" }"

    with httpx.Client(base_url=f"{server}/api/v1/", headers=headers, trust_env=False) as http:
        chunked = http.post("runs", content=chunks())
        declared = http.post("runs", content=filled(BODY + 1))
        taken = http.post("runs", content=filled(BODY))

    assert (chunked.status_code, chunked.json()["code"]) == (413, "payload_too_large")
    assert (declared.status_code, declared.json()["code"]) == (413, "payload_too_large")
    assert taken.status_code == 201


class _Endless(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        assert size == BODY + 1, "no more than that may be asked for"
        return b" " * size


class _Unreadable(BytesIO):
    def read(self, size: int | None = -1) -> bytes:
        raise AssertionError("nobody may read this")


def test_lease_tokens_are_32_to_200_visible_ascii_characters(cast: Cast) -> None:
    for token in ("x" * 31, "x" * 201, "x" * 31 + " ", "x" * 31 + "\n", "é" * 32, fresh_token() + "\x7f"):
        call = VERBS["claim"](cast)
        assert call.send({**call.body, "token": token}).problem == (400, "invalid_request")
    for token in ("!" * 32, "~" * 200):
        call = VERBS["claim"](cast)
        assert call.send({**call.body, "token": token}).status == 200
