"""Which numbers are let in and how they are written."""

import struct

import pytest

from runs.canonical import MAX_INTEGER_DIGITS, dumps, loads
from tests.runs.documents import read, refusal, refusal_of_value


@pytest.mark.parametrize(
    "digits",
    [
        "9007199254740993",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-9999999999999999999",
        "1234567890123456789012345678901234567890",
        "1" + "0" * 20,
        "7" * MAX_INTEGER_DIGITS,
    ],
    ids=lambda digits: f"{digits[:24]} of {len(digits)}",
)
def test_big_integers_keep_every_digit(digits: str) -> None:
    document = f'{{"n":[{digits}]}}'

    value = read(document)

    assert value == {"n": [int(digits)]}
    assert dumps(value) == document.encode()
    assert loads(dumps(value)) == value


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_with_one_digit_too_many_is_refused(sign: str) -> None:
    assert read(sign + "9" * MAX_INTEGER_DIGITS) == int(sign + "9" * MAX_INTEGER_DIGITS)

    assert refusal(f'{{"n":{sign}1{"0" * MAX_INTEGER_DIGITS}}}') == ("invalid_number", "/n")
    assert refusal(f"[{sign}{'9' * 900_000}]") == ("invalid_number", "/0")
    assert refusal_of_value([10**MAX_INTEGER_DIGITS]) == ("invalid_number", "/0")


def test_doubles_out_of_range_are_refused_and_tiny_ones_are_zero() -> None:
    assert refusal('{"a":[0,1e400]}') == ("invalid_number", "/a/1")
    assert refusal("-1e99999999999999999999") == ("invalid_number", "")
    assert refusal_of_value([float("nan")]) == ("invalid_number", "/0")
    assert refusal_of_value({"a": -float("inf")}) == ("invalid_number", "/a")
    assert dumps(read("[1e-400,-1e-400]")) == b"[0,0]"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("333333333.33333329", "333333333.3333333"),
        ("1E30", "1e+30"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.000000000000000000000000001", "1e-27"),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("123456789012345678901.0", "123456789012345680000"),
        ("12345678901234567890.0", "12345678901234567000"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("-1.50e1", "-15"),
        ("0.0001", "0.0001"),
        ("0.00001", "0.00001"),
        ("1e-6", "0.000001"),
        ("1.5e-7", "1.5e-7"),
        ("123e-20", "1.23e-18"),
    ],
)
def test_doubles_are_written_as_ecmascript_writes_them(given: str, kept: str) -> None:
    assert dumps(read(f"[{given}]")) == f"[{kept}]".encode()
    assert dumps(loads(f"[{kept}]".encode())) == f"[{kept}]".encode()


@pytest.mark.parametrize(
    ("bits", "kept"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_the_doubles_that_rfc_8785_lists_are_written_as_it_says(bits: str, kept: str) -> None:
    (double,) = struct.unpack(">d", bytes.fromhex(bits))

    assert dumps(double) == kept.encode()
