"""The form for a new access token. What fits together is the transition's business, not the form's."""

from typing import Final

from django import forms

from runs.admin.widgets import CHECKBOXES, RADIOS, SELECT, TEXT
from runs.models import Project
from runs.states import Scope

SERVICE: Final = "service"
PERSONAL: Final = "personal"
_SCOPES: Final = {
    Scope.RUNS_READ: "read runs, events and attempts",
    Scope.RUNS_WRITE: "reserve runs and write notes",
    Scope.RUNS_EXECUTE: "claim, renew, complete: what runners do",
    Scope.RUNS_CONTROL: "fail and cancel without holding the run",
    Scope.DECISIONS_ANSWER: "answer for a person; not together with executing",
}
_LIFETIMES: Final = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year", "": "no end"}


class TokenForm(forms.Form):
    """Of which project, for whom, under which name, what it may do and for how long."""

    project = forms.ModelChoiceField(Project.objects.all(), empty_label=None, widget=SELECT)
    name = forms.CharField(max_length=200, widget=TEXT, help_text="Such as the machine that will use it.")
    kind = forms.ChoiceField(
        choices=[(SERVICE, "Service: of a machine"), (PERSONAL, "Personal: of your own account")],
        initial=SERVICE,
        widget=RADIOS,
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {meaning}") for scope, meaning in _SCOPES.items()],
        widget=CHECKBOXES,
    )
    lifetime_days = forms.ChoiceField(
        label="Good for", choices=list(_LIFETIMES.items()), initial="90", required=False, widget=SELECT
    )
