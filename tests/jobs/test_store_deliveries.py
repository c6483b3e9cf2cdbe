"""Webhooks' deliveries in the state: once each, bounded, and without their text as soon as they were read."""

from datetime import timedelta

from sqlalchemy import select

from groundwire.jobs.store import Store, deliveries
from groundwire.jobs.store.retention import prune_before
from groundwire.jobs.store.schema import deliveries as table

from .conftest import NOW

ROOM = {"most": 3, "most_bytes": 100}


async def receive(store: Store, body: bytes, *, evaluator: str = "grounded", **room: int) -> str:
    return await store.write(deliveries.receive, evaluator, body, now=NOW, **{**ROOM, **room})


async def due(store: Store, *, later: float = 0.0) -> list[deliveries.StoredDelivery]:
    return await store.read(deliveries.due, "grounded", now=NOW + timedelta(seconds=later), limit=10)


async def test_a_delivery_is_stored_once_for_each_evaluator(store: Store) -> None:
    assert await receive(store, b"one") == "stored"
    assert await receive(store, b"one") == "known"
    assert await receive(store, b"one", evaluator="other") == "stored"
    assert await store.read(deliveries.waiting) == {"grounded": 1, "other": 1}
    [found] = await due(store)
    assert (found.body, found.origins) == (b"one", None)


async def test_the_queue_is_bounded_by_number_and_by_size(store: Store) -> None:
    assert [await receive(store, bytes([number])) for number in range(4)] == ["stored"] * 3 + ["full"]
    assert await receive(store, bytes([0])) == "known", "a retry of what is stored is no more than that"
    assert await receive(store, b"x" * 101, most=10) == "full"


async def test_what_is_left_of_a_delivery_waits_without_its_text_and_the_last_of_it_ends_it(store: Store) -> None:
    await receive(store, b"secret words")
    [found] = await due(store)
    left = [{"trace_id": "a"}, {"trace_id": "b"}]
    later = NOW + timedelta(seconds=15)
    await store.write(deliveries.keep, found.delivery_id, left, now=NOW, not_before=later)
    assert await due(store) == []
    [found] = await due(store, later=15)
    assert (found.body, found.origins) == (None, left)
    assert await store.read(deliveries.unread, "grounded", limit=10) == []
    await store.write(deliveries.keep, found.delivery_id, [], now=NOW, not_before=NOW)
    assert await due(store, later=99) == []
    assert await store.read(deliveries.waiting) == {}
    assert await receive(store, b"secret words") == "known"
    await store.write(deliveries.forget, NOW + timedelta(seconds=1))
    assert await receive(store, b"secret words") == "stored"


async def test_pruning_forgets_deliveries_that_were_never_read(store: Store) -> None:
    await receive(store, b"secret words")
    await prune_before(store, NOW)
    assert len(await due(store)) == 1
    await prune_before(store, NOW + timedelta(seconds=1))
    assert await store.read(lambda tx: tx.execute(select(table)).all()) == []
