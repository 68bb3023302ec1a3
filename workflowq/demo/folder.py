"""Reading a folder: its files in one fixed order, and the hash of one of them. Knows no runs and no steps."""

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from workflowq.demo.names import real, shown

_CHUNK = 1 << 20
# No waiting for a pipe's other end, no going through a link that took a file's place.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file below the folder, or something that could not be looked at, with the reason. The path is as shown."""

    path: str
    size: int = 0
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class Hashed:
    sha256: str
    size: int


def entries(folder: str, exclude: Collection[str], after: str = "") -> Iterator[Entry]:
    """The files beyond the path `after`, sorted by path, without excluded folders; links aren't followed."""
    stack = [_inside(folder, "", exclude, after)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Entry):
            if item.path > after:
                yield item
        else:
            stack.append(_inside(folder, item, exclude, after))


def hash_file(folder: str, path: str, on_bytes: Callable[[int], None]) -> Hashed | str:
    """The SHA-256 of a file's bytes, or why there is none; `on_bytes` hears of each piece read."""
    digest, size = hashlib.sha256(), 0
    try:
        descriptor = os.open(os.path.join(folder, real(path)), _FLAGS)
        with open(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "not a regular file"
            while piece := file.read(_CHUNK):
                digest.update(piece)
                size += len(piece)
                on_bytes(len(piece))
    except OSError as error:
        return _reason(error)
    return Hashed(digest.hexdigest(), size)


def _inside(folder: str, prefix: str, exclude: Collection[str], after: str) -> Iterator[Entry | str]:
    """The entries of one folder in path order; a text is the prefix of a folder to go into."""
    try:
        with os.scandir(os.path.join(folder, real(prefix))) as found:
            here = sorted(_key(prefix, one) for one in found)
    except OSError as error:
        yield Entry(prefix or "./", skipped=_reason(error))
        return
    for path, is_folder, name in here:
        if is_folder:
            # Wholly before the mark: seen by an earlier part of the listing.
            if shown(name) not in exclude and (path > after or after.startswith(path)):
                yield path
        elif (entry := _entry(folder, path)) is not None:
            yield entry


def _key(prefix: str, found: "os.DirEntry[str]") -> tuple[str, bool, str]:
    try:
        is_folder = found.is_dir(follow_symlinks=False)
    except OSError:
        is_folder = False
    # With its slash a folder sorts where its files' paths do.
    return prefix + shown(found.name) + ("/" if is_folder else ""), is_folder, found.name


def _entry(folder: str, path: str) -> Entry | None:
    try:
        status = os.lstat(os.path.join(folder, real(path)))
    except OSError as error:
        return Entry(path, skipped=_reason(error))
    if stat.S_ISLNK(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Entry(path, skipped="not a regular file")
    return Entry(path, status.st_size)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
