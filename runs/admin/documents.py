"""Stored documents as a page shows them: their beginning, laid out; the whole ones are downloaded."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.db.models import BinaryField
from django.db.models.functions import Substr
from django.http import HttpResponse

from runs.admin import pretty
from runs.admin.text import visible
from runs.models import Blob
from runs.models.blob import JSON

EXCERPT: Final = 65_536
BRIEF_EXCERPT: Final = 2_000
# Indentation may make more of a document than it is.
_LAID_OUT_FACTOR: Final = 2


@dataclass(frozen=True, slots=True)
class Document:
    """The beginning of a document, escaped by the template or already safe; `size` is the whole one's, in bytes."""

    text: str
    size: int
    whole: bool


def excerpts(keys: Iterable[int | None], limit: int = EXCERPT) -> dict[int, Document]:
    """The documents of these blobs by key, read as far as `limit` bytes; one statement."""
    wanted = {key for key in keys if key is not None}
    beginning = Substr("content", 1, limit, output_field=BinaryField())
    rows = Blob.objects.filter(pk__in=wanted).annotate(beginning=beginning)
    return {
        key: _document(kind, size, bytes(content), limit)
        for key, kind, size, content in rows.values_list("pk", "media_type", "size", "beginning")
    }


def _document(media_type: str, size: int, beginning: bytes, limit: int) -> Document:
    # A character that the cut went through is left out.
    text = beginning.decode(errors="ignore")
    if media_type != JSON:
        return Document(visible(text), size, size <= limit)
    lines, all_of_it = pretty.laid_out(text, limit * _LAID_OUT_FACTOR)
    return Document(lines, size, all_of_it and size <= limit)


def download(blob: Blob, name: str) -> HttpResponse:
    """The stored bytes as a file, which no browser opens as a page."""
    suffix = "json" if blob.media_type == JSON else "txt"
    response = HttpResponse(bytes(blob.content), content_type=blob.media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}.{suffix}"'
    return response
