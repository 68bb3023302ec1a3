"""Query strings: read strictly, the same on both databases, and never a fault."""

import pytest

from tests.api.cast import Caller

TEXTS = ["workflow_name", "origin_session_id", "error_code", "owner_id", "run_id_prefix"]
OTHERS = ["status", "queue_status", "execution_mode", "created_after", "created_before", "limit", "cursor"]
ODD = ["%00", "a%00b", "%ff", "%ed%a0%80", "%c0%af", "%", "%f", "%zz", "%F4%90%80%80"]


@pytest.mark.parametrize("name", [*TEXTS, *OTHERS])
@pytest.mark.parametrize("odd", ODD)
def test_odd_bytes_in_a_value_are_the_clients_fault_or_match_nothing(client: Caller, name: str, odd: str) -> None:
    client.reserve()

    reply = client.get(f"runs?{name}={odd}")

    if reply.status == 200:
        # A per cent sign that begins no escape stands for itself.
        assert odd in ("%", "%f", "%zz")
        assert reply.body["results"] == []
    else:
        assert reply.problem[0] == 400


@pytest.mark.parametrize("path", ["events", "runs/{}", "runs/{}/events", "runs/{}/attempts", "session-reservation"])
@pytest.mark.parametrize("odd", ODD)
def test_odd_bytes_are_refused_at_every_address(client: Caller, path: str, odd: str) -> None:
    path = path.format(client.reserve())

    for query in (f"{odd}=1", f"cursor={odd}", f"after={odd}", f"session={odd}"):
        assert client.get(f"{path}?{query}").status in (400, 404), query


@pytest.mark.parametrize("query", ["=", "=1", "=&=", "%00=1", "status&status", "a=1&a=2"])
def test_a_parameter_without_a_name_or_with_an_unknown_one_is_refused(client: Caller, query: str) -> None:
    assert client.get(f"runs?{query}").problem[0] == 400


@pytest.mark.parametrize("name", [*TEXTS, *OTHERS])
def test_a_parameter_comes_once_and_with_a_value(client: Caller, name: str) -> None:
    for query in (f"{name}=1&{name}=1", f"{name}=", f"{name}"):
        reply = client.get(f"runs?{query}")
        assert reply.problem[0] == 400, query


@pytest.mark.parametrize("name", [*TEXTS, *OTHERS])
def test_a_value_of_ten_thousand_characters_is_refused(client: Caller, name: str) -> None:
    assert client.get(f"runs?{name}={'x' * 10_000}").problem[0] == 400


def test_five_thousand_parameters_are_refused_at_once(client: Caller) -> None:
    assert client.get("runs?" + "&".join(f"p{number}=1" for number in range(5_000))).problem == (400, "invalid_request")
    assert client.get("runs?" + "&" * 5_000).problem == (400, "invalid_request")


@pytest.mark.parametrize("query", ["status=queu\xe9", "run_id_prefix=\u20ac", "\xff=1"])
def test_what_was_not_escaped_is_refused(client: Caller, query: str) -> None:
    reply = client.get("runs", QUERY_STRING=query.encode().decode("latin-1"))

    assert reply.problem == (400, "invalid_request")


def test_changes_take_no_parameters(client: Caller) -> None:
    for path in ("runs", "claims"):
        assert client.post(f"{path}?status=queued", {}).status in (400, 403)
    assert client.post("runs?limit=1", {}).problem == (400, "unknown_filter")
    assert client.get(f"runs/{client.reserve()}?limit=1").problem == (400, "unknown_filter")


@pytest.mark.parametrize(
    "header", ["HTTP_AUTHORIZATION", "HTTP_IDEMPOTENCY_KEY", "HTTP_ACCEPT", "HTTP_CONTENT_ENCODING", "HTTP_ORIGIN",
               "HTTP_ACCEPT_LANGUAGE", "HTTP_COOKIE", "CONTENT_TYPE", "HTTP_X_HTTP_METHOD_OVERRIDE"]
)  # fmt: skip
@pytest.mark.parametrize("value", ["\x00", "\xff\xfe", "x" * 10_000, "", "%00"])
def test_odd_headers_bring_nothing_down(client: Caller, header: str, value: str) -> None:
    for method, path in (("GET", "runs"), ("POST", "runs"), ("PUT", "runs/run-x")):
        assert client.send(method, path, {"run_id": "x"}, **{header: value}).status < 500
