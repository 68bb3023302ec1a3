"""The PostgreSQL server that tests and benchmarks start for themselves."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pytest

from tests import private_postgres
from tests.private_postgres import PrivatePostgres, programs

ROOT = Path(__file__).resolve().parent.parent.parent

# Says where its server is, then waits to be killed.
STARTER = """
import sys
from tests.private_postgres import PrivatePostgres
with PrivatePostgres() as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

pytestmark = pytest.mark.postgres


def test_a_private_server_answers_and_leaves_nothing_behind() -> None:
    with PrivatePostgres() as server:
        folder = Path(unquote(urlsplit(server.url).netloc.partition("@")[2]))
        with psycopg.connect(server.url) as connection:
            fsync = connection.execute("SHOW fsync").fetchone()
            listening = connection.execute("SHOW listen_addresses").fetchone()

    assert (fsync, listening) == (("off",), ("",))
    assert not folder.exists()


def test_a_durable_one_waits_for_the_disk() -> None:
    with PrivatePostgres(durable=True) as server, psycopg.connect(server.url) as connection:
        found = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]

    assert found == [("on",), ("on",)]


def test_it_ends_with_the_process_that_started_it_even_if_that_is_killed() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with starter:
        assert starter.stdout
        url = starter.stdout.readline().strip()
        starter.kill()

    # Its socket goes with it.
    deadline = time.monotonic() + 30
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers(url)


def answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def test_its_programs_are_of_one_installation() -> None:
    assert {"initdb", "pg_ctl", "postgres"} <= {program.name for program in programs().iterdir()}


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="others start the server as themselves")
def test_the_wheels_programs_serve_where_their_folder_is_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bin_,) = private_postgres._wheel()
    package = bin_.parent.parent
    for folder in (package, package.with_name(package.name + ".libs")):
        shutil.copytree(folder, tmp_path / folder.name, symlinks=True)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(private_postgres, "programs", lambda: tmp_path / bin_.relative_to(package.parent))

    with PrivatePostgres() as server, psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
