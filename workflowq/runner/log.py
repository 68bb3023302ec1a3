"""Log lines on stderr: one line each, UTC, without secrets."""

import logging
import sys
import time

from workflowq.runner.redactor import Redactor


class CleanFormatter(logging.Formatter):
    """Every record becomes a single line with no secret and no control character in it, whoever logged it."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.line(super().format(record))


def log_to_stderr(redactor: Redactor, level: int = logging.INFO) -> None:
    """Sends the kit's records, and warnings of everything else, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter(redactor))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("workflowq").setLevel(level)
