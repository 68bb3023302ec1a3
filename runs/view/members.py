"""What is shown of each row: the members of a viewer's entry, and which attributes move them. No database here."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from runs import canonical, clock
from runs.models import Blob

EXCERPT = 1_000  # code points of an error text; the whole is a document of its own
EXCERPT_BYTES = 4 * EXCERPT


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an entry. It is told anew whenever one of these attributes of its row has moved."""

    shown: Callable[[Any], Any]
    moved_by: tuple[str, ...]


Members = dict[str, Member]


def plain(*names: str) -> Members:
    """Text, numbers and booleans as they are; the words of enums."""
    return {name: Member(_plain(name), (name,)) for name in names}


def times(*names: str) -> Members:
    """Times as RFC 3339 text in UTC with milliseconds."""
    return {name: Member(_time(name), (name,)) for name in names}


def references(*names: str) -> Members:
    """Documents that are fetched when somebody wants to see them: {digest, media_type, size}, or null."""
    return {name: Member(_reference(name), (f"{name}_id",)) for name in names}


def excerpt(name: str, of: str) -> Members:
    """The beginning of a stored text; a reader may have annotated it as `<of>_beginning`."""
    return {name: Member(_excerpt(of), (f"{of}_id",))}


def digests(*names: str) -> Members:
    """SHA-256 digests as `sha256:` and 64 hex digits."""
    return {name: Member(_digest(name), (name,)) for name in names}


def named(name: str, by: Callable[[Any], Any], *moved_by: str) -> Members:
    """A member that is made of other attributes."""
    return {name: Member(by, moved_by)}


def key_of(*parts: str | int) -> str:
    """One text for several ids, each of which may hold any character."""
    return canonical.dumps(list(parts)).decode()


def reference(blob: Blob | None) -> dict[str, Any] | None:
    """Which document it is."""
    if blob is None:
        return None
    digest = "sha256:" + bytes(blob.digest).hex()
    return {"digest": digest, "media_type": blob.media_type, "size": blob.size}


def _plain(name: str) -> Callable[[Any], Any]:
    def shown(row: Any) -> Any:
        value = getattr(row, name)
        if isinstance(value, IntEnum):
            return value.value
        return str(value) if isinstance(value, str) else value

    return shown


def _time(name: str) -> Callable[[Any], str | None]:
    def shown(row: Any) -> str | None:
        at = getattr(row, name)
        return None if at is None else clock.text(at)

    return shown


def _reference(name: str) -> Callable[[Any], dict[str, Any] | None]:
    return lambda row: reference(getattr(row, name))


def _excerpt(name: str) -> Callable[[Any], str | None]:
    def shown(row: Any) -> str | None:
        if getattr(row, f"{name}_id") is None:
            return None
        if f"{name}_beginning" in row.__dict__:
            # SQLite's substr makes NULL of an empty blob.
            beginning = getattr(row, f"{name}_beginning") or b""
        else:
            beginning = getattr(row, name).content[:EXCERPT_BYTES]
        # What is cut in the middle of a character is beyond the excerpt anyway.
        return bytes(beginning).decode(errors="ignore")[:EXCERPT]

    return shown


def _digest(name: str) -> Callable[[Any], str]:
    return lambda row: "sha256:" + bytes(getattr(row, name)).hex()
