"""What clients send can't forge log lines, and what was refused on purpose leaves no traceback."""

import logging
import sys

from workflowq.logs import Printable


def record(name: str, message: str, *args: object) -> logging.LogRecord:
    try:
        raise ValueError("refused")
    except ValueError:
        return logging.LogRecord(name, logging.ERROR, __file__, 1, message, args, sys.exc_info())


def test_control_characters_are_spelled_out() -> None:
    noted = record("queue", "The field %s is unknown.", "a\x00b\n2026-12-01 ERROR forged")

    assert Printable().filter(noted)

    assert noted.getMessage() == "The field a\\x00b\\n2026-12-01 ERROR forged is unknown."


def test_a_refused_request_is_one_line_and_a_fault_keeps_its_traceback() -> None:
    refused, fault = record("django.security.Suspicious", "no"), record("django.request", "oh")

    assert Printable().filter(refused)
    assert Printable().filter(fault)

    assert refused.exc_info is None
    assert fault.exc_info is not None
