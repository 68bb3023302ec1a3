"""The workflow "inventory": hashes every file of a folder in durable steps and sums up.

However large the folder, no step's output passes a few hundred kilobytes: the listing is cut into parts ("list",
"list:2", ...), the hashing into slices of at most FILES_PER_STEP files. Of duplicates and skipped files only the first
are told, but all are counted.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from workflowq.demo.folder import Hashed, entries, hash_file
from workflowq.demo.names import real, shown
from workflowq.runner import Context, Json, workflow

EXCLUDED_BY_DEFAULT = (".git", ".venv", "node_modules", "var", "__pycache__")
FILES_PER_STEP = 8_000
PART_CHARACTERS = 600_000
MAX_STEPS = 100
_STEPS = 5
_GROUPS, _PATHS_PER_GROUP, _GROUP_CHARACTERS = 100, 20, 200_000
_SKIPPED, _LARGEST = 50, 10
_WEIGHT_OF_A_FILE = 50_000  # opening one takes about as long as hashing this many bytes

Listed: TypeAlias = "tuple[str, int]"  # path and size


class InputWrong(ValueError):
    """The run's input is not what this workflow takes."""


@dataclass(frozen=True, slots=True)
class Order:
    """The run's input, checked."""

    folder: str
    steps: int
    exclude: tuple[str, ...]


@dataclass(slots=True)
class Found:
    """What the hashing brought: one row a file, and what could not be read."""

    files: list[tuple[str, int, str]] = field(default_factory=list)  # path, bytes, SHA-256
    skipped: int = 0
    first_skipped: list[list[str]] = field(default_factory=list)

    def skip(self, count: int, first: Sequence[list[str]]) -> None:
        self.skipped += count
        self.first_skipped += first[: _SKIPPED - len(self.first_skipped)]


@workflow("inventory")
def take_inventory(ctx: Context, input: Json) -> Json:
    """Lists, hashes slice by slice, looks for duplicates and sums up."""
    order = read_order(input)
    found = Found()
    listed: list[Listed] = []
    for part in _parts(ctx, order):
        listed += [(path, size) for path, size in part["files"]]
        found.skip(part["skipped"], part["first_skipped"])
    for number, piece in enumerate(slices(listed, order.steps), start=1):
        hashed = ctx.step(f"hash:{number}", hash_slice, ctx, order.folder, piece)
        found.files += [(path, row[1], row[0]) for (path, _), row in zip(piece, hashed["files"], strict=True) if row]
        found.skip(hashed["skipped"], hashed["first_skipped"])
    doubles = ctx.step("duplicates", find_duplicates, found)
    return {**ctx.step("summary", sum_up, order, found), **doubles}


def read_order(input: Json) -> Order:
    """The checked input; refuses what is missing or of another kind, in words for whoever wrote it."""
    if not isinstance(input, dict) or not isinstance(input.get("folder"), str) or not input["folder"]:
        raise InputWrong('the input must name a folder: {"folder": "/some/path"}')
    steps = input.get("steps", _STEPS)
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MAX_STEPS:
        raise InputWrong(f'"steps" must be a number from 1 to {MAX_STEPS}')
    exclude = input.get("exclude", list(EXCLUDED_BY_DEFAULT))
    if not isinstance(exclude, list) or not all(isinstance(name, str) for name in exclude):
        raise InputWrong('"exclude" must be a list of folder names')
    folder = os.path.abspath(os.path.expanduser(real(input["folder"])))
    if not os.path.isdir(folder):
        raise InputWrong(f"there is no folder {shown(folder)} on the runner's machine")
    return Order(folder, steps, tuple(exclude))


def _parts(ctx: Context, order: Order) -> Iterator[dict[str, Any]]:
    after: str | None = ""
    number = 1
    while after is not None:
        part = ctx.step("list" if number == 1 else f"list:{number}", list_part, ctx, order, after)
        yield part
        after, number = part["next"], number + 1


