"""The backend: Django's own, whose write transactions pass the gate first and leave it however they end."""

import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.features import DatabaseFeatures
from django.db.utils import OperationalError

from workflowq.sqlite.gate import GateTimeout, Pass, gate_of

# How a statement begins that takes SQLite's write lock when it stands alone.
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "ALTER", "DROP")
_WRITING_MODES = frozenset({"IMMEDIATE", "EXCLUSIVE"})
# sqlite3's own.
_DEFAULT_TIMEOUT_SECONDS = 5.0


class Cursor(base.SQLiteCursorWrapper):
    """A cursor whose single writes, outside of any transaction, pass the gate too."""

    database: "DatabaseWrapper"

    def execute(self, query: str, params: Any = None) -> Any:
        """Execute one statement."""
        with self.database.passed_for(query):
            return super().execute(query, params)

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        """Execute one statement for each set of parameters."""
        with self.database.passed_for(query):
            return super().executemany(query, param_list)


class Features(DatabaseFeatures):
    """Django's, without the old limit that would cut a batch of a hundred rows into several statements."""

    @property
    def max_query_params(self) -> int:  # type: ignore[override]
        """How many parameters a statement may have, by this SQLite's own word; Django assumes 999."""
        self.connection.ensure_connection()
        limit: int = self.connection.connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        return limit


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that holds at most one pass of its database's gate."""

    features_class = Features
    transaction_mode: str | None
    _pass: Pass | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, and make sure that the file really took the settings that transitions rely on."""
        connection = super().get_new_connection(conn_params)
        (journal,) = connection.execute("PRAGMA journal_mode").fetchone()
        (foreign_keys,) = connection.execute("PRAGMA foreign_keys").fetchone()
        if foreign_keys != 1 or journal not in {"wal", "memory"}:
            connection.close()
            raise ImproperlyConfigured(
                f"SQLite at {self.settings_dict['NAME']} has journal_mode {journal} and foreign_keys {foreign_keys}; "
                "it must have wal and 1. A network disk can't have WAL."
            )
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        """A cursor that knows its database."""
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.database = self
        return cursor

    def passed_for(self, statement: str) -> AbstractContextManager[object]:
        """The gate around one statement that writes on its own, else nothing."""
        if self._pass is not None or self.connection.in_transaction or not _writes(statement):
            return nullcontext()
        return self._enter()

    def _start_transaction_under_autocommit(self) -> None:
        if self.transaction_mode in _WRITING_MODES:
            self._pass = self._enter()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._leave()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._leave()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._leave()

    def _enter(self) -> Pass:
        name = str(self.settings_dict["NAME"])
        timeout = float(self.settings_dict["OPTIONS"].get("timeout", _DEFAULT_TIMEOUT_SECONDS))
        try:
            return gate_of(name, in_memory=self.is_in_memory_db()).enter(timeout)
        except GateTimeout:
            raise OperationalError(
                f"database is locked: other writers kept the gate of {name} shut for {timeout:g} seconds"
            ) from None

    def _leave(self) -> None:
        held, self._pass = self._pass, None
        if held is not None:
            held.leave()


def _writes(statement: str) -> bool:
    return statement.lstrip()[:7].upper().startswith(_WRITES)
