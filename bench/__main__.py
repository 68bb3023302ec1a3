"""`python -m bench [NAME...]`: each measurement on SQLite and on a private PostgreSQL, in processes of their own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.private_postgres import PrivatePostgres

MEASUREMENTS = ("claim_next", "transitions")


def main(names: list[str]) -> int:
    """Run the named measurements, all where none is named; the number that failed."""
    failed = 0
    for name in names or MEASUREMENTS:
        with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder:
            failed += _measured(name, f"sqlite:///{Path(folder) / 'bench.sqlite3'}")
        with PrivatePostgres() as server:
            failed += _measured(name, server.url)
    return failed


def _measured(name: str, url: str) -> int:
    kind = url.partition(":")[0]
    print(f"\n{name} on {kind}", flush=True)
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    return subprocess.run([sys.executable, "-m", f"bench.{name}"], env=environment, check=False).returncode != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
