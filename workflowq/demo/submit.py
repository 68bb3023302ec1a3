"""The command `python -m workflowq.demo.submit`: reserves one run of each demo workflow over REST."""

import argparse
import os
import sys
import time
from collections.abc import Sequence

from workflowq.demo import break_on_purpose, take_inventory
from workflowq.demo.names import shown
from workflowq.runner import Client, Json, KitError, Run, ServerProblem, TryLater, Workflow
from workflowq.runner.settings import ENVIRONMENT_HELP, add_server_options, read_server

SESSION = "workflowq-demo"
_UNFINISHED = ("queued", "running", "waiting")
_EPILOG = (
    ENVIRONMENT_HELP
    + """
exit codes:
  0  the runs are there
  1  the server refuses
  2  wrong options or settings
  3  the server has no answer
"""
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Reserves what is not under way already and prints one line for each run; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if not os.path.isdir(options.folder):
        parser.error(f"there is no folder {shown(options.folder)}")
    try:
        server = read_server(options)
        client = Client(server.url, server.token)
    except (KitError, ValueError) as error:
        parser.error(str(error))
    with client:
        try:
            _submit(client, take_inventory, {"folder": shown(os.path.abspath(options.folder))})
            _submit(client, break_on_purpose, {})
        except ServerProblem as problem:
            sys.stderr.write(f"not reserved: {problem}\n")
            return 3 if isinstance(problem, TryLater) else 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workflowq.demo.submit",
        description="Reserves an inventory of a folder and a run that fails on purpose, unless they are under way.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", default=".", help="the folder to take the inventory of (default the current one)")
    add_server_options(parser)
    return parser


def _submit(client: Client, workflow: Workflow, input: Json) -> None:
    there = unfinished(client, workflow.name)
    if there is not None:
        _tell(f"{there.run_id} {workflow.name} is under way already ({there.display_status}), none added")
        return
    run_id = f"{workflow.name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    members = {"origin_session_id": SESSION, "execution_mode": "headless"}
    reservation = client.adopt(run_id, workflow.definition, input, **members)
    _tell(f"{run_id} {workflow.name} {'adopted' if reservation.adopted else 'reserved'}")


def unfinished(client: Client, workflow_name: str) -> Run | None:
    """A demo run of this workflow that has not ended, if there is one."""
    for status in _UNFINISHED:
        page = client.list(workflow_name=workflow_name, origin_session_id=SESSION, status=status, limit=1)
        if page.runs:
            return page.runs[0]
    return None


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
