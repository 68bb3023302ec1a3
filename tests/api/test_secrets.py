"""Secrets stay where they were given: in no answer, no log and no row."""

import logging

import pytest

from tests.api.cast import Caller, fresh_token
from tests.api.verbs import VERBS, Cast
from tests.builders import snapshot_of_everything

SHOWN = 6  # characters of a secret that nobody can use


def hidden_in(secret: str, text: str) -> bool:
    """No part of the secret longer than a few characters stands in the text."""
    return not any(secret[i : i + SHOWN + 1] in text for i in range(len(secret) - SHOWN))


def test_an_access_token_used_wrongly_is_repeated_nowhere(client: Caller, caplog: pytest.LogCaptureFixture) -> None:
    secret = str(client.secret)
    caplog.set_level(logging.DEBUG)
    body = {"token": secret, secret: secret, "run_id": secret, "workflow_name": [secret]}

    replies = [
        client.get(f"runs?token={secret}"),
        client.get(f"runs?status={secret}"),
        client.get(f"runs?cursor={secret}"),
        client.get(f"nowhere/{secret}"),
        client.post("runs", body),
        client.post("runs", {"definition_digest": secret}),
        client.post("runs", b'{"token": "' + secret.encode() + b'",}'),
        client.post("runs", {}, key=secret + " "),
        Caller(secret + "x").get("runs"),
        Caller(secret.swapcase()).get("runs"),
    ]

    assert {400 <= reply.status < 500 for reply in replies} == {True}
    # A name that is no member's, and what stands in a path, can only be told by naming it.
    answers = "".join(reply.content.decode() for reply in replies)
    assert secret not in answers.replace(f'"{secret}":["There is no such member."]', "")
    assert hidden_in(secret.removeprefix("wq_"), caplog.text)


def test_lease_tokens_stand_in_no_answer_no_log_and_no_row(cast: Cast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    # Statements as the database gets them hold hashes alone.
    secrets: set[str] = set()
    answers = ""
    for verb, make in VERBS.items():
        call = make(cast)
        items = [item for value in call.body.values() if isinstance(value, list) for item in value]
        tokens = {item["token"] for item in [call.body, *items] if isinstance(item, dict) and "token" in item}
        secrets |= tokens | {*call.body.get("tokens", ())}
        answers += call.send().content.decode()
        for token in sorted(tokens):
            wrong = {**call.body, "token": token[:31] + " "}
            answers += call.send(wrong).content.decode() + call.send({**call.body, token: 1}, key=verb).content.decode()

    rows = repr(snapshot_of_everything())

    assert len(secrets) > 15
    for secret in secrets:
        assert hidden_in(secret, answers.replace(f'"{secret}":["There is no such member."]', ""))
        assert hidden_in(secret, caplog.text)
        assert hidden_in(secret, rows)


def test_the_secret_of_an_access_token_is_stored_as_its_hash_alone(client: Caller) -> None:
    client.reserve()

    assert hidden_in(str(client.secret), repr(snapshot_of_everything()))


def test_a_fault_of_the_servers_own_logs_no_secret(
    client: Caller, runner: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    run_id, token = client.reserve(), fresh_token()
    monkeypatch.setattr("runs.transitions.own", broken)
    caplog.set_level(logging.DEBUG)

    assert runner.post(f"runs/{run_id}/claim", {"owner_id": "host-a", "token": token}).status == 500
    assert "ZeroDivisionError" in caplog.text
    assert hidden_in(token, caplog.text)
    assert hidden_in(str(runner.secret), caplog.text)
