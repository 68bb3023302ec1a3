"""The inventory against an independent count, and at its edges."""

import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.demo.local_context import LocalContext
from workflowq.demo import take_inventory
from workflowq.demo.folder import entries
from workflowq.demo.inventory import EXCLUDED_BY_DEFAULT, FILES_PER_STEP, InputWrong, slices
from workflowq.demo.names import real

MEBIBYTE = 1 << 20


def inventory(folder: Path, context: LocalContext | None = None, **members: Any) -> dict[str, Any]:
    result: dict[str, Any] = take_inventory(context or LocalContext(), {"folder": str(folder), **members})  # type: ignore[arg-type]
    return result


def count_otherwise(folder: Path, exclude: tuple[str, ...] = EXCLUDED_BY_DEFAULT) -> dict[str, Any]:
    """The same figures by os.walk and whole reads."""
    content: dict[str, bytes] = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in exclude]
        for name in files:
            path = Path(top, name)
            if path.is_file() and not path.is_symlink():
                content[path.relative_to(folder).as_posix()] = path.read_bytes()
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in content.items()}
    copies = Counter(digests.values())
    wasted = sum(len(content[path]) for path in content) - sum(
        {digests[path]: len(content[path]) for path in content}.values()
    )
    return {
        "files": len(content),
        "bytes": sum(map(len, content.values())),
        "duplicate_groups": sum(count > 1 for count in copies.values()),
        "wasted_bytes": wasted,
        "largest": sorted(((len(data), path) for path, data in content.items()), key=lambda one: (-one[0], one[1]))[
            :10
        ],
        "duplicates": {
            digest: sorted(path for path in content if digests[path] == digest)
            for digest, count in copies.items()
            if count > 1
        },
    }


def make_tree(folder: Path, seed: int = 1, files: int = 120) -> None:
    """Files of few different contents in nested folders, some of them excluded."""
    rng = random.Random(seed)
    names = ["src", "src/deep/er", "src-2", "docs", ".git", "docs/node_modules", "a b", "übung"]
    for number in range(files):
        path = folder / rng.choice(names) / f"file-{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([rng.randrange(4)]) * rng.choice([0, 1, 10, 5_000, 2 * MEBIBYTE if number < 3 else 7]))


@pytest.mark.parametrize("steps", [1, 5, 100])
def test_it_agrees_with_an_independent_count(tmp_path: Path, steps: int) -> None:
    make_tree(tmp_path)
    (tmp_path / "link").symlink_to("src")
    (tmp_path / "link-to-file").symlink_to("/etc/hostname")

    result = inventory(tmp_path, steps=steps)

    expected = count_otherwise(tmp_path)
    assert {name: result[name] for name in ("files", "bytes", "duplicate_groups", "wasted_bytes")} == {
        name: expected[name] for name in ("files", "bytes", "duplicate_groups", "wasted_bytes")
    }
    assert [(one["bytes"], one["path"]) for one in result["largest"]] == expected["largest"]
    assert {one["sha256"]: one["paths"] for one in result["duplicates"]} == {
        digest: paths[:20] for digest, paths in expected["duplicates"].items()
    }
    assert result["folder"] == str(tmp_path)
    assert result["skipped"] == {"count": 0, "first": []}


def test_finished_steps_are_not_done_again(tmp_path: Path) -> None:
    make_tree(tmp_path)
    first = LocalContext()
    expected = inventory(tmp_path, first)
    kept = {node: first.done[node] for node in ("list", "hash:1", "hash:2")}

    second = LocalContext(dict(kept))
    (tmp_path / "docs" / "added-later.bin").write_bytes(b"new")

    assert inventory(tmp_path, second) == expected
    assert first.ran == ["list", "hash:1", "hash:2", "hash:3", "hash:4", "hash:5", "duplicates", "summary"]
    assert second.ran == ["hash:3", "hash:4", "hash:5", "duplicates", "summary"]


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    make_tree(tmp_path)
    context = LocalContext()

    inventory(tmp_path, context, steps=1)

    last = context.told[-1]
    assert last["bytes"] == last["bytes_total"]
    assert last["files_total"] - last["files"] <= 1


def test_folders_to_leave_out_can_be_chosen(tmp_path: Path) -> None:
    make_tree(tmp_path)

    result = inventory(tmp_path, exclude=["src", "deep"])

    assert result["files"] == count_otherwise(tmp_path, ("src", "deep"))["files"]


def test_an_empty_folder_has_an_inventory(tmp_path: Path) -> None:
    result = inventory(tmp_path)

    assert (result["files"], result["bytes"], result["duplicates"], result["largest"]) == (0, 0, [], [])


def test_names_that_are_no_text_are_hashed_and_shown_in_a_text_that_json_can_hold(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"caf\xe9-\xff", b"\x80.txt")
    os.mkdir(os.path.dirname(odd))
    with open(odd, "wb") as file:
        file.write(b"12345")

    result = inventory(tmp_path)

    assert result["largest"] == [{"path": "caf\\xe9-\\xff/\\x80.txt", "bytes": 5}]
    json.dumps(result, ensure_ascii=False).encode("utf-8")


