"""Text from runs is shown as text, wherever it turns up."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import canonical, transitions
from runs.admin.pretty import laid_out
from runs.admin.text import escaped, visible
from runs.journal import Actor
from runs.models import AccessToken, NodeAttempt, Project
from runs.states import ActorType, AttemptStatus
from runs.transitions import Note
from tests.builders import Made, RunBuilder
from tests.console.addresses import RUN_LIST, TOKEN_LIST, cancel_page, run_page
from tests.console.conftest import Browser

PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(2)>",
    '"><script>alert(3)</script>',
    "' onmouseover='alert(4)",
    "{{7*7}}{% debug %}",
    "javascript:alert(5)",
    "\u202egnp.exe\u2066\u200b\x7f",
)
HOSTILE = " ".join(PAYLOADS)
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\x7f]")


@pytest.fixture
def page(browser: Browser, chief: User) -> Client:
    return browser(chief)


@pytest.fixture
def hostile(db: None) -> Made:
    """A run whose every text is hostile, in a project of such a name."""
    runs = RunBuilder(Project.objects.create(path=HOSTILE))
    transitions.issue_access_token(runs.project, HOSTILE, ["runs:read"])
    made = runs.running(
        workflow_name=HOSTILE[:200],
        workflow_ref=HOSTILE,
        workflow_source={"kind": "file", "path": HOSTILE, "hash": HOSTILE},
        definition_snapshot={HOSTILE: HOSTILE},
        origin_session_id=HOSTILE,
        owner_id=HOSTILE,
        input={HOSTILE: [HOSTILE, {HOSTILE: 1}]},
        launch_options={HOSTILE: HOSTILE},
    )
    done = runs.attempt(made, HOSTILE, HOSTILE[:190] + "1")
    transitions.complete_attempt(made.project, made.hold, done, {HOSTILE: HOSTILE})
    NodeAttempt.objects.create(
        run=made.run,
        attempt_id=HOSTILE,
        node_id="open",
        attempt_number=1,
        status=AttemptStatus.RUNNING,
        generation=1,
        progress=canonical.dumps({HOSTILE: HOSTILE}).decode(),
        started_at=made.run.head_at,
        updated_at=made.run.head_at,
    )
    failed = runs.attempt(made, "other", HOSTILE[:190] + "2")
    transitions.fail_attempt(made.project, made.hold, failed, HOSTILE)
    actor = Actor(ActorType.SESSION, HOSTILE)
    transitions.record_event(made.project, Note(made.run_id, HOSTILE, {HOSTILE: HOSTILE}), actor)
    return made


def harmless(html: str) -> None:
    """Nothing of a payload is markup, an address or invisible."""
    for markup in ("<img src=x", "<svg onload", "<script>alert", "' onmouseover='"):
        assert markup not in html
    assert "{{7*7}}" in html
    assert not re.search(r"""(href|src|action)=["']?\s*javascript:""", html, re.IGNORECASE)
    assert not HIDDEN.search(html)


def test_on_the_run_page(page: Client, hostile: Made) -> None:
    harmless(page.get(run_page(hostile)).content.decode())


def test_on_the_page_of_a_failed_run(page: Client, hostile: Made) -> None:
    failure = transitions.Failure(hostile.run_id, HOSTILE, HOSTILE, hostile.token)
    transitions.fail(hostile.project, failure)

    harmless(page.get(run_page(hostile)).content.decode())


@pytest.mark.parametrize("query", ["", "?status=running", "?q=run", f"?error_code={HOSTILE}", f"?workflow={HOSTILE}"])
def test_in_the_list_and_its_filters(page: Client, hostile: Made, query: str) -> None:
    Project.objects.create(path="another, so that projects are offered")

    response = page.get(RUN_LIST + query + ("&" if query else "?"), {"project": HOSTILE})

    assert response.status_code == 200
    harmless(_without_own_echo(response.content.decode()))


def test_in_the_search_box(page: Client, hostile: Made) -> None:
    html = page.get(RUN_LIST, {"q": HOSTILE}).content.decode()

    assert "<script>alert" not in html
    assert "<img src=x" not in html


def test_on_the_confirmation_pages(page: Client, hostile: Made) -> None:
    harmless(page.get(cancel_page(hostile)).content.decode())


def test_in_the_lists_of_projects_and_tokens(page: Client, hostile: Made) -> None:
    harmless(page.get("/console/runs/project/").content.decode())
    harmless(page.get(TOKEN_LIST).content.decode())


@pytest.mark.parametrize("model", ["project", "accesstoken"])
def test_on_the_pages_of_a_project_and_a_token(page: Client, hostile: Made, model: str) -> None:
    key = {"project": hostile.project.pk, "accesstoken": AccessToken.objects.get().pk}[model]

    html = page.get(f"/console/runs/{model}/{key}/change/").content.decode()

    # A browser shows its title without markup, whatever is in it.
    harmless(re.sub("<title>.*?</title>", "", html, flags=re.DOTALL))


def test_every_page_of_the_console_allows_no_inline_script(page: Client, hostile: Made) -> None:
    for address in ("/console/", RUN_LIST, run_page(hostile), cancel_page(hostile), TOKEN_LIST):
        response = page.get(address)

        policy = dict(
            part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";") if part.strip()
        )
        assert "'unsafe-inline'" not in policy["script-src"]
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>", response.content.decode())


def test_hidden_characters_are_spelled_out_and_joined_emoji_are_left_alone() -> None:
    assert "U+202E" in visible("a\u202eb")
    assert "\u202e" not in visible("a\u202eb")
    assert visible("👩‍🔬 नमस्ते مرحبا\n\t") == "<bdi>👩‍🔬 नमस्ते مرحبا\n\t</bdi>"


def test_a_document_with_hidden_characters_is_the_same_document() -> None:
    assert escaped('"a\u202eb\U000e0001"') == '"a\\u202eb\\udb40\\udc01"'


@pytest.mark.parametrize(
    ("json", "lines"),
    [
        ("{}", "{}"),
        ("[]", "[]"),
        ("1e-7", "1e-7"),
        ('"a,b:{c}"', '"a,b:{c}"'),
        ('"\\"{"', '"\\"{"'),
        ('{"a":[1,{"b":[]}],"c":{}}', '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'),
        # Cut in the middle of a name, a text, a number.
        ('{"a":1,"b', '{\n  "a": 1,\n  "b'),
        ('["abc\\', '[\n  "abc\\'),
        ("[12", "[\n  12"),
    ],
)
def test_json_is_laid_out_without_a_change_to_its_tokens(json: str, lines: str) -> None:
    assert laid_out(json, 1_000) == (lines, True)


def test_what_is_laid_out_has_a_bound() -> None:
    text, whole = laid_out("[" * 200 + "1," * 10_000, 5_000)

    assert len(text) == 5_000
    assert not whole


def _without_own_echo(html: str) -> str:
    """The page without the hidden fields and the box that give the visitor's own words back, quoted."""
    return re.sub(r"<(input|option)\b[^>]*>", "", html)
