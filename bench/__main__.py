"""`python -m bench [name ...]`: run these benchmarks, or all, on SQLite and on a private PostgreSQL."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from tests.private_postgres import PrivatePostgres

BENCHMARKS = ("claim_next", "transitions")
# Says that this process is one of those that do the work: each database needs Django to be set up anew.
CHILD = "WORKFLOWQ_BENCH_CHILD"


@contextmanager
def databases() -> Iterator[dict[str, str]]:
    """By name the addresses of an empty database of each kind, for the block. PostgreSQL does not wait for its disk."""
    with tempfile.TemporaryDirectory(prefix="wq-bench-") as folder, PrivatePostgres(durable=False) as postgres:
        yield {"SQLite": f"sqlite:///{Path(folder) / 'bench.sqlite3'}", "PostgreSQL": postgres.url}


def run_all(names: Sequence[str]) -> int:
    """Each of these benchmarks on each database; 0 if all went well."""
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}.", file=sys.stderr)
        return 2
    status = 0
    for name in names or BENCHMARKS:
        with databases() as addresses:
            for database, address in addresses.items():
                print(f"\n{name} on {database}", flush=True)
                environment = {
                    **os.environ,
                    CHILD: name,
                    "DATABASE_URL": address,
                    "DJANGO_SETTINGS_MODULE": "bench.settings",
                    "WORKFLOWQ_SECRET_KEY": "a key for benchmarks alone, which guards nothing at all",
                }
                status |= subprocess.run([sys.executable, "-m", "bench"], env=environment).returncode
    return status


def run_child(name: str) -> None:
    """One benchmark on the database of the environment."""
    import django
    from django.core.management import call_command
    from django.db import connection, connections

    django.setup()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{connections["full"].settings_dict["NAME"]}"')
    for alias in connections:
        call_command("migrate", database=alias, verbosity=0)
    import_module(f"bench.{name}").main()


if __name__ == "__main__":
    if child := os.environ.get(CHILD):
        run_child(child)
    else:
        sys.exit(run_all(sys.argv[1:]))
