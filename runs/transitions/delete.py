"""Deleting a run with all that hangs on it."""

from runs import clock, errors, rules
from runs.models import Effect, Project, Run
from runs.states import EffectStatus
from runs.transitions import mutex
from runs.transitions.mutex import Hold, transition
from runs.verbs import DELETE


@transition
def delete(project: Project, hold: Hold) -> None:
    """Delete a run, its events and its dependents. Refuses where a restart or an effect in doubt points back to it."""
    run = mutex.lock_one(project, hold.run_id)
    at = mutex.never_back(run, clock.now())

    rules.permit(DELETE, run, run.lease, at, token=hold.token)
    if Run.objects.filter(parent=run).exists():
        raise errors.HasRestart(run_id=run.run_id)
    in_doubt = [EffectStatus.APPLYING, EffectStatus.AMBIGUOUS]
    if Effect.objects.filter(run=run, status__in=in_doubt).exists():
        raise errors.EffectUnsettled(run_id=run.run_id)

    run.delete()
