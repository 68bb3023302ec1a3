"""JSON Schema (draft 2020-12) for what people enter: a bounded part of it, of which no schema can cost much to apply.

No references, so that nothing is fetched and nothing recurs; no patterns, since Python's can take for ever. A keyword
that is not known here is refused instead of being passed over: it would promise a check that nobody makes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import create

from runs import canonical, errors

SCHEMA_BYTES: Final = 16_384
SCHEMA_DEPTH: Final = 20
# Values of any kind in a schema, and in what is checked by one: what a check costs is their product at most.
MOST_PARTS: Final = 500
_FAULTS_SHOWN: Final = 10

_ONE_SCHEMA: Final = frozenset(
    {"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"}
)
_MANY_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED_SCHEMAS: Final = frozenset({"properties", "dependentSchemas"})
_ASSERTIONS: Final = frozenset(
    {
        "type", "enum", "const", "required", "dependentRequired",
        "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
    }
)  # fmt: skip
# They say something to people and check nothing; `format` is a note by the standard's own default.
_ANNOTATIONS: Final = frozenset(
    {"$comment", "title", "description", "default", "examples", "format", "readOnly", "writeOnly", "deprecated"}
)
_KNOWN: Final = _ONE_SCHEMA | _MANY_SCHEMAS | _NAMED_SCHEMAS | _ASSERTIONS | _ANNOTATIONS
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def check(schema: object, place: str) -> None:
    """Refuse what is not a schema of the known keywords, or is a large one. `place` is a JSON pointer to it."""
    try:
        canonical.dumps(schema, max_bytes=SCHEMA_BYTES, max_depth=SCHEMA_DEPTH)
    except canonical.DocumentError as error:
        raise errors.InvalidDocument(error.message, code=error.code, place=place + error.place) from None
    if _parts(schema) > MOST_PARTS:
        raise errors.InvalidSchema(f"A schema has at most {MOST_PARTS} parts.", place=place)
    if isinstance(schema, Mapping) and schema.get("$schema", _DIALECT) != _DIALECT:
        raise errors.InvalidSchema(f"Schemas are of {_DIALECT}.", place=f"{place}/$schema")
    try:
        Draft202012Validator.check_schema(_bare(schema))
    except SchemaError as error:
        raise errors.InvalidSchema(_said(error), place=place + _pointer(error)) from None
    _check_keywords(_bare(schema), place)


def faults(schema: Any, value: object) -> list[dict[str, str]]:
    """What is wrong with `value` by a checked schema: the place and the keyword of each fault, some of them at most."""
    if _parts(value) > MOST_PARTS:
        return [{"place": "", "keyword": f"at most {MOST_PARTS} parts"}]
    found: list[dict[str, str]] = []
    for error in _Validator(_bare(schema)).iter_errors(value):
        found.append({"place": _pointer(error), "keyword": str(error.validator)})
        if len(found) == _FAULTS_SHOWN:
            break
    return found


def _parts(document: Any) -> int:
    """How many values a document is made of."""
    count, todo = 0, [document]
    while todo:
        value = todo.pop()
        count += 1
        todo += value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return count


def _bare(schema: Any) -> Any:
    return {k: v for k, v in schema.items() if k != "$schema"} if isinstance(schema, Mapping) else schema


def _check_keywords(schema: Any, place: str) -> None:
    if isinstance(schema, bool):
        return
    for keyword, value in schema.items():
        if keyword not in _KNOWN:
            raise errors.InvalidSchema(
                "This schema keyword is not taken.", place=place, keyword=str(keyword)[:60], known=sorted(_KNOWN)
            )
        if keyword in _ONE_SCHEMA:
            _check_keywords(value, f"{place}/{keyword}")
        elif keyword in _MANY_SCHEMAS:
            for number, inner in enumerate(value):
                _check_keywords(inner, f"{place}/{keyword}/{number}")
        elif keyword in _NAMED_SCHEMAS:
            for name, inner in value.items():
                _check_keywords(inner, f"{place}/{keyword}/{name}")


def _unique_items(validator: Any, wanted: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    """The library compares each item with each; equal documents have equal bytes."""
    if wanted and isinstance(value, list) and len({canonical.dumps(item) for item in value}) < len(value):
        yield ValidationError("Two items are equal.")


def _pointer(error: ValidationError | SchemaError) -> str:
    return "".join(f"/{part}" for part in error.absolute_path)[:200]


def _said(error: SchemaError) -> str:
    return f"This is not a schema: {error.validator} is not met."


_Validator: Final = create(
    meta_schema=Draft202012Validator.META_SCHEMA,
    validators={
        keyword: check for keyword, check in Draft202012Validator.VALIDATORS.items() if keyword in _KNOWN - _ANNOTATIONS
    }
    | {"uniqueItems": _unique_items},
    type_checker=Draft202012Validator.TYPE_CHECKER,
)
