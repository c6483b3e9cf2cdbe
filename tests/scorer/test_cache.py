"""A rerun costs nothing, and identical calls in flight are made once."""

import asyncio

import pytest

from groundwire.scorer.cache import Flights, MemoryCache


async def test_a_memory_cache_forgets_what_was_not_asked_for_longest() -> None:
    cache = MemoryCache(entries=2)
    await cache.put({"a": "1", "b": "2"})
    assert await cache.get("a") == "1"
    await cache.put({"c": "3"})
    assert [await cache.get(key) for key in "abc"] == ["1", None, "3"]


async def test_identical_calls_in_flight_are_made_once() -> None:
    flights: Flights[str] = Flights()
    made = 0

    async def make() -> str:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return "answer"

    answers = await asyncio.gather(*(flights.once("k", make, shared=lambda _: True) for _ in range(20)))
    assert made == 1
    assert sorted(answers) == [("answer", False)] + [("answer", True)] * 19
    await flights.once("k", make, shared=lambda _: True)
    assert made == 2, "once a call has landed, the cache answers, not the flight"


async def test_what_is_not_shared_is_asked_for_by_each() -> None:
    flights: Flights[str] = Flights()
    made = 0

    async def make() -> str:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return f"over budget {made}"

    answers = await asyncio.gather(*(flights.once("k", make, shared=lambda _: False) for _ in range(3)))
    assert sorted(answers) == [("over budget 1", False), ("over budget 2", False), ("over budget 3", False)]


async def test_a_cancelled_call_does_not_cancel_those_who_wait() -> None:
    flights: Flights[str] = Flights()
    started = asyncio.Event()

    async def hang() -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async def make() -> str:
        return "mine"

    first = asyncio.create_task(flights.once("k", hang, shared=lambda _: True))
    await started.wait()
    second = asyncio.create_task(flights.once("k", make, shared=lambda _: True))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await second == ("mine", False)
