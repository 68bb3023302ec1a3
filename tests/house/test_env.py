"""Reading the environment: what is taken, and what stops the server with a sentence that names the variable."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from workflowq import env

NAME = "WORKFLOWQ_SOMETHING"


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)


def test_what_is_unset_or_blank_has_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, "", "  "):
        if value is not None:
            monkeypatch.setenv(NAME, value)

        assert env.text(NAME, "default") == "default"
        assert env.flag(NAME, True) is True
        assert env.whole(NAME, 7) == 7
        assert env.words(NAME, ["a", "b"]) == ["a", "b"]
        assert env.choice(NAME, "INFO", ["INFO", "ERROR"]) == "INFO"
        assert env.origins(NAME) == []
        assert env.time_zone(NAME) == "UTC"


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_a_flag_is_on(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)

    assert env.flag(NAME) is True


@pytest.mark.parametrize("value", ["0", "False", "no", "OFF"])
def test_a_flag_is_off(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)

    assert env.flag(NAME, True) is False


@pytest.mark.parametrize("value", ["2", "ja", "y", "enabled"])
def test_a_flag_that_is_neither_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)

    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.flag(NAME)


def test_a_number_is_read_within_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (1, 65535):
        monkeypatch.setenv(NAME, str(value))

        assert env.whole(NAME, 8000, low=1, high=65535) == value


@pytest.mark.parametrize("value", ["0", "65536", "-1", "1_000", "80.0", "0x50", "٨٠", "eighty", "1 2"])
def test_a_number_out_of_bounds_or_oddly_written_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)

    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.whole(NAME, 8000, low=1, high=65535)


def test_a_list_loses_blanks_and_empty_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, " a.example, b.example,, ")

    assert env.words(NAME) == ["a.example", "b.example"]


def test_a_choice_is_taken_in_any_case_and_spelled_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "error")

    assert env.choice(NAME, "INFO", ["INFO", "ERROR"]) == "ERROR"


def test_a_choice_that_is_not_offered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "LOUD")

    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.choice(NAME, "INFO", ["INFO", "ERROR"])


def test_origins_have_a_scheme_and_a_port_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "https://a.example,http://localhost:3000")

    assert env.origins(NAME) == ["https://a.example", "http://localhost:3000"]


@pytest.mark.parametrize("value", ["a.example", "https://", "https://a.example/", "ftp://a.example", "*"])
def test_what_is_no_origin_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(NAME, value)

    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.origins(NAME)


def test_a_time_zone_is_one_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "Europe/Paris")
    assert env.time_zone(NAME) == "Europe/Paris"

    monkeypatch.setenv(NAME, "Mars/Olympus")
    with pytest.raises(ImproperlyConfigured, match=NAME):
        env.time_zone(NAME)