def list_part(ctx: Context, order: Order, after: str) -> Json:
    """The next files beyond `after`, as many as one output may hold; `next` is where the following part begins."""
    files: list[Listed] = []
    skipped: list[list[str]] = []
    count = characters = 0
    for entry in entries(order.folder, order.exclude, after):
        if entry.skipped is not None:
            count += 1
            skipped += [[entry.path, entry.skipped]][: _SKIPPED - len(skipped)]
        else:
            files.append((entry.path, entry.size))
            characters += len(json.dumps(files[-1])) + 1
            ctx.progress({"files": len(files)})
        if len(files) == FILES_PER_STEP or characters >= PART_CHARACTERS:
            return {"files": files, "skipped": count, "first_skipped": skipped, "next": entry.path}
    return {"files": files, "skipped": count, "first_skipped": skipped, "next": None}


def slices(listed: Sequence[Listed], wanted: int) -> list[list[Listed]]:
    """The files in about the wanted number of runs of equal work, none of them with too many for one output."""
    pieces: list[list[Listed]] = [[]] if listed else []
    left, weight = sum(map(_weight, listed)), 0  # of the files from the last piece on, and of the last piece
    for one in listed:
        heavy = len(pieces) < wanted and weight * (wanted - len(pieces) + 1) >= left
        if pieces[-1] and (heavy or len(pieces[-1]) >= FILES_PER_STEP):
            pieces.append([])
            left, weight = left - weight, 0
        pieces[-1].append(one)
        weight += _weight(one)
    return pieces


def hash_slice(ctx: Context, folder: str, piece: Sequence[Listed]) -> Json:
    """SHA-256 and true size of each file, in order; none for a file that could not be read."""
    total, done = sum(size for _, size in piece), 0
    rows: list[tuple[str, int] | None] = []
    skipped: list[list[str]] = []

    def advance(count: int) -> None:
        nonlocal done
        done += count
        ctx.progress({"files": len(rows), "files_total": len(piece), "bytes": done, "bytes_total": total})

    for path, _ in piece:
        advance(0)
        hashed = hash_file(folder, path, advance)
        if isinstance(hashed, Hashed):
            rows.append((hashed.sha256, hashed.size))
        else:
            rows.append(None)
            skipped.append([path, hashed])
    return {"files": rows, "skipped": len(skipped), "first_skipped": skipped[:_SKIPPED]}


def find_duplicates(found: Found) -> Json:
    """The groups of files with equal bytes, the most wasteful first; bounded, but counted whole."""
    by_digest: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, size, digest in found.files:
        by_digest[digest].append((path, size))
    groups = [(digest, same) for digest, same in by_digest.items() if len(same) > 1]
    groups.sort(key=lambda group: (-_wasted(group[1]), group[0]))
    told: list[dict[str, Any]] = []
    characters = 0
    for digest, same in groups[:_GROUPS]:
        paths = sorted(path for path, _ in same)[:_PATHS_PER_GROUP]
        group = {"sha256": digest, "bytes": same[0][1], "count": len(same), "paths": paths}
        characters += len(json.dumps(group))
        if characters > _GROUP_CHARACTERS:
            break
        told.append(group)
    wasted = sum(_wasted(same) for _, same in groups)
    return {"duplicates": told, "duplicate_groups": len(groups), "wasted_bytes": wasted}


def sum_up(order: Order, found: Found) -> Json:
    """Counts, bytes, the largest files and what was skipped."""
    largest = sorted(found.files, key=lambda file: (-file[1], file[0]))[:_LARGEST]
    return {
        "folder": shown(order.folder),
        "files": len(found.files),
        "bytes": sum(size for _, size, _ in found.files),
        "largest": [{"path": path, "bytes": size} for path, size, _ in largest],
        "skipped": {
            "count": found.skipped,
            "first": [{"path": path, "reason": reason} for path, reason in found.first_skipped],
        },
    }


def _weight(one: Listed) -> int:
    return one[1] + _WEIGHT_OF_A_FILE


def _wasted(same: Sequence[tuple[str, int]]) -> int:
    return same[0][1] * (len(same) - 1)
