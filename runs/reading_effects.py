"""Reads of effects: of one run, and what in a project waits for a person. Changes nothing."""

from collections.abc import Sequence

from runs import errors
from runs.models import Effect, EffectAttempt, Project, Run
from runs.models.effect import EffectQuerySet
from runs.states import EffectStatus

TRIES_SHOWN = 50


def effects(run: Run, statuses: Sequence[EffectStatus] = ()) -> EffectQuerySet:
    """A run's effects in the order in which they were reserved, in any of these statuses."""
    found = Effect.objects.brief().filter(run=run).order_by("pk")
    return found.filter(status__in=statuses) if statuses else found


def ambiguous_effects(project: Project) -> EffectQuerySet:
    """What waits for a person in all of a project's runs, over or not, in the order in which it was reserved."""
    return Effect.objects.brief().in_doubt().filter(run__project=project).order_by("pk")


def effect(project: Project, run_id: str, effect_id: str) -> tuple[Effect, list[EffectAttempt]]:
    """One effect with its documents and its latest tries, newest first. Refuses what this project does not have."""
    run = Run.objects.of(project).filter(run_id=run_id).first()
    if run is None:
        raise errors.RunNotFound(run_id=run_id)
    found = Effect.objects.with_documents().filter(run=run, effect_id=effect_id).first()
    if found is None:
        raise errors.EffectNotFound(run_id=run_id, effect_id=effect_id)
    tries = EffectAttempt.objects.filter(effect=found).select_related("error").order_by("-number")
    return found, list(tries[:TRIES_SHOWN])
