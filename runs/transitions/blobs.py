"""Storing documents and texts as content-addressed blobs, many at once."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.conf import settings

from runs import canonical, errors
from runs.models import Blob, Project
from runs.models.blob import JSON, TEXT

ENCLOSING_LEVELS = 5
Content = tuple[str, bytes]  # media type, bytes


def document(value: Any) -> Content:
    """A JSON document in its canonical bytes. Refuses what can't be stored and what is too large."""
    return JSON, encoded(value, settings.WORKFLOWQ["MAX_DOCUMENT_BYTES"])


def enclosing(value: Any) -> Content:
    """A document of the queue's own around callers' documents: each of them may be as deep as documents may be."""
    limit = settings.WORKFLOWQ["MAX_DOCUMENT_BYTES"]
    return JSON, encoded(value, limit, max_depth=canonical.MAX_DEPTH + ENCLOSING_LEVELS)


def encoded(value: Any, max_bytes: int, *, max_depth: int = canonical.MAX_DEPTH) -> bytes:
    """The canonical bytes of a JSON value of at most `max_bytes` of them."""
    try:
        return canonical.dumps(value, max_bytes=max_bytes, max_depth=max_depth)
    except canonical.DocumentError as error:
        raise errors.InvalidDocument(error.message, code=error.code, place=error.place) from None


def text(value: str) -> Content:
    """A text in UTF-8. Refuses what can't be stored."""
    try:
        return TEXT, canonical.check_text(value).encode()
    except canonical.DocumentError as error:
        raise errors.InvalidDocument(error.message, code=error.code) from None


def stored(project: Project, contents: Iterable[Content], at: datetime) -> dict[Content, Blob]:
    """A blob for each of these contents; three statements at most, however many."""
    wanted = {(kind, canonical.digest(content)): content for kind, content in contents}
    if not wanted:
        return {}
    found = _found(project, wanted)
    if missing := sorted(wanted.keys() - found.keys()):
        # In key order, so that two batches can't wait for each other in a circle; a twin's row is as good as ours.
        rows = [_blob(project, key, wanted[key], at) for key in missing]
        Blob.objects.bulk_create(rows, ignore_conflicts=True)
        found = _found(project, wanted)
    return {(key[0], content): found[key] for key, content in wanted.items()}


def _blob(project: Project, key: tuple[str, bytes], content: bytes, at: datetime) -> Blob:
    kind, digest = key
    return Blob(project=project, media_type=kind, digest=digest, size=len(content), content=content, created_at=at)


def _found(project: Project, wanted: dict[tuple[str, bytes], bytes]) -> dict[tuple[str, bytes], Blob]:
    blobs = Blob.objects.filter(project=project, digest__in={digest for _, digest in wanted})
    return {(blob.media_type, bytes(blob.digest)): blob for blob in blobs}
