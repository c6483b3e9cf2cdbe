"""The state's connections: where a transaction runs, and what its failure means.

A query is a plain function whose first argument is a SQLAlchemy `Connection` inside a transaction; `Store.write` and
`Store.read` run it in a thread. That keeps the event loop free while a lock is waited for, costs a quarter of what an
async driver does, and lets a cancelled caller leave a whole transaction behind, never half of one.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from groundwire.jobs.store.faults import StateMovedError, explain
from groundwire.jobs.store.lane import Lane
from groundwire.jobs.store.migrate import migrate
from groundwire.scorer import ConfigError, GroundwireError

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy.pool import ConnectionPoolEntry

__all__ = ["Store", "open_store"]

P = ParamSpec("P")
T = TypeVar("T")

LOCK_WAIT = timedelta(seconds=30)
"""How long a transaction waits for a lock before it is `RetryLater`."""
TOGETHER = 64
"""Waiting writes that share one commit of a SQLite file at most."""
READERS = 4
"""Threads that read a SQLite file beside its one writer."""
POSTGRESQL_CONNECTIONS = 8
"""Connections that one process opens to PostgreSQL at most."""


class Store:
    """One state database: `write` and `read` run a query in a transaction of its own.

    Both raise RetryLater where the database is locked, full or gone for a while, and GiveUp where it is damaged.
    """

    def __init__(self, *, writer: Engine, reader: Engine, writers: int, readers: int, together: int) -> None:
        self._writer = writer
        self._reader = reader
        self._writes = Lane(writer, threads=writers, most=together, explain=self._explain)
        self._reads = Lane(reader, threads=readers, explain=self._explain)

    @property
    def where(self) -> str:
        """The database's address, without its password."""
        return _address(self._writer.url)

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self._writer.dialect.name

    def __repr__(self) -> str:
        return f"Store({self.where!r})"

    async def write(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `do(transaction, …)` and commit; where it raises, nothing of it stays.

        Once handed over it runs to its end, also where the caller is cancelled. It may be run twice before it is
        committed once, so it changes nothing but the database.
        """
        return await self._writes.run(lambda tx: do(tx, *args, **kwargs))

    async def read(self, do: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `do(transaction, …)`, which must not write."""
        return await self._reads.run(lambda tx: do(tx, *args, **kwargs))

    async def close(self) -> None:
        """Wait for the transactions under way and close every connection; once closed, a store can't be used."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._writes.close()
        self._reads.close()
        self._reader.dispose()
        self._writer.dispose()

    def _explain(self, error: Exception) -> GroundwireError | None:
        return explain(error, self.where)


async def open_store(url: str) -> Store:
    """Open the state at a SQLAlchemy URL, bring its schema up to date, and return it.

    `sqlite:///groundwire.db` makes the file where there is none; `postgresql://user:password@host/database` names a
    database that exists. Raises ConfigError for an address that can't be used or a schema from a newer groundwire, and
    RetryLater where the database can't be reached.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ConfigError("state.url is no database address: write sqlite:///FILE or postgresql://…") from None
    match parsed.get_backend_name():
        case "sqlite":
            store = _open_sqlite(parsed)
        case "postgresql" | "postgres":
            store = _open_postgresql(parsed)
        case other:
            raise ConfigError(f"state.url names {other}: groundwire keeps its state in sqlite or postgresql")
    try:
        await store.write(migrate)
    except BaseException:
        await store.close()
        raise
    return store


def _address(url: URL) -> str:
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)


def _open_sqlite(url: URL) -> Store:
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise ConfigError("state.url needs a file: write sqlite:///FILE")
    path = Path(url.database).absolute()
    if not path.parent.is_dir():
        raise ConfigError(f"state.url: there is no folder {path.parent}")
    try:
        sqlite3.connect(path).close()
        path.touch()
    except (OSError, sqlite3.Error):
        raise ConfigError(f"state.url: {path} can't be made or written") from None
    writer = _sqlite_engine(url, path, begin="BEGIN IMMEDIATE", connections=1)
    reader = _sqlite_engine(url, path, begin="BEGIN", connections=READERS)
    return Store(writer=writer, reader=reader, writers=1, readers=READERS, together=TOGETHER)


def _sqlite_engine(url: URL, path: Path, *, begin: str, connections: int) -> Engine:
    """An engine whose every transaction begins with `begin`.

    The default transaction begins at the first write: what was read before it may be changed by others and is then
    overwritten without an error.
    """

    def connect() -> sqlite3.Connection:
        # mode=rw: a file that was deleted is not silently made anew, empty
        return sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            timeout=LOCK_WAIT.total_seconds(),
            isolation_level=None,
            check_same_thread=False,
        )

    engine = create_engine(
        url.set(drivername="sqlite"),
        creator=connect,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, record: "ConnectionPoolEntry") -> None:
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        record.info["file"] = _file_identity(path)

    @event.listens_for(engine, "begin")
    def start(connection: Connection) -> None:
        if connection.info["file"] != _file_identity(path):
            connection.invalidate()
            raise StateMovedError
        connection.exec_driver_sql(begin)

    return engine


def _file_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _open_postgresql(url: URL) -> Store:
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": 10},
        pool_size=POSTGRESQL_CONNECTIONS,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: "psycopg.Connection[Any]", _record: "ConnectionPoolEntry") -> None:
        wait = int(LOCK_WAIT.total_seconds() * 1000)
        connection.execute(f"SET lock_timeout = {wait}")
        # a process that is frozen in the middle of a transaction must not hold its locks for ever
        connection.execute(f"SET idle_in_transaction_session_timeout = {2 * wait}")
        connection.commit()

    half = POSTGRESQL_CONNECTIONS // 2
    return Store(writer=engine, reader=engine, writers=half, readers=half, together=1)
