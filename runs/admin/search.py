"""Finding runs by the beginning of their id: literally, with the case as given, at a bounded cost."""

import re
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Q

from runs.models import Project, Run

# How many ids of one beginning are looked at: a shorter one is to be spelled out further.
REACH: Final = 1_000
_BEGINNING: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_ABOVE_ALL: Final = "\x7f"


@dataclass(frozen=True, slots=True)
class Found:
    """The keys of runs whose id begins so, and whether there are more of them than a search looks at."""

    keys: list[int]
    has_more: bool = False


def by_beginning(project: Project, text: str) -> Found:
    """The run of this id first of all, and up to REACH whose ids go on from there; none where no id could."""
    beginning = text.strip()
    if not _BEGINNING.fullmatch(beginning):
        return Found([])
    runs = Run.objects.of(project)
    # Capped before anything is sorted: a beginning that a million ids share costs no more than this.
    keys = list(runs.filter(_begins_with(beginning)).values_list("pk", flat=True)[: REACH + 1])
    exact = list(runs.filter(run_id=beginning).values_list("pk", flat=True))
    return Found([*exact, *keys[:REACH]], has_more=len(keys) > REACH)


def _begins_with(beginning: str) -> Q:
    if connection.vendor == "sqlite":
        # LIKE is blind to case there. Ids are ASCII, and compared byte by byte.
        return Q(run_id__gte=beginning, run_id__lt=beginning + _ABOVE_ALL)
    return Q(run_id__startswith=beginning)
