"""The command `python -m workflowq.runner`: settings, signals and exit codes around one Runner."""

import argparse
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from workflowq.runner.client import Client
from workflowq.runner.errors import KitError, ServerProblem
from workflowq.runner.identity import owner_id
from workflowq.runner.log import log_to_stderr
from workflowq.runner.redactor import Redactor
from workflowq.runner.runner import MAX_CONCURRENCY, Runner
from workflowq.runner.settings import ENVIRONMENT_HELP, add_server_options, number_between, read_server
from workflowq.runner.workflow import workflows_in

log = logging.getLogger("workflowq.runner")

_EPILOG = (
    ENVIRONMENT_HELP
    + """
exit codes:
  0    stopped in order by SIGTERM or SIGINT; what was unfinished has been handed back
  1    an error of the runner's own
  2    wrong options, settings or modules
  3    the server refuses this runner: token, scope, owner or request
  128+n  stopped at once by a second signal n; the leases of unfinished runs will run out
"""
)

_Signals = queue.SimpleQueue[int | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves the modules' workflows until a signal comes; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        server = read_server(options)
        workflows = workflows_in(options.modules)
        client = Client(server.url, server.token)
    except (KitError, ValueError) as error:
        parser.error(str(error))
    redactor = Redactor(server.token)
    log_to_stderr(redactor)
    owner = owner_id(options.name)
    runner = Runner(
        client,
        workflows,
        owner_id=owner,
        concurrency=int(options.concurrency),
        lease_seconds=options.lease_seconds,
        grace_seconds=options.grace_seconds,
        redactor=redactor,
    )
    names = ", ".join(sorted(workflows))
    log.info("%s serves %s from %s, %d at a time", owner, names, server.url, options.concurrency)
    code = _serve(runner)
    _leave(runner, code)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workflowq.runner",
        description="Takes runs of the workflows in the given modules from a workflowq server and works on them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("modules", metavar="MODULE", nargs="+", help="a Python module with workflows in it")
    parser.add_argument(
        "--concurrency",
        metavar="N",
        type=number_between(1, MAX_CONCURRENCY, int),
        default=4,
        help="how many runs at a time (default 4)",
    )
    parser.add_argument("--name", help="this runner's name (default the machine's)")
    parser.add_argument(
        "--lease-seconds",
        metavar="S",
        type=number_between(1, 3600),
        default=30.0,
        help="how long a run stays with a runner that says nothing (default 30)",
    )
    parser.add_argument(
        "--grace-seconds",
        metavar="S",
        type=number_between(0, 3600),
        default=10.0,
        help="how long running steps may go on after SIGTERM (default 10)",
    )
    add_server_options(parser)
    return parser


def _serve(runner: Runner) -> int:
    signals: _Signals = queue.SimpleQueue()
    _listen(signals)
    codes: list[int] = []
    serving = threading.Thread(target=lambda: _serve_on(runner, codes, signals), name="workflowq-runner")
    serving.start()
    number = signals.get()
    if number is not None:
        log.info("%s: taking nothing new; a second one stops at once", signal.Signals(number).name)
        runner.stop()
    serving.join()
    log.info("stopped")
    return codes[0] if codes else 1


def _serve_on(runner: Runner, codes: list[int], signals: _Signals) -> None:
    try:
        runner.serve()
        codes.append(0)
    except ServerProblem as problem:
        log.error("the server refuses this runner: %s", problem)
        codes.append(3)
    except Exception:
        log.exception("the runner met an error of its own")
    finally:
        signals.put(None)


def _listen(signals: _Signals) -> None:
    seen: list[int] = []

    # The interrupted thread may hold any mutex: a SimpleQueue is safe in a handler, an Event is not.
    def hear(number: int, frame: FrameType | None) -> None:
        if seen:
            os._exit(128 + number)
        seen.append(number)
        signals.put(number)

    signal.signal(signal.SIGTERM, hear)
    signal.signal(signal.SIGINT, hear)


def _leave(runner: Runner, code: int) -> None:
    """Ends the process now if a function is still at work: its run is handed back, but its thread can't be ended."""
    logging.shutdown()
    if runner.busy:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
