"""Strict fields of request bodies: exact JSON types, bounded values, no repairs. Messages repeat nothing of a body."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api import errors
from runs import canonical
from runs.errors import InvalidDocument, Refusal

BIGGEST: Final = 2**63 - 1
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NAMED_UNKNOWN: Final = 20
_NAME_SHOWN: Final = 60


class Text(serializers.CharField):
    """Text as it came, blanks and all. `most` is in characters (code points), `most_bytes` in UTF-8."""

    default_error_messages = {
        "invalid": "This must be text.",
        "blank": "This must not be empty.",
        "null": "This must not be null.",
        "required": "This is required.",
        "max_length": "This must have at most {max_length} characters.",
        "bytes": "This must have at most {most} bytes in UTF-8.",
        "control": "This must not hold control characters.",
        "outer": "This must not begin or end with a blank.",
    }

    def __init__(self, *, most: int | None = None, most_bytes: int | None = None, **kwargs: Any) -> None:
        least = None if kwargs.get("allow_blank") else 1
        super().__init__(min_length=least, max_length=most, trim_whitespace=False, **kwargs)
        self.most_bytes = most_bytes

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if self.most_bytes is not None and len(data.encode()) > self.most_bytes:
            self.fail("bytes", most=self.most_bytes)
        return data


class Name(Text):
    """1 to 200 characters, none of them a control character, without outer blanks."""

    def __init__(self, *, most: int = 200, **kwargs: Any) -> None:
        super().__init__(most=most, **kwargs)

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if _CONTROL.search(text):
            self.fail("control")
        if text.strip() != text:
            self.fail("outer")
        return text


class Id(Text):
    """An id whose form the queue judges itself, with a code of its own."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=True, **kwargs)


class Formed(Text):
    """Text of a fixed form."""

    def __init__(self, form: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.validators.append(RegexValidator(rf"^(?:{form})\Z", f"This must match {form}."))


class LeaseToken(Formed):
    """A secret that its holder made: 32 to 200 visible ASCII characters."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("[!-~]{32,200}", write_only=True, **kwargs)


class Whole(serializers.IntegerField):
    """A JSON integer within bounds: neither text, nor true, nor 1.0."""

    default_error_messages = {
        "invalid": "This must be an integer.",
        "null": "This must not be null.",
        "required": "This is required.",
        "max_value": "This must be at most {max_value}.",
        "min_value": "This must be at least {min_value}.",
    }

    def __init__(self, *, low: int = 0, high: int = BIGGEST, **kwargs: Any) -> None:
        super().__init__(min_value=low, max_value=high, **kwargs)

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


class Flag(serializers.BooleanField):
    """true or false, and nothing that looks like them."""

    default_error_messages = {
        "invalid": "This must be true or false.",
        "null": "This must not be null.",
        "required": "This is required.",
    }

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class OneOf(serializers.ChoiceField):
    """One of a few texts."""

    default_error_messages = {
        "invalid_choice": "This must be one of: {names}.",
        "null": "This must not be null.",
        "required": "This is required.",
    }

    def __init__(self, names: Collection[str], **kwargs: Any) -> None:
        super().__init__(choices=list(names), **kwargs)

    def to_internal_value(self, data: object) -> str:
        if not (isinstance(data, str) and data in self.choices):
            self.fail("invalid_choice", names=", ".join(self.choices))
        return data


@extend_schema_field({"description": "Any JSON value."})
class Document(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value, null included, within the limits of stored documents, or `most_bytes` of them."""

    default_error_messages = {"required": "This is required."}

    def __init__(self, *, most_bytes: int | None = None, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)
        self.most_bytes = most_bytes

    def to_internal_value(self, data: object) -> object:
        limits = settings.WORKFLOWQ
        most = self.most_bytes or limits["MAX_DOCUMENT_BYTES"]
        try:
            canonical.dumps(data, max_bytes=most, max_depth=limits["MAX_JSON_DEPTH"])
        except canonical.DocumentError as error:
            place = f"/{self.field_name}{error.place}"
            raise InvalidDocument(error.message, code=error.code, place=place) from None
        return data


@extend_schema_field({"type": "object", "additionalProperties": {}})
class ObjectDocument(Document):
    """A JSON object, or null."""

    default_error_messages = {"object": "This must be an object."}

    def to_internal_value(self, data: object) -> object:
        if not isinstance(data, dict):
            self.fail("object")
        return super().to_internal_value(data)


class Several(serializers.ListField):
    """From `least` to `most` items, counted before any of them is looked at."""

    default_error_messages = {
        "not_a_list": "This must be a list.",
        "null": "This must not be null.",
        "required": "This is required.",
        "too_few": "This must have at least {least} items.",
        "too_many": "This must have at most {most} items.",
        "twice": "No item may come twice.",
    }

    def __init__(self, child: Any, *, most: int, least: int = 0, distinct: bool = False, **kwargs: Any) -> None:
        super().__init__(child=child, min_length=least, max_length=most, **kwargs)
        self.least, self.most, self.distinct = least, most, distinct

    def to_internal_value(self, data: object) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        if len(data) < self.least:
            self.fail("too_few", least=self.least)
        if len(data) > self.most:
            self.fail("too_many", most=self.most)
        items: list[Any] = super().to_internal_value(data)
        if self.distinct and len(set(items)) < len(items):
            self.fail("twice")
        return items


@dataclass(frozen=True, slots=True)
class FaultyItem:
    """An item of a batch that can't be carried out, and the run that it named, if it did."""

    run_id: str | None
    refusal: Refusal


class Items(Several):
    """The items of a batch; one that is not as it must be becomes a FaultyItem and stands in no other's way."""

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        return [self._item(item, place) for place, item in enumerate(data)]

    def _item(self, data: object, place: int) -> Any:
        try:
            return self.child.run_validation(data)
        except serializers.ValidationError as error:
            refusal: Refusal = errors.InvalidRequest(faults(error.detail))
        except InvalidDocument as error:
            facts = {**error.facts, "place": f"/{self.field_name}/{place}{error.facts['place']}"}
            refusal = InvalidDocument(error.detail, code=error.code, **facts)
        run_id = data.get("run_id") if isinstance(data, Mapping) else None
        return FaultyItem(run_id if isinstance(run_id, str) else None, refusal)


class Shape(serializers.Serializer[Any]):
    """An object with these members and no others."""

    default_error_messages = {"invalid": "This must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError({"": ["This must be an object."]})
        unknown = [name for name in data if name not in self.fields]
        if unknown:
            raise serializers.ValidationError(
                {_shown(name): ["There is no such member."] for name in unknown[:_NAMED_UNKNOWN]}
            )
        return super().to_internal_value(data)


def validated(shape: Shape, body: dict[str, Any]) -> dict[str, Any]:
    """The members of `body` as `shape` wants them. Shapes keep no state: one instance serves all requests."""
    try:
        asked: dict[str, Any] = shape.run_validation(body)
    except serializers.ValidationError as error:
        raise errors.InvalidRequest(faults(error.detail)) from None
    return asked


def faults(detail: Any, place: str = "") -> dict[str, list[str]]:
    """What is wrong with each member; members of members are named with a dot between."""
    if isinstance(detail, Mapping):
        found: dict[str, list[str]] = {}
        for name, inner in detail.items():
            found |= faults(inner, f"{place}.{name}" if place else str(name))
        return found
    return {place: [str(text) for text in detail]}


def _shown(name: str) -> str:
    return name if len(name) <= _NAME_SHOWN else name[: _NAME_SHOWN - 1] + "…"
