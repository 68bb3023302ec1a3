"""What a viewer sees of a run: a document of parts, and how the changes that events carry move it. No database here.

A view is {summary: {...}, graph: {nodes: {...}}, timeline: {...}, inspector: {...}, conversation: {...}}; below each
part but the summary stand kinds of entries, and below each kind the entries by key. What is null is left out. Changes
are a JSON merge patch (RFC 7396) that makes the old view the new one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from runs.models import ActiveInterval, Lease, NodeAttempt, Run
from runs.models.remembering import Remembering
from runs.view.kinds import KINDS, PULSES, RUN, SUMMARY
from runs.view.members import Members, plain

__all__ = ["Changes", "View", "beat", "changes", "empty", "merge", "pulse", "put", "settled", "summary", "told"]

View = dict[str, Any]
Changes = dict[str, Any]


def empty() -> View:
    """The view of a run before its first event."""
    view: View = {"summary": {}, "graph": {"nodes": {}}}
    for kind in KINDS.values():
        part, name = kind.path
        view.setdefault(part, {})[name] = {}
    return view


def summary(run: Run) -> dict[str, Any]:
    """All that the summary tells of a run and its lease."""
    return {**_whole(run, RUN), **_whole(run.lease, SUMMARY[Lease]), "display_status": str(run.display_status)}


def put(view: View, row: Remembering) -> None:
    """Put a row's whole entry into a view; of the attempts of one node the latest comes last."""
    kind = KINDS[type(row)]
    part, name = kind.path
    view[part][name][kind.key(row)] = _whole(row, kind.members)
    if isinstance(row, NodeAttempt):
        view["graph"]["nodes"][row.node_id] = _node(row)


def pulse(lease: Lease) -> Changes:
    """What a renewal moves of the summary, in the form of changes."""
    return {"summary": {name: SUMMARY[Lease][name].shown(lease) for name in sorted(PULSES[("summary",)])}}


def beat(pulse: Changes, interval: ActiveInterval) -> None:
    """Add to a pulse what its runner has observed of an attempt and of its open interval."""
    for row in (interval.attempt, interval):
        kind = KINDS[type(row)]
        part, name = kind.path
        entries = pulse.setdefault(part, {}).setdefault(name, {})
        entries[kind.key(row)] = {name: kind.members[name].shown(row) for name in sorted(PULSES[kind.path])}


def changes(run: Run, moved: Iterable[Remembering]) -> Changes:
    """What has moved of a run, its lease and these rows since they were read or last told; whole, where they are new.

    Of several attempts of one node the latest comes last.
    """
    told: Changes = {}
    in_summary = {**_moved(run, RUN), **_moved(run.lease, SUMMARY[Lease])}
    if _display_status_has_moved(run):
        in_summary["display_status"] = str(run.display_status)
    if in_summary:
        told["summary"] = in_summary
    for row in moved:
        kind = KINDS[type(row)]
        entry = _moved(row, kind.members)
        if not entry:
            continue
        for name in kind.always - entry.keys():
            entry[name] = kind.members[name].shown(row)
        part, name = kind.path
        told.setdefault(part, {}).setdefault(name, {})[kind.key(row)] = entry
        if isinstance(row, NodeAttempt):
            told.setdefault("graph", {}).setdefault("nodes", {})[row.node_id] = _node(row)
    return told


def told(run: Run, moved: Iterable[Remembering]) -> None:
    """The changes of these rows have been told."""
    for row in (run, run.lease, *moved):
        row.remember()


def merge(view: dict[str, Any], changes: Mapping[str, Any]) -> View:
    """The view after these changes, which are a JSON merge patch (RFC 7396); `view` itself is moved."""
    for name, value in changes.items():
        if value is None:
            view.pop(name, None)
        elif isinstance(value, Mapping):
            merge(view.setdefault(name, {}), value)
        else:
            view[name] = value
    return view


def settled(view: View) -> View:
    """The view without what pulses move: by this much alone may a fold of events lag behind the rows."""
    without: View = {part: dict(kinds) for part, kinds in view.items()}
    for path, names in PULSES.items():
        if len(path) == 1:
            without[path[0]] = _left(view[path[0]], names)
        else:
            part, kind = path
            without[part][kind] = {key: _left(entry, names) for key, entry in view[part][kind].items()}
    return without


def _node(attempt: NodeAttempt) -> dict[str, Any]:
    """A node of the graph, by its latest attempt."""
    return _whole(attempt, _NODE)


_NODE = plain("status", "attempt_id", "attempt_number")


def _left(entry: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in names}


def _whole(row: Remembering, members: Members) -> dict[str, Any]:
    shown = ((name, member.shown(row)) for name, member in members.items())
    return {name: value for name, value in shown if value is not None}


def _moved(row: Remembering, members: Members) -> dict[str, Any]:
    if row.is_new:
        return _whole(row, members)
    return {name: member.shown(row) for name, member in members.items() if any(map(row.has_moved, member.moved_by))}


def _display_status_has_moved(run: Run) -> bool:
    moves = ("status", "paused", "error_code")
    return run.is_new or any(map(run.has_moved, moves)) or run.lease.has_moved("effects_in_doubt")
