"""Cursors and the right to pull a source."""

import asyncio
from datetime import timedelta

from groundwire.jobs.store import cursors, open_store

from .conftest import NOW

MINUTE = timedelta(minutes=1)


async def test_one_process_pulls_a_source(store):
    assert await store.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW + MINUTE)
    assert not await store.write(cursors.acquire, "prod", owner="b", now=NOW, until=NOW + MINUTE)
    assert await store.write(cursors.acquire, "other", owner="b", now=NOW, until=NOW + MINUTE)
    # renewed by its owner, and lapsed when it isn't
    assert await store.write(cursors.acquire, "prod", owner="a", now=NOW + MINUTE, until=NOW + 2 * MINUTE)
    assert not await store.write(cursors.acquire, "prod", owner="b", now=NOW + MINUTE, until=NOW + 3 * MINUTE)
    assert await store.write(cursors.acquire, "prod", owner="b", now=NOW + 2 * MINUTE, until=NOW + 3 * MINUTE)
    assert not await store.write(cursors.acquire, "prod", owner="a", now=NOW + 2 * MINUTE, until=NOW + 3 * MINUTE)


async def test_a_source_that_was_given_back_is_free(store):
    await store.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW + MINUTE)
    await store.write(cursors.release, "prod", owner="b")
    assert not await store.write(cursors.acquire, "prod", owner="b", now=NOW, until=NOW + MINUTE)
    await store.write(cursors.release, "prod", owner="a")
    assert await store.write(cursors.acquire, "prod", owner="b", now=NOW, until=NOW + MINUTE)


async def test_of_many_that_ask_at_once_one_is_let_in(store, store_url):
    second = await open_store(store_url)
    asked = [
        (store, second)[number % 2].write(cursors.acquire, "prod", owner=str(number), now=NOW, until=NOW + MINUTE)
        for number in range(12)
    ]
    assert sorted(await asyncio.gather(*asked)).count(True) == 1
    await second.close()


async def test_a_cursor_never_goes_back_unless_asked(store):
    async def move(token, minutes, **more):
        return await store.write(
            cursors.advance, "prod", {"token": token}, reached=NOW + minutes * MINUTE, owner="a", now=NOW, **more
        )

    await store.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW + MINUTE)
    assert await move("1", 5)
    assert await move("2", 5)  # the next page of the same moment
    assert not await move("0", 4)
    (place,) = await store.read(cursors.places, "prod")
    assert (place.cursor, place.reached, place.moved_at) == ({"token": "2"}, NOW + 5 * MINUTE, NOW)
    assert await move("0", 4, back=True)
    (place,) = await store.read(cursors.places, "prod")
    assert place.cursor == {"token": "0"}


async def test_a_process_that_lost_its_source_moves_no_cursor(store):
    await store.write(cursors.acquire, "prod", owner="a", now=NOW, until=NOW + MINUTE)
    await store.write(cursors.acquire, "prod", owner="b", now=NOW + MINUTE, until=NOW + 2 * MINUTE)
    assert not await store.write(cursors.advance, "prod", {}, reached=NOW, owner="a", now=NOW)
    assert await store.read(cursors.places, "nowhere") == []
