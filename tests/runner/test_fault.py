"""What reaches an operator of an error, and what never does."""

import logging

import pytest

from workflowq.runner.fault import MAX_CHARACTERS, describe
from workflowq.runner.log import CleanFormatter
from workflowq.runner.redactor import Redactor, printable

SECRET = "a-lease-token-of-43-characters-0123456789ab"
REDACTOR = Redactor(SECRET)


def caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as raised:
        return raised


def test_a_fault_tells_type_message_and_last_lines_of_the_traceback() -> None:
    text = describe(caught(ValueError("the bolt is missing")), REDACTOR)

    assert text.startswith("ValueError: the bolt is missing\n")
    assert "test_fault.py" in text
    assert "raise error" in text


def test_a_fault_names_its_cause() -> None:
    error = ValueError("no luck")
    error.__cause__ = KeyError("inner")

    assert "caused by KeyError" in describe(error, REDACTOR)


@pytest.mark.parametrize("length", [0, 2_999, 8_000, 3_000_000])
def test_a_fault_is_bounded(length: int) -> None:
    assert len(describe(caught(ValueError("m" * length)), REDACTOR)) <= MAX_CHARACTERS


def test_a_long_traceback_keeps_its_end() -> None:
    namespace: dict[str, object] = {}
    source = "def f(n):\n    return g(n - 1) if n else 1 / 0\ndef g(n):\n    return f(n)\n"
    exec(compile(source, "file-" + "x" * 2_000, "exec"), namespace)

    text = describe(caught_from(namespace), REDACTOR)

    assert len(text) == MAX_CHARACTERS
    assert text.startswith("ZeroDivisionError")
    assert text.endswith("in f")


def caught_from(namespace: dict[str, object]) -> BaseException:
    try:
        eval("f(30)", namespace)
    except ZeroDivisionError as error:
        return error
    raise AssertionError


def test_a_secret_is_taken_out_even_at_the_cut() -> None:
    for room in range(2_950, 3_010):
        text = describe(ValueError("m" * room + SECRET), REDACTOR)
        assert SECRET[:8] not in text


@pytest.mark.parametrize(
    "text",
    [
        f"token {SECRET} was refused",
        "Authorization: Bearer abcdefghijklmnopqrstuvwxyz",
        "used wq_abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE here",
    ],
)
def test_secrets_are_redacted_by_value_and_by_shape(text: str) -> None:
    clean = REDACTOR.without_secrets(text)

    assert "[secret]" in clean
    assert "abcdefghij" not in clean
    assert SECRET not in clean


def test_words_around_a_secret_stay() -> None:
    assert REDACTOR.without_secrets("the bearer of news") == "the bearer of news"
    assert REDACTOR.without_secrets(f"<{SECRET}>") == "<[secret]>"


def test_control_characters_and_lone_surrogates_do_not_get_through() -> None:
    text = printable("a\x00b\x1b[31mc\ud800d\u202ee\u2028f\r\ng\th\x9bi é 😀")

    assert text == "a\ufffdb\ufffd[31mc\ufffdd\ufffde\ufffdf\ng    h\ufffdi é 😀"
    text.encode()


def test_an_exception_that_cannot_be_shown_is_still_told() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(caught(Odd()), REDACTOR).startswith("Odd: (its message can't be shown: RuntimeError)")


def test_a_log_record_is_one_clean_line() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "said %s\nand %s", (SECRET, "\x1b[0m"), None)

    line = CleanFormatter(REDACTOR).format(record)

    assert "\n" not in line
    assert "\x1b" not in line
    assert SECRET not in line
    assert line.endswith("INFO said [secret] and \ufffd[0m")


def test_a_redactor_forgets_what_it_is_told_to() -> None:
    redactor = Redactor("something-secret")

    redactor.forget("something-secret")

    assert redactor.without_secrets("something-secret") == "something-secret"
