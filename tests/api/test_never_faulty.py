"""Whatever comes over the wire, the answer is no fault of the server's: generated requests, bounded in time."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.api.cast import Caller
from tests.api.verbs import VERBS, Cast, changed, places
from tests.soundness import assert_sound

QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TEXT = st.text(max_size=20) | st.sampled_from(["\0", "\ud800", "é", "run-1", "x" * 300, "wq_", "sha256:"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from([2**63, -(2**63), 10**40, 1e308]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)
NAMES = ["status", "queue_status", "workflow_name", "origin_session_id", "execution_mode", "error_code", "owner_id",
         "created_after", "created_before", "run_id_prefix", "limit", "cursor", "after", "session", ""]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_member_of_any_body_brings_the_server_down(cast: Cast, verb: str) -> None:
    call = VERBS[verb](cast)
    where = list(places(call.body))

    @QUICK
    @given(place=st.sampled_from(where), value=JSON, name=TEXT | st.none())
    def attempted(place: tuple[str | int, ...], value: object, name: str | None) -> None:
        body = changed(call.body, place, value)
        reply = call.send(body if name is None else {**body, name: value})
        assert reply.status < 500, reply.content

    attempted()
    assert_sound()


@pytest.mark.parametrize("path", ["runs", "events", "runs/{}/events", "runs/{}/attempts", "session-reservation"])
def test_no_query_string_brings_the_server_down(client: Caller, path: str) -> None:
    path = path.format(client.reserve())

    @QUICK
    @given(name=st.sampled_from(NAMES), value=_escaped(), tail=_escaped())
    def attempted(name: str, value: str, tail: str) -> None:
        assert client.get(f"{path}?{name}={value}").status < 500
        assert client.get(f"{path}?{name}={value}&{tail}").status < 500

    attempted()


@pytest.mark.parametrize("path", ["{}", "runs/{}", "runs/{}/claim", "runs/run-1/attempts/{}/complete", "batch/{}"])
def test_no_address_brings_the_server_down(cast: Cast, path: str) -> None:
    @QUICK
    @given(part=_escaped(), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"]))
    def attempted(part: str, method: str) -> None:
        for caller in (cast.client, cast.runner, cast.operator):
            assert caller.send(method, path.format(part), {}).status < 500

    attempted()


def test_no_bytes_for_a_body_bring_the_server_down(cast: Cast) -> None:
    calls = [VERBS[verb](cast) for verb in ("reserve", "claim_next", "complete_all")]

    @QUICK
    @given(data=st.binary(max_size=200), kind=st.sampled_from(["application/json", "text/plain", ""]))
    def attempted(data: bytes, kind: str) -> None:
        for call in calls:
            assert call.send(data, content_type=kind).status < 500

    attempted()


def _escaped() -> st.SearchStrategy[str]:
    """Printable text in which any byte may stand, escaped."""
    percent: Callable[[bytes], str] = lambda data: "".join(f"%{byte:02x}" for byte in data)  # noqa: E731
    plain: Any = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"), max_size=20)
    return st.one_of(plain, st.binary(max_size=20).map(percent), st.text(max_size=9).map(_utf8).map(percent))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
