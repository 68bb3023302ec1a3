"""`manage.py verify`: proves the queue's invariants over the database and changes nothing."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from runs import verify
from runs.models import Project


class Command(BaseCommand):
    help = "Prove the invariants over the database: a line for each violation, exit code 1 if there is any."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command line takes."""
        parser.add_argument("--project", metavar="PATH", help="only the runs of this project")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what is wrong as it is found, then the counts."""
        checked = verify.Checked()
        counts: Counter[str] = Counter()
        for violation in verify.violations(_project(options["project"]), checked=checked):
            self.stdout.write(str(violation))
            counts[violation.rule] += 1
        if counts:
            told = ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items()))
            raise CommandError(f"{counts.total()} violations in {checked.runs} runs ({told}).")
        self.stdout.write(f"No violations in {checked.runs} runs and {checked.blobs} blobs.")


def _project(path: str | None) -> Project | None:
    if path is None:
        return None
    try:
        return Project.objects.get(path=path)
    except Project.DoesNotExist:
        raise CommandError(f"There is no project {path!r}.") from None
