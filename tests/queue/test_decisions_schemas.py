"""The schemas that inputs of choices may have: what is taken, and that none of them costs much."""

import time
from typing import Any

import pytest

from runs import errors, rules_schemas

TAKEN: list[Any] = [
    True,
    {},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"$ref": {"const": 1}}},
    {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "maxItems": 2},
    {"oneOf": [{"type": "string"}, {"type": "null"}], "title": "Why", "format": "email"},
    {"if": {"const": 1}, "then": True, "else": False},
]
REFUSED: list[Any] = [
    1,
    "text",
    [],
    {"type": "text"},
    {"$ref": "#"},
    {"$ref": "https://example.org/schema.json"},
    {"$dynamicRef": "#x"},
    {"$id": "https://example.org/schema.json"},
    {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"pattern": "(a+)+$"},
    {"patternProperties": {"(a+)+$": True}},
    {"properties": {"a": {"pattern": "x"}}},
    {"allOf": [{"$ref": "#"}]},
    {"unknownKeyword": 1},
    {"minimum": "1"},
    {"enum": list(range(600))},
    {"description": "x" * 20_000},
]


@pytest.mark.parametrize("schema", TAKEN)
def test_a_bounded_part_of_the_standard_is_taken(schema: Any) -> None:
    rules_schemas.check(schema, "")


@pytest.mark.parametrize("schema", REFUSED)
def test_anything_else_is_refused(schema: Any) -> None:
    with pytest.raises(errors.Invalid):
        rules_schemas.check(schema, "/choices/0/input_schema")


def test_a_schema_nested_too_deep_is_refused() -> None:
    schema: Any = True
    for _ in range(30):
        schema = {"not": schema}

    with pytest.raises(errors.InvalidDocument):
        rules_schemas.check(schema, "")


def test_faults_are_named_by_place_and_keyword_and_repeat_nothing() -> None:
    schema = {"type": "object", "required": ["count"], "properties": {"name": {"maxLength": 3}}}

    assert rules_schemas.faults(schema, {"name": "secret"}) == [
        {"place": "", "keyword": "required"}, {"place": "/name", "keyword": "maxLength"}
    ]  # fmt: skip
    assert rules_schemas.faults(schema, {"name": "abc", "count": 1}) == []
    assert rules_schemas.faults(False, 1) == [{"place": "", "keyword": "None"}]


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), ("a", "a"), ({"x": 1}, {"x": 1.0})])
def test_items_are_equal_as_documents_are(left: Any, right: Any) -> None:
    assert rules_schemas.faults({"uniqueItems": True}, [left, right]) == [{"place": "", "keyword": "uniqueItems"}]
    assert rules_schemas.faults({"uniqueItems": True}, [1, True]) == []


@pytest.mark.parametrize("number", [10**999, -(10**999), 1.5, 2**60])
def test_numbers_of_any_size_are_compared(number: float) -> None:
    assert rules_schemas.faults({"minimum": 0.5, "type": "number"}, number) in (
        [],
        [{"place": "", "keyword": "minimum"}],
    )
    assert rules_schemas.faults({"enum": [0.5, 1]}, number) == [{"place": "", "keyword": "enum"}]


def test_the_costliest_check_takes_a_bounded_time() -> None:
    schema = {"items": {"allOf": [{"not": {"const": 1}}] * 120}}
    rules_schemas.check(schema, "")
    began = time.perf_counter()

    rules_schemas.faults(schema, ["x"] * (rules_schemas.MOST_PARTS - 1))

    assert time.perf_counter() - began < 20
    assert rules_schemas.faults(schema, ["x"] * rules_schemas.MOST_PARTS)
