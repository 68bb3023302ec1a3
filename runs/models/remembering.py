"""Rows that know how they stood when they were read, so that the journal can tell what a transition moved."""

from collections.abc import Collection
from typing import Any, Self

from django.db import models


class Remembering(models.Model):
    """A row that was never stored has been nothing before: all of it has moved."""

    class Meta:
        abstract = True

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """As Django's, and remembers."""
        row = super().from_db(db, field_names, values, **options)
        row.remember()
        return row

    def remember(self) -> None:
        """What has moved up to now is known."""
        before = dict(self.__dict__)
        # Not what was remembered before: a row that is told of again and again would drag all of its past along.
        before.pop("_before", None)
        self._before = before

    def has_moved(self, name: str) -> bool:
        """Whether the attribute is another than it was; one that was not read, and is not set, has not moved."""
        present = self.__dict__
        if name not in present:
            return False
        before: dict[str, Any] = present.get("_before", _NOTHING)
        return name not in before or bool(before[name] != present[name])

    @property
    def is_new(self) -> bool:
        """Whether nobody has been told of this row yet."""
        return "_before" not in self.__dict__


_NOTHING: dict[str, Any] = {}
