"""The fake platform's memory: one SQLite database, in memory or in a file that several processes share."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

__all__ = ["Row", "Tables"]

Row = tuple[str, int, int, str, str]
"""A trace: id, end (microseconds since 1970), version, its head as JSON, all of it as JSON."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS traces (
    trace_id TEXT PRIMARY KEY, ended INTEGER NOT NULL, version INTEGER NOT NULL, head TEXT NOT NULL, body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS traces_by_end ON traces (ended, trace_id);
CREATE TABLE IF NOT EXISTS pending (
    number INTEGER PRIMARY KEY AUTOINCREMENT, visible INTEGER NOT NULL, trace_id TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS gone (trace_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (slot TEXT PRIMARY KEY, score_id TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS scores_by_id ON scores (score_id);
CREATE TABLE IF NOT EXISTS calls (endpoint TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class Tables:
    """Plain reads and writes; what they mean is the platform's affair.

    A process that is killed inside `transaction` leaves nothing of it behind.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = RLock()
        self._depth = 0
        self._connection = sqlite3.connect(
            ":memory:" if path is None else path, isolation_level=None, check_same_thread=False, timeout=30.0
        )
        self._connection.execute("PRAGMA synchronous = OFF")
        if path is not None:
            self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; may be nested. Other processes wait for it."""
        with self._lock:
            if self._depth:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            self._depth = 1
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            else:
                self._connection.execute("COMMIT")
            finally:
                self._depth = 0

    def state(self, key: str) -> Any:
        """A setting's JSON value; None where it was never set."""
        row = self._one("SELECT value FROM state WHERE key = ?", key)
        return None if row is None else json.loads(row[0])

    def set_state(self, key: str, value: Any) -> None:
        """Keep a setting, as JSON."""
        self._run("INSERT OR REPLACE INTO state VALUES (?, ?)", key, json.dumps(value))

    def next_number(self, key: str) -> int:
        """1, 2, 3, … under that name."""
        with self.transaction():
            number = int(self.state(key) or 0) + 1
            self.set_state(key, number)
            return number

    def count(self, endpoint: str) -> None:
        """Count one call."""
        self._run("INSERT INTO calls VALUES (?, 1) ON CONFLICT DO UPDATE SET number = number + 1", endpoint)

    def calls(self) -> dict[str, int]:
        """The calls so far, by endpoint."""
        return dict(self._all("SELECT endpoint, number FROM calls ORDER BY endpoint"))

    def add_pending(self, trace_id: str, body: str, *, visible: int) -> None:
        """Keep what will be seen from `visible` (microseconds) on."""
        self._run("INSERT INTO pending (visible, trace_id, body) VALUES (?, ?, ?)", visible, trace_id, body)

    def take_pending(self, now: int) -> list[tuple[str, str]]:
        """What has become visible, in the order it came; it is pending no longer."""
        due = self._all("SELECT trace_id, body FROM pending WHERE visible <= ? ORDER BY number", now)
        if due:
            self._run("DELETE FROM pending WHERE visible <= ?", now)
        return due

    def write_trace(self, row: Row) -> None:
        """Store a trace, or replace it."""
        self._run("INSERT OR REPLACE INTO traces VALUES (?, ?, ?, ?, ?)", *row)

    def trace(self, trace_id: str) -> Row | None:
        """One trace."""
        found = self.traces([trace_id])
        return found[0] if found else None

    def traces(self, trace_ids: Sequence[str]) -> list[Row]:
        """Those of these traces that are there."""
        marks = ", ".join("?" * len(trace_ids))
        return self._all(
            f"SELECT trace_id, ended, version, head, body FROM traces WHERE trace_id IN ({marks})",  # noqa: S608 - only question marks are inserted
            *trace_ids,
        )

    def trace_count(self) -> int:
        """How many traces are visible."""
        row = self._one("SELECT count(*) FROM traces")
        return 0 if row is None else int(row[0])

    def stretch(
        self, start: int, end: int, *, limit: int, after: tuple[int, str] | None, newest_first: bool
    ) -> list[tuple[str, int, int, str]]:
        """Traces whose end lies in `[start, end)`, by end and id, beyond `after`; without their bodies."""
        order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
        keyset = f"AND (ended, trace_id) {beyond} (?, ?)" if after is not None else ""
        return self._all(
            "SELECT trace_id, ended, version, head FROM traces WHERE ended >= ? AND ended < ? "  # noqa: S608 - fixed words
            f"{keyset} ORDER BY ended {order}, trace_id {order} LIMIT ?",
            *(start, end, *(after or ()), limit),
        )

    def delete_trace(self, trace_id: str) -> None:
        """Forget a trace, and remember that it was there."""
        with self.transaction():
            self._run("DELETE FROM traces WHERE trace_id = ?", trace_id)
            self._run("INSERT OR IGNORE INTO gone VALUES (?)", trace_id)

    def was_deleted(self, trace_id: str) -> bool:
        """Whether it was there once."""
        return self._one("SELECT 1 FROM gone WHERE trace_id = ?", trace_id) is not None

    def score(self, slot: str) -> dict[str, Any] | None:
        """The score in that slot."""
        row = self._one("SELECT body FROM scores WHERE slot = ?", slot)
        return None if row is None else json.loads(row[0])

    def write_score(self, slot: str, score_id: str, body: dict[str, Any]) -> None:
        """Store a score, or replace it."""
        self._run("INSERT OR REPLACE INTO scores VALUES (?, ?, ?)", slot, score_id, json.dumps(body))

    def delete_scores(self, score_id: str) -> None:
        """Delete every score with that id."""
        self._run("DELETE FROM scores WHERE score_id = ?", score_id)

    def scores(self) -> list[dict[str, Any]]:
        """Every score, by slot."""
        return [json.loads(body) for (body,) in self._all("SELECT body FROM scores ORDER BY slot")]

    def _run(self, statement: str, *values: Any) -> None:
        with self._lock:
            self._connection.execute(statement, values)

    def _one(self, statement: str, *values: Any) -> Any:
        with self._lock:
            return self._connection.execute(statement, values).fetchone()

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()
