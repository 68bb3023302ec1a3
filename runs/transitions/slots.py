"""What only one run can have: a session, the restart of a parent, the first definition under a digest."""

from collections.abc import Mapping, Sequence

from runs import errors, rules
from runs.models import Project, Run
from runs.states import QUEUE_TERMINAL, ExecutionMode
from runs.transitions import definitions, mutex
from runs.transitions.reservation import Prepared, Reservation


class Slots:
    """Which slots are taken: by runs that stand already, and by those of the batch that were let in before."""

    def __init__(self, project: Project, items: Sequence[Prepared], parents: Mapping[str, Run]) -> None:
        """Three statements, however many items."""
        self._parents = parents
        self._definitions = definitions.known(project, {item.digest for item in items})
        self._promised: dict[bytes, Prepared] = {}
        sessions = {item.asked.origin_session_id for item in items if rules.takes_session(item.asked.execution_mode)}
        self._sessions = dict(
            Run.objects.filter(
                project=project, execution_mode=ExecutionMode.INTERACTIVE, origin_session_id__in=sessions
            )
            .exclude(queue_status__in=QUEUE_TERMINAL)
            .values_list("origin_session_id", "run_id")
        )
        self._restarted = dict(
            Run.objects.filter(parent__in=[run.pk for run in parents.values()]).values_list("parent__run_id", "run_id")
        )

    def let_in(self, item: Prepared) -> None:
        """Take the item's slots. Refuses it where one is taken."""
        asked = item.asked
        self._agree_on_definition(item)
        rules.unique_mounts(item.mount_paths)
        if asked.parent_run_id in self._restarted:
            raise errors.ParentAlreadyRestarted(run_id=_another(asked, self._restarted[asked.parent_run_id]))
        if rules.takes_session(asked.execution_mode) and asked.origin_session_id in self._sessions:
            raise errors.SessionBusy(run_id=_another(asked, self._sessions[asked.origin_session_id]))
        self._promised.setdefault(item.digest, item)
        if rules.takes_session(asked.execution_mode):
            self._sessions[asked.origin_session_id] = asked.run_id
        if asked.parent_run_id is not None:
            self._restarted[asked.parent_run_id] = asked.run_id

    def _agree_on_definition(self, item: Prepared) -> None:
        if definition := self._definitions.get(item.digest):
            definitions.same(definition, item.asked.workflow_name, item.snapshot)
        promised = self._promised.get(item.digest, item)
        if (promised.asked.workflow_name, promised.snapshot) != (item.asked.workflow_name, item.snapshot):
            raise errors.DefinitionConflict(definition_digest="sha256:" + item.digest.hex())


def _another(asked: Reservation, holder: str) -> str:
    """The run that has the slot. Where it is the very run that is asked for, a twin was quicker, just now."""
    if holder == asked.run_id:
        raise mutex.Overtaken
    return holder
