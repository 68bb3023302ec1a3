"""The OpenAPI document tells the truth: it is what the code makes, and answers are as it says."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import call_command
from django.urls import URLPattern
from jsonschema import Draft4Validator

from api import examples
from api.endpoint import Endpoint, Nowhere
from api.urls import urlpatterns
from tests.api.cast import Caller, Reply
from tests.api.verbs import VERBS, Cast

WRITTEN = Path(settings.BASE_DIR) / "docs" / "openapi.yaml"
REFRESH = "say `make openapi`"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The document as the code makes it; making it warns of nothing, and it is valid."""
    path = tmp_path_factory.mktemp("openapi") / "openapi.yaml"
    call_command("spectacular", file=str(path), validate=True, fail_on_warn=True)
    return path.read_text()


@pytest.fixture(scope="module")
def document(made: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(made)
    return loaded


def test_the_document_in_docs_is_the_one_that_the_code_makes(made: str) -> None:
    assert WRITTEN.read_text() == made, REFRESH


def test_the_server_serves_it_to_everybody(nobody: Caller, made: str) -> None:
    reply = nobody.get("schema")

    assert reply.status == 200
    assert yaml.safe_load(reply.content) == yaml.safe_load(made)


def test_every_method_of_every_address_is_described(document: dict[str, Any]) -> None:
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    served = {
        ("/api/v1/" + re.sub("<[a-z]+:([a-z_]+)>", "{\\1}", str(pattern.pattern)), method.lower())
        for pattern in urlpatterns
        if isinstance(pattern, URLPattern)
        for view in [getattr(pattern.callback, "cls", None)]
        if isinstance(view, type) and issubclass(view, Endpoint) and view is not Nowhere
        for method in view.scopes
    }

    assert described == served


def test_every_operation_has_its_own_name_needs_a_token_and_tells_of_problems(document: dict[str, Any]) -> None:
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]

    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["security"] == [{"accessToken": []}]
        assert set(operation["responses"]["default"]["content"]) == {"application/problem+json"}
        assert operation["description"]
        for status in set(operation["responses"]) - {"default"}:
            assert set(operation["responses"][status]["content"]) == {"application/json"}


def test_every_scope_is_told(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert re.search("`(runs|decisions):[a-z]+`", operation["description"]), (method, path)


def valid(document: dict[str, Any], method: str, path: str, reply: Reply) -> None:
    """The reply is as the document says, with no member that it doesn't name."""
    operation = _operation(document, method, path)
    (content,) = operation["responses"][str(reply.status)]["content"].values()
    whole = _closed({"components": document["components"], **content["schema"]})
    Draft4Validator(whole).validate(reply.body)


@pytest.mark.parametrize("verb", VERBS)
def test_what_verbs_answer_is_as_described(cast: Cast, document: dict[str, Any], verb: str) -> None:
    call = VERBS[verb](cast)

    valid(document, call.method, call.path, call.send())
    if "results" not in (again := call.send()).body:
        if again.status >= 400:
            assert Draft4Validator(_problem(document)).is_valid(again.body)
        else:
            valid(document, call.method, call.path, again)


def test_what_reads_answer_is_as_described(cast: Cast, document: dict[str, Any]) -> None:
    path = VERBS["start_attempt"](cast)
    path.send()
    run_id = path.path.split("/")[1]
    session = cast.client.get(f"runs/{run_id}").body["origin_session_id"]

    for tail in ("", "/events", "/attempts"):
        valid(document, "GET", f"runs/{run_id}{tail}", cast.client.get(f"runs/{run_id}{tail}"))
    for where in ("runs", "events"):
        valid(document, "GET", where, cast.client.get(where))
    valid(document, "GET", "session-reservation", cast.client.get(f"session-reservation?session={session}"))


def test_bodies_that_are_taken_are_as_described(cast: Cast, document: dict[str, Any]) -> None:
    for name, make in VERBS.items():
        call = make(cast)
        content = _operation(document, call.method, call.path)["requestBody"]["content"]["application/json"]
        whole = _nullable({"components": document["components"], **content["schema"]})
        Draft4Validator(whole).validate(call.body)
        assert not Draft4Validator(whole).is_valid({**call.body, "extra": 1}), name


def test_the_examples_work(cast: Cast) -> None:
    for body in examples.RESERVE.values():
        assert cast.client.post("runs", body).status == 201
    for body in examples.ADOPT.values():
        assert cast.client.put("runs/another", body).status == 201
    for body in examples.CLAIM_NEXT.values():
        assert len(cast.runner.post("claims", body).body["claims"]) == 1


def test_the_docs_page_keeps_to_its_content_security_policy(nobody: Caller) -> None:
    page = nobody.get("docs")
    script = nobody.get("docs?script=")

    html = page.content.decode()
    policy = page.headers["Content-Security-Policy"]
    assert page.status == script.status == 200
    assert script.headers["Content-Type"].startswith("application/javascript")
    # No script stands in the page itself, and nothing comes from another host.
    assert all("src=" in tag for tag in re.findall("<script[^>]*>", html))
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html)
    assert "'unsafe-inline'" not in policy.split("style-src")[0]
    assert "default-src 'self'" in policy
    assert "api/v1/schema" in script.content.decode()


@pytest.mark.parametrize("path", ["schema", "docs"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_documents_are_read_only(nobody: Caller, path: str, method: str) -> None:
    assert nobody.send(method, path).problem == (405, "method_not_allowed")


def _operation(document: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    for template, methods in document["paths"].items():
        if re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", template), f"/api/v1/{path}"):
            operation: dict[str, Any] = methods[method.lower()]
            return operation
    raise LookupError(path)


def _problem(document: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = _nullable({"components": document["components"], "$ref": "#/components/schemas/Problem"})
    return whole


def _nullable(schema: Any) -> Any:
    """OpenAPI 3.0's way of saying "or null" in that of JSON Schema."""
    if isinstance(schema, list):
        return [_nullable(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    rest = {name: _nullable(value) for name, value in schema.items()}
    if rest.pop("nullable", False) is True:
        return {"anyOf": [rest, {"type": "null"}]}
    return rest


def _closed(schema: Any) -> Any:
    """The same, with no members that are not named."""
    schema = _nullable(schema)
    for name, component in schema["components"]["schemas"].items():
        if "properties" in component and name != "Problem":
            component["additionalProperties"] = False
    return schema
