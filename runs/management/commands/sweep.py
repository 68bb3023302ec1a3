"""`manage.py sweep`: writes down what time has brought about, every few seconds or once. Any number may run at once."""

import logging
import signal
import threading
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, close_old_connections

from runs import errors, transitions
from runs.transitions import Swept

logger = logging.getLogger(__name__)
# While the database is away: no faster than this, whatever --every says.
PATIENCE_SECONDS = 5.0


class Command(BaseCommand):
    help = "Carry out due wishes, settle expired leases, resolve overdue decisions, forget old receipts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """What the command line takes."""
        parser.add_argument("--once", action="store_true", help="sweep once and say what was done")
        parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="pause between two sweeps (5)")
        parser.add_argument("--limit", type=int, default=500, metavar="N", help="at most N of a kind in a sweep (500)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep until a signal comes; what is under way is finished first."""
        if options["every"] <= 0 or options["limit"] <= 0:
            raise CommandError("--every and --limit are positive.")
        if options["once"]:
            self.stdout.write(_told(transitions.sweep(options["limit"])))
            return
        stopping = threading.Event()

        def stop(number: int, frame: FrameType | None) -> None:
            stopping.set()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not stopping.is_set():
                stopping.wait(_swept(options["limit"], options["every"]))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _swept(limit: int, every: float) -> float:
    """Sweep once; how many seconds to wait before the next time. A database that is away is tried again."""
    try:
        swept = transitions.sweep(limit)
    except (DatabaseError, errors.Busy) as error:
        logger.warning("The sweep failed and will be tried again: %s", error)
        return max(every, PATIENCE_SECONDS)
    finally:
        close_old_connections()
    if swept.total:
        logger.info(_told(swept))
    return 0 if swept.is_behind else every


def _told(swept: Swept) -> str:
    return (
        f"Released {swept.released} expired leases, settled {swept.settled} runs, "
        f"resolved {swept.decisions} decisions, forgot {swept.receipts} receipts."
    )
