"""Where a workflow's code comes from: a root source and mounted ones, in one fixed form.

The stored form is a list of [mount path, workflow name, kind, reference, revision] in order of the mount path by code
point, the root first at "". Two requests name the same sources exactly when their stored forms are equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runs import errors

Source = tuple[str, str, str, str, str]
_MEMBERS = {"builtin": ("id", "revision"), "file": ("path", "hash")}


def parse(value: object) -> list[Source]:
    """The stored form of a caller's document. Refuses anything that is not a source."""
    if _is_source(value):
        return [("", "", *_parts(value))]
    if not (isinstance(value, Mapping) and _is_source(value.get("root")) and isinstance(value.get("mounted"), list)):
        raise errors.InvalidSource
    mounted = sorted(_mounted(mount) for mount in value["mounted"])
    return [("", "", *_parts(value["root"])), *mounted]


def shown(sources: Iterable[Sequence[str]], *, mounts: bool = True) -> dict[str, Any]:
    """The document that callers get: {root, mounted: [{mountPath, workflowName, source}]}."""
    root, *mounted = sources
    return {
        "root": _document(root),
        "mounted": [
            {"mountPath": mount[0].split("/"), "workflowName": mount[1], "source": _document(mount)}
            for mount in mounted
            if mounts
        ],
    }


def _is_source(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    kind = value.get("kind")
    members = _MEMBERS.get(kind) if isinstance(kind, str) else None
    return members is not None and all(isinstance(value.get(member), str) for member in members)


def _parts(value: Any) -> tuple[str, str, str]:
    reference, revision = _MEMBERS[value["kind"]]
    return value["kind"], value[reference], value[revision]


def _mounted(value: object) -> Source:
    if not (isinstance(value, Mapping) and _is_source(value.get("source"))):
        raise errors.InvalidSource
    path, name = value.get("mountPath"), value.get("workflowName")
    if not (isinstance(path, list) and all(isinstance(part, str) for part in path) and isinstance(name, str)):
        raise errors.InvalidSource
    return ("/".join(path), name, *_parts(value["source"]))


def _document(source: Sequence[str]) -> dict[str, str]:
    _, _, kind, reference, revision = source
    names = _MEMBERS[kind]
    return {"kind": kind, names[0]: reference, names[1]: revision}