def test_what_is_no_file_or_vanished_is_counted_as_skipped(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"1")
    (tmp_path / "vanishing").write_bytes(b"22")
    os.mkfifo(tmp_path / "pipe")
    first = LocalContext()
    inventory(tmp_path, first)
    (tmp_path / "vanishing").unlink()

    result = inventory(tmp_path, LocalContext({"list": first.done["list"]}))

    assert (result["files"], result["bytes"]) == (1, 1)
    assert result["skipped"]["count"] == 2
    assert {one["path"]: one["reason"] for one in result["skipped"]["first"]} == {
        "pipe": "not a regular file",
        "vanishing": "No such file or directory",
    }


def test_a_link_that_took_a_files_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    first = LocalContext()
    inventory(tmp_path, first)
    (tmp_path / "file").unlink()
    (tmp_path / "file").symlink_to("/etc/hostname")

    result = inventory(tmp_path, LocalContext({"list": first.done["list"]}))

    assert (result["files"], result["skipped"]["count"]) == (0, 1)


def test_unreadable_files_and_folders_are_counted_as_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By hand, since for root everything is readable.
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed-file").write_bytes(b"1")
    monkeypatch.setattr("os.scandir", unless_closed(os.scandir))
    monkeypatch.setattr("os.open", unless_closed(os.open))

    result = inventory(tmp_path)

    assert result["skipped"] == {
        "count": 2,
        "first": [
            {"path": "closed/", "reason": "Permission denied"},
            {"path": "closed-file", "reason": "Permission denied"},
        ],
    }


def unless_closed(call: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(path: Any, *rest: Any) -> Any:
        if "closed" in str(path):
            raise PermissionError(13, "Permission denied")
        return call(path, *rest)

    return guarded


def test_a_large_folder_is_listed_in_parts_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tree(tmp_path, files=200)
    whole = inventory(tmp_path)
    monkeypatch.setattr("workflowq.demo.inventory.FILES_PER_STEP", 30)
    context = LocalContext()

    result = inventory(tmp_path, context)

    assert result == whole
    assert len([node for node in context.ran if node.startswith("list")]) >= whole["files"] // 30
    assert all(len(json.loads(text)["files"]) <= 30 for node, text in context.done.items() if ":" in node)


def test_no_step_gives_more_than_a_document_may_hold(tmp_path: Path) -> None:
    for number in range(9_000):
        (tmp_path / f"{'long-name-' * 8}{number}").write_bytes(b"same")
    context = LocalContext()

    result = inventory(tmp_path, context, steps=1)

    assert max(len(text.encode()) for text in context.done.values()) < MEBIBYTE
    assert len(json.dumps(result)) < MEBIBYTE
    assert (result["files"], result["duplicates"][0]["count"]) == (9_000, 9_000)


def test_any_part_begins_where_the_one_before_ended(tmp_path: Path) -> None:
    make_tree(tmp_path)
    for name in ("a", "a-b", "a/c", "a/c.d", "a0"):
        (tmp_path / "x" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / name / "f").write_bytes(b"")
    paths = [entry.path for entry in entries(str(tmp_path), EXCLUDED_BY_DEFAULT)]

    rests = [[one.path for one in entries(str(tmp_path), EXCLUDED_BY_DEFAULT, after)] for after in paths]

    assert paths == sorted(paths)
    assert rests == [paths[index + 1 :] for index in range(len(paths))]
    assert all(os.path.exists(tmp_path / real(path)) for path in paths)


def test_slices_hold_every_file_once_in_order_and_weigh_about_the_same() -> None:
    rng = random.Random(3)
    listed = [(str(number), rng.randrange(2_000_000)) for number in range(1_000)]

    for wanted in (1, 2, 7, 100):
        pieces = slices(listed, wanted)
        weights = [sum(size for _, size in piece) for piece in pieces]

        assert [one for piece in pieces for one in piece] == listed
        assert len(pieces) == wanted
        assert max(weights) < 3 * sum(weights) / len(weights)


def test_slices_are_never_too_large_for_one_output_and_never_empty() -> None:
    listed = [(str(number), 1) for number in range(3 * FILES_PER_STEP)]

    assert [len(piece) for piece in slices(listed, 1)] == [FILES_PER_STEP] * 3
    assert slices([], 5) == []
    assert slices([("one", 0)], 5) == [[("one", 0)]]
    assert [len(piece) for piece in slices([("huge", 10**12), ("a", 1), ("b", 1)], 2)] == [1, 2]


@pytest.mark.parametrize(
    "input",
    [
        None,
        [],
        {},
        {"folder": ""},
        {"folder": 7},
        {"folder": "/no/such/folder"},
        {"folder": "/", "steps": 0},
        {"folder": "/", "steps": True},
        {"folder": "/", "steps": 101},
        {"folder": "/", "exclude": "var"},
        {"folder": "/", "exclude": [1]},
    ],
)
def test_a_wrong_input_is_refused_in_words(input: Any) -> None:
    with pytest.raises(InputWrong):
        take_inventory(LocalContext(), input)  # type: ignore[arg-type]
