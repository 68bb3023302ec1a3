"""What a workflow's code is called by: a snapshot made from the function and the digest over it. Runs nothing."""

import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Self

from workflowq.runner.errors import WorkflowUnusable


@dataclass(frozen=True, slots=True)
class Definition:
    """The identity of a workflow's code. Equal code has an equal digest on every machine; changed code another one."""

    name: str
    ref: str
    source: dict[str, Any]
    snapshot: dict[str, Any]
    digest: str

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> Self:
        """The definition of a function.

        The hash covers its whole module, since a step's result hangs on the helpers and constants next to it as well;
        modules that it imports are not covered.
        """
        function = inspect.unwrap(function)
        module, qualname = function.__module__, function.__qualname__
        file, text = _source(function)
        code_hash = "sha256:" + hashlib.sha256(text).hexdigest()
        snapshot = {"name": name, "source": {"module": module, "qualname": qualname, "hash": code_hash}}
        return cls(
            name=name,
            ref=f"{module}:{qualname}",
            source={"kind": "file", "path": _path(module, file), "hash": code_hash},
            snapshot=snapshot,
            digest="sha256:" + hashlib.sha256(_canonical(snapshot)).hexdigest(),
        )


def same_digest(one: str, other: str) -> bool:
    """Whether two digests are equal; the algorithm before the digits may be left out."""
    return one.removeprefix("sha256:").lower() == other.removeprefix("sha256:").lower()


def _canonical(snapshot: dict[str, Any]) -> bytes:
    return json.dumps(snapshot, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _source(function: Callable[..., Any]) -> tuple[str, bytes]:
    try:
        file = inspect.getsourcefile(function)
        if file is None:
            raise OSError("it has no source file")
        with open(file, "rb") as source:
            text = source.read()
    except (OSError, TypeError) as error:
        raise WorkflowUnusable(f"the source of {function!r} can't be read: {error}") from None
    return file, text.replace(b"\r\n", b"\n")  # a checkout with other line ends is the same code


def _path(module: str, file: str) -> str:
    """The file as seen from the import root: no machine's own folders in it."""
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if PurePath(file).name == "__init__.py" else f"{path}.py"
