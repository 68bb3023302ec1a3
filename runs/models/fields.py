"""Choices and checks that the models' constraints share."""

from collections.abc import Iterable
from enum import Enum

from django.db.models import CheckConstraint, Q


def choices(kind: type[Enum]) -> list[tuple[str, str]]:
    """Django's choices for a text enum."""
    return [(member.value, member.value.replace("_", " ")) for member in kind]


def one_of(field: str, kind: Iterable[Enum], name: str) -> CheckConstraint:
    """A check that `field` holds one of the enum's values."""
    return CheckConstraint(name=name, condition=Q(**{f"{field}__in": [member.value for member in kind]}))


def exactly_when(stamp: str, field: str, members: Iterable[Enum], name: str) -> CheckConstraint:
    """A check that the time `stamp` is set exactly when `field` is one of `members`."""
    within = Q(**{f"{field}__in": sorted(member.value for member in members)})
    unset = Q(**{f"{stamp}__isnull": True})
    return CheckConstraint(name=name, condition=(within & ~unset) | (~within & unset))
