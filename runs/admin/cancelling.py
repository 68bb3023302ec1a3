"""Cancelling from the console: who may, through which transition, and what came of it in words."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django import forms
from django.contrib import messages

from runs import errors, rules, transitions
from runs.admin.widgets import TEXT_AREA
from runs.journal import Actor
from runs.models import Run
from runs.states import ActorType
from runs.verbs import CANCEL

REASON_LIMIT = 500


class ReasonForm(forms.Form):
    """Why an operator does it."""

    reason = forms.CharField(
        required=False,
        max_length=REASON_LIMIT,
        widget=TEXT_AREA,
        help_text="Kept in the run's events, beside your name.",
    )


@dataclass(slots=True)
class Report:
    """How many runs were cancelled, and how many were refused for which sentence."""

    cancelled: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def sentence(self) -> str:
        """Such as: 7 cancelled, 2 refused: the run is over."""
        parts = [f"{self.cancelled} cancelled"] if self.cancelled or not self.refused else []
        parts += [f"{number} refused: {_inner(sentence)}" for sentence, number in self.refused.most_common()]
        return ", ".join(parts) + "."

    @property
    def level(self) -> int:
        if not self.refused:
            return messages.SUCCESS
        return messages.WARNING if self.cancelled else messages.ERROR


def refusal(run: Run, at: datetime) -> errors.Refusal | None:
    """Why the run can't be cancelled, by the table of verbs and states; None where it can."""
    try:
        rules.permit(CANCEL, run, run.lease, at)
    except errors.Refusal as refused:
        return refused
    return None


def cancel(runs: Sequence[Run], operator: str, reason: str) -> Report:
    """Cancel these runs in the operator's name, batch by batch; a refused one leaves the others alone."""
    report = Report()
    by = Actor(ActorType.HUMAN, operator)
    for batch in _batches(runs):
        try:
            outcomes = transitions.cancel_all(batch[0].project, [run.run_id for run in batch], by, reason or None)
        except errors.Refusal as refused:
            report.refused[refused.detail] += len(batch)
            continue
        for outcome in outcomes:
            if isinstance(outcome, errors.Refusal):
                report.refused[outcome.detail] += 1
            else:
                report.cancelled += 1
    return report


def _batches(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Each of one project and no longer than a transition takes."""
    for _, group in groupby(sorted(runs, key=lambda run: run.project_id), key=lambda run: run.project_id):
        of_project = list(group)
        for start in range(0, len(of_project), transitions.BATCH_LIMIT):
            yield of_project[start : start + transitions.BATCH_LIMIT]


def _inner(sentence: str) -> str:
    """A sentence as a part of another one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
