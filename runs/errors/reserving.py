"""Refusals of reserving a run."""

from runs.errors.base import Action, Conflict, Invalid


class InvalidRunId(Invalid):
    """A run id is 1 to 200 of A-Z a-z 0-9 . _ - and begins with a letter or digit."""

    code = "invalid_run_id"


class InvalidDigest(Invalid):
    """A definition digest is 64 hexadecimal digits, with or without "sha256:" before them."""

    code = "invalid_digest"


class InvalidSource(Invalid):
    """A source is builtin (id, revision), file (path, hash), or a root with mounted sources."""

    code = "invalid_source"


class AlreadyReserved(Conflict):
    """A run of this id exists already."""

    code = "already_reserved"


class PreparationConflict(Conflict):
    """A run of this id exists, and it was reserved with other content."""

    code = "preparation_conflict"


class DefinitionConflict(Conflict):
    """This definition digest stands for another workflow name or another snapshot."""

    code = "definition_conflict"


class SessionBusy(Conflict):
    """The session has another interactive run that is not over."""

    code = "session_busy"
    action = Action.RETRY


class DuplicateMount(Conflict):
    """A mount path stands twice among the sources, or is empty."""

    code = "duplicate_mount"
    action = Action.MEND


class LineageKindMismatch(Conflict):
    """A run with a parent has the lineage kind "restart"; one without has none."""

    code = "lineage_kind"
    action = Action.MEND


class RootWithRestartFields(Conflict):
    """A run without a parent has neither a restart number nor a parent revision."""

    code = "root_with_restart_fields"
    action = Action.MEND


class ParentSession(Conflict):
    """The parent run belongs to another session."""

    code = "parent_session"


class ParentNotTerminal(Conflict):
    """The parent run is not over."""

    code = "parent_not_terminal"
    action = Action.RETRY


class ParentRevisionMissing(Conflict):
    """A restart names the exact revision of its parent."""

    code = "parent_revision_missing"
    action = Action.MEND


class ParentRevisionChanged(Conflict):
    """The parent run has moved on from the revision that was named."""

    code = "parent_revision_changed"
    action = Action.MEND


class RestartNumberMismatch(Conflict):
    """The restart number is the parent's plus one."""

    code = "restart_number"
    action = Action.MEND


class ParentAlreadyRestarted(Conflict):
    """The parent run has a restart already."""

    code = "parent_already_restarted"
