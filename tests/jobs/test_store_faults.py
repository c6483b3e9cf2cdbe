"""A state that is locked, full, gone or damaged says what to do, and goes on where it can."""

import asyncio
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from groundwire.jobs.store import Store, cursors, engine, open_store, work
from groundwire.jobs.store.outbox import entries
from groundwire.scorer import GiveUp, RetryLater

from .conftest import NOW
from .samples import arrival


async def touch(store: Store, name: str = "prod") -> bool:
    return await store.write(cursors.acquire, name, owner="me", now=NOW, until=NOW)


@pytest.fixture
async def file(sqlite_url, tmp_path: Path, monkeypatch):
    """A SQLite state that waits for locks for 0.1 s, and its path."""
    monkeypatch.setattr(engine, "LOCK_WAIT", timedelta(milliseconds=100))
    store = await open_store(sqlite_url)
    yield store, tmp_path / "state.db"
    await store.close()


async def test_a_locked_file_is_tried_later(file):
    store, path = file
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RetryLater, match=r"state\.db is locked by another process") as fault:
            await touch(store)
        assert fault.value.after > 0
        assert await store.read(cursors.places) == []  # readers go on
        other.execute("ROLLBACK")
    assert await touch(store)


async def test_a_full_disk_is_tried_later(file):
    store, _ = file

    def limit(tx, pages):
        tx.execute(text(f"PRAGMA max_page_count = {pages}"))

    await store.write(limit, 1)  # SQLite then allows what it has and no more
    many = [arrival(f"p{number}", origin={"x": "y" * 2_000}) for number in range(200)]
    with pytest.raises(RetryLater, match=r"no space left for the state file .*state\.db: free some disk space"):
        await store.write(work.enqueue, many, now=NOW)
    assert await store.read(work.tally) == {}
    await store.write(limit, 1_000_000)
    assert await store.write(work.enqueue, many, now=NOW) == 200


async def test_a_file_that_is_gone_for_a_while_is_found_again(file, tmp_path):
    store, _ = file
    await touch(store)
    away = tmp_path / "away"
    away.mkdir()
    files = list(tmp_path.glob("state.db*"))
    for one in files:
        one.rename(away / one.name)
    for _ in range(2):
        with pytest.raises(RetryLater, match=r"state\.db (was moved|can't be read)"):
            await touch(store, "lost")
        with pytest.raises(RetryLater):
            await store.read(cursors.places)
    assert list(tmp_path.glob("state.db*")) == []  # no empty state was made in its place
    for one in files:
        (away / one.name).rename(one)
    assert await touch(store, "found")
    assert [place.source for place in await store.read(cursors.places)] == ["found", "prod"]


async def test_a_file_replaced_by_an_empty_one_is_given_up(file, tmp_path):
    store, path = file
    await touch(store)
    for one in tmp_path.glob("state.db*"):
        one.unlink()
    path.touch()
    with pytest.raises(RetryLater, match="was moved or deleted"):
        await touch(store)
    with pytest.raises(GiveUp, match=r"lost its tables while it was in use: restart groundwire"):
        await touch(store)


async def test_a_damaged_file_is_given_up(sqlite_url, tmp_path):
    (tmp_path / "state.db").write_bytes(b"this is no database, but it is long enough to be read as one" * 100)
    with pytest.raises(GiveUp, match=r"state\.db is damaged: restore it from a copy"):
        await open_store(sqlite_url)


async def test_a_killed_process_leaves_whole_transactions(sqlite_url, tmp_path):
    """SIGKILL while it writes pairs: both of a pair are there or neither is."""
    store = await open_store(sqlite_url)
    script = """
import asyncio, sys
from datetime import UTC, datetime
from groundwire.jobs.store import open_store, cursors
async def main():
    store = await open_store(sys.argv[1])
    now = datetime(2026, 11, 30, tzinfo=UTC)
    def pair(tx, number):
        for side in "ab":
            cursors.acquire(tx, f"{number}{side}", owner="me", now=now, until=now)
    for number in range(100_000):
        await store.write(pair, number)
        if number == 20:
            print("going", flush=True)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, sqlite_url, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"going\n"
    process.kill()
    await process.wait()
    names = [place.source for place in await store.read(cursors.places)]
    assert len(names) >= 42
    assert {name[:-1] for name in names if name.endswith("a")} == {name[:-1] for name in names if name.endswith("b")}
    await store.close()


async def test_the_state_of_a_copied_file_opens(sqlite_url, tmp_path):
    store = await open_store(sqlite_url)
    await touch(store)
    await store.close()
    shutil.copy(tmp_path / "state.db", tmp_path / "copy.db")
    copy = await open_store(f"sqlite:///{tmp_path / 'copy.db'}")
    assert len(await copy.read(cursors.places)) == 1
    await copy.close()


@pytest.mark.postgres
class TestPostgreSQL:
    async def test_lost_connections_are_opened_again(self, postgres_url):
        store = await open_store(postgres_url)
        await touch(store)
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename <> ''"
        admin = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(kill))
        admin.dispose()
        assert await touch(store, "again")
        await store.close()

    async def test_a_connection_lost_in_a_transaction_is_tried_later(self, postgres_url):
        store = await open_store(postgres_url)

        def die(tx):
            tx.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

        with pytest.raises(RetryLater, match=r"the state database postgresql://.* (can't be reached|was stopped)"):
            await store.write(die)
        assert await touch(store)
        await store.close()

    async def test_a_lock_that_is_held_too_long_is_tried_later(self, postgres_url, monkeypatch):
        monkeypatch.setattr(engine, "LOCK_WAIT", timedelta(milliseconds=200))
        store = await open_store(postgres_url)
        admin = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
        with admin.connect() as connection:
            connection.execute(text("LOCK TABLE cursors IN EXCLUSIVE MODE"))
            with pytest.raises(RetryLater, match="is locked by another process"):
                await touch(store)
        admin.dispose()
        assert await touch(store)
        await store.close()

    async def test_lost_tables_are_given_up(self, postgres_url):
        store = await open_store(postgres_url)
        await store.write(lambda tx: tx.execute(text("DROP TABLE outbox")))
        with pytest.raises(GiveUp, match="lost its tables while it was in use: restart groundwire"):
            await store.read(entries)
        await store.close()
