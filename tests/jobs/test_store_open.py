"""Opening the state: its schema, its refusals, and what it keeps of odd values."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from groundwire.jobs.store import Store, cursors, open_store
from groundwire.jobs.store.migrate import VERSION_TABLE, migrate
from groundwire.jobs.store.schema import identity, metadata
from groundwire.scorer import ConfigError, RetryLater

from .conftest import NOW


def differences(tx: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(tx, opts={"version_table": VERSION_TABLE}), metadata))


def drop(tx: Connection, table: str) -> None:
    tx.execute(text(f'DROP TABLE "{table}"'))


async def test_migrations_make_the_schema(new_url):
    store = await open_store(new_url)
    assert await store.read(differences) == []
    assert set(await store.read(lambda tx: inspect(tx).get_table_names())) == {*metadata.tables, VERSION_TABLE}
    await store.close()


async def test_every_revision_from_the_first_ends_in_the_schema(new_url):
    store = await open_store(new_url)
    for table in [*metadata.tables, VERSION_TABLE]:
        await store.write(drop, table)
    await store.write(migrate, to="r0001")
    assert await store.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW + timedelta(minutes=1))
    await store.write(migrate)
    assert await store.read(differences) == []
    assert [place.owner for place in await store.read(cursors.places)] == ["a"]
    await store.close()


async def test_opening_again_changes_nothing(new_url):
    first = await open_store(new_url)
    await first.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW)
    await first.close()
    second = await open_store(new_url)
    assert len(await second.read(cursors.places)) == 1
    await second.close()


async def test_several_open_a_new_state_at_once(new_url):
    stores = await asyncio.gather(*(open_store(new_url) for _ in range(4)))
    assert await stores[3].read(differences) == []
    await asyncio.gather(*(store.close() for store in stores))


async def test_a_newer_schema_is_refused_in_one_line(new_url):
    store = await open_store(new_url)
    await store.write(lambda tx: tx.execute(text("UPDATE groundwire_version SET version_num = 'r9999'")))
    await store.close()
    with pytest.raises(ConfigError) as refusal:
        await open_store(new_url)
    assert str(refusal.value) == (
        "the state was written by a newer groundwire (schema r9999): upgrade groundwire, or change state.url"
    )


async def test_another_programs_tables_are_left_alone(new_url):
    store = await open_store(new_url)
    await store.write(lambda tx: tx.execute(text(f"DROP TABLE {VERSION_TABLE}")))
    await store.close()
    with pytest.raises(ConfigError, match=r"a table '\w+' that groundwire did not make"):
        await open_store(new_url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("state.db", "write sqlite:///FILE or postgresql://"),
        ("mysql://u:hunter2@h/d", "names mysql: groundwire keeps its state in sqlite or postgresql"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:////no/such/folder/state.db", "there is no folder /no/such/folder"),
        ("sqlite:////proc/state.db", "can't be made or written"),
    ],
)
async def test_addresses_that_cannot_hold_a_state(url, says):
    with pytest.raises(ConfigError, match=says) as refusal:
        await open_store(url)
    assert "hunter2" not in str(refusal.value)


async def test_an_unreachable_database_is_tried_later_and_its_password_not_shown():
    with pytest.raises(RetryLater, match=r"postgresql://u:\*\*\*@127\.0\.0\.1:1/d can't be reached") as refusal:
        await open_store("postgresql://u:hunter2@127.0.0.1:1/d")
    assert "hunter2" not in repr(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.after > 0


async def test_a_store_shows_where_it_is_without_its_password(sqlite_url, tmp_path: Path):
    store = await open_store(sqlite_url)
    assert repr(store) == f"Store('{tmp_path / 'state.db'}')"
    assert store.dialect == "sqlite"
    await store.close()
    with pytest.raises(RuntimeError, match="the store is closed"):
        await store.read(cursors.places)


async def test_odd_text_and_zones_are_kept_as_databases_can(store: Store):
    cursor = {"text": "nul \0, half \ud83d, zürich 東京"}
    india = timezone(timedelta(hours=5, minutes=30))
    at = datetime(2026, 11, 30, 17, 30, 0, 250, tzinfo=india)
    await store.write(cursors.acquire, "a\0b\ud800", owner="me", now=NOW, until=NOW)
    # the source's name is cleaned on the way in, and so it is found under the name that was given
    assert await store.write(cursors.advance, "a\0b\ud800", cursor, reached=at, owner="me", now=NOW)
    (place,) = await store.read(cursors.places)
    assert place.source == "a\ufffdb\ufffd"
    assert place.cursor == cursor
    assert place.reached == datetime(2026, 11, 30, 12, 0, 0, 250, tzinfo=UTC)
    assert place.reached.tzinfo is UTC


async def test_a_time_without_a_zone_is_a_defect(store: Store):
    with pytest.raises(Exception, match="a time in the state needs a zone"):
        await store.write(cursors.acquire, "a", owner="me", now=NOW, until=datetime(2026, 1, 1))  # noqa: DTZ001 - the subject


def test_identities_differ_where_their_parts_do():
    assert identity("a", "bc") != identity("ab", "c")
    assert identity("a") == identity("a")
    assert len(identity("x" * 10_000)) == 40


async def test_a_failed_write_leaves_nothing_and_its_neighbours_are_kept(store: Store):
    def fail(tx: Connection) -> None:
        cursors.acquire(tx, "bad", owner="me", now=NOW, until=NOW)
        raise LookupError("no")

    async def good(name: str) -> bool:
        return await store.write(cursors.acquire, name, owner="me", now=NOW, until=NOW)

    names = [f"s{number:02}" for number in range(20)]
    done = await asyncio.gather(
        *map(good, names[:10]), store.write(fail), *map(good, names[10:]), return_exceptions=True
    )
    assert [type(result) for result in done].count(LookupError) == 1
    assert [place.source for place in await store.read(cursors.places)] == names


async def test_a_cancelled_write_ends_as_a_whole(store: Store):
    task = asyncio.create_task(store.write(cursors.acquire, "a", owner="me", now=NOW, until=NOW))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.close()  # finishes what was handed over
