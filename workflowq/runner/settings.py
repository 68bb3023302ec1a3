"""Where the kit's commands get their settings from: options first, then the environment. Reads, doesn't act."""

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflowq.runner.errors import SettingsWrong

DEFAULT_URL = "http://127.0.0.1:8000"

ENVIRONMENT_HELP = """\
environment:
  WORKFLOWQ_URL         the server's address (default http://127.0.0.1:8000)
  WORKFLOWQ_TOKEN       the access token
  WORKFLOWQ_TOKEN_FILE  a file that holds the access token, where WORKFLOWQ_TOKEN is not set
"""


@dataclass(frozen=True, slots=True)
class Server:
    """Whom to talk to, and the secret to do so, which is kept out of the repr."""

    url: str
    token: str

    def __repr__(self) -> str:
        return f"Server(url={self.url!r})"


def add_server_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="the server's address; WORKFLOWQ_URL else")
    parser.add_argument(
        "--token-file", help="a file that holds the access token; WORKFLOWQ_TOKEN or WORKFLOWQ_TOKEN_FILE else"
    )


def read_server(options: argparse.Namespace, environment: Mapping[str, str] = os.environ) -> Server:
    """The server of these options; refuses a missing or odd token. A token is never an option: others could see it."""
    url = options.url or environment.get("WORKFLOWQ_URL") or DEFAULT_URL
    token = environment.get("WORKFLOWQ_TOKEN", "").strip()
    file = options.token_file or ("" if token else environment.get("WORKFLOWQ_TOKEN_FILE", ""))
    if file:
        try:
            token = Path(file).read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise SettingsWrong(f"the token file {file} can't be read: {type(error).__name__}") from None
    if not token:
        raise SettingsWrong("no access token: set WORKFLOWQ_TOKEN or WORKFLOWQ_TOKEN_FILE, or give --token-file")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsWrong("the access token holds blanks or characters that no token has")
    return Server(url, token)


def number_between(least: float, most: float, kind: Callable[[str], float] = float) -> Callable[[str], float]:
    """An argparse type for a number within these bounds, both included."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"must be from {least:g} to {most:g}")
        return value

    return read
