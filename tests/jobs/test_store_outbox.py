"""The outbox: what should stand on the platforms, until it is there."""

from datetime import timedelta

from groundwire.jobs.store import outbox

from .conftest import NOW
from .samples import wanted

MINUTE = timedelta(minutes=1)


async def put(store, entry, *, row_id="r1", run_id="run-1", now=NOW):
    return await store.write(outbox.put, entry, row_id=row_id, run_id=run_id, now=now)


async def claim(store, *, at=NOW, source="prod", limit=10):
    return await store.write(outbox.claim, source, limit=limit, now=at, until=at + MINUTE)


async def entries(store, **which):
    found = await store.read(outbox.entries, **which)
    return [(entry.target, entry.generation, entry.action, entry.state) for entry in found]


async def test_a_score_is_delivered_once(store):
    assert await put(store, wanted()) == 1
    assert await claim(store, source="elsewhere") == []
    (entry,) = await claim(store)
    assert (entry.payload, entry.comment, entry.attempts) == ({"value": 0.75}, "0.75 · Bag costs 10 EUR.", 1)
    assert await claim(store) == []
    await store.write(outbox.deliver, [entry], now=NOW)
    assert await claim(store, at=NOW + MINUTE) == []
    (sent,) = await store.read(outbox.entries)
    assert (sent.state, sent.delivered_at, sent.comment) == ("sent", NOW, None)
    assert await store.read(outbox.tally) == {("prod", "sent"): 1}


async def test_the_same_again_is_not_sent_again(store):
    await put(store, wanted())
    await store.write(outbox.deliver, await claim(store), now=NOW)
    assert await put(store, wanted(), row_id="r2") is None
    assert await claim(store) == []
    assert [entry.row_id for entry in await store.read(outbox.entries)] == ["r2"]


async def test_a_newer_value_takes_the_place_of_one_that_waits(store):
    await put(store, wanted())
    await put(store, wanted(value=0.5))
    (entry,) = await claim(store)
    assert entry.payload == {"value": 0.5}


async def test_a_value_that_changes_on_its_way_is_sent_after_it_and_never_beside_it(store):
    await put(store, wanted())
    (old,) = await claim(store)
    await put(store, wanted(value=0.5))
    assert await claim(store) == []
    await store.write(outbox.deliver, [old], now=NOW)
    (new,) = await claim(store)
    assert (new.payload, new.attempts) == ({"value": 0.5}, 1)
    await store.write(outbox.deliver, [new], now=NOW)
    assert await entries(store) == [("p1", 1, "put", "sent")]


async def test_what_a_killed_worker_was_delivering_is_delivered(store):
    await put(store, wanted())
    await claim(store)
    assert await claim(store, at=NOW + timedelta(seconds=59)) == []
    (entry,) = await claim(store, at=NOW + MINUTE)
    assert entry.attempts == 2


async def test_retries_and_dead_letters(store):
    await put(store, wanted())
    (entry,) = await claim(store)
    await store.write(outbox.retry, entry, not_before=NOW + MINUTE, error="429")
    assert await claim(store) == []
    (entry,) = await claim(store, at=NOW + MINUTE)
    assert (entry.attempts, entry.error) == (2, "429")
    await store.write(outbox.bury, entry, error="refused: no such trace")
    assert await claim(store, at=NOW + 9 * MINUTE) == []
    assert await entries(store, state="dead") == [("p1", 1, "put", "dead")]
    assert await store.write(outbox.revive, now=NOW, evaluator="other") == 0
    assert await store.write(outbox.revive, now=NOW) == 1
    (entry,) = await claim(store)
    assert (entry.attempts, entry.comment) == (1, "0.75 · Bag costs 10 EUR.")


async def test_a_dead_letter_that_is_wanted_again_is_due_again(store):
    await put(store, wanted())
    (entry,) = await claim(store)
    await store.write(outbox.bury, entry, error="refused")
    assert await put(store, wanted()) == 1
    assert len(await claim(store)) == 1


async def test_a_score_taken_off_comes_back_in_the_next_generation(store):
    await put(store, wanted())
    await store.write(outbox.deliver, await claim(store), now=NOW)
    assert await put(store, wanted(action="delete")) == 1
    assert await put(store, wanted(action="delete")) is None
    (gone,) = await claim(store)
    assert (gone.action, gone.generation) == ("delete", 1)
    assert await put(store, wanted(value=1.0)) == 2  # the first one may be gone already
    await store.write(outbox.deliver, [gone], now=NOW)
    (new,) = await claim(store)
    assert (new.action, new.generation, new.payload) == ("put", 2, {"value": 1.0})
    await store.write(outbox.deliver, [new], now=NOW)
    assert await entries(store) == [("p1", 1, "delete", "sent"), ("p1", 2, "put", "sent")]
    assert await put(store, wanted(action="delete")) == 2


async def test_a_score_that_never_left_needs_no_taking_off(store):
    assert await put(store, wanted(action="delete")) is None
    await put(store, wanted())
    assert await put(store, wanted(action="delete")) is None
    assert await entries(store) == []


async def test_a_delete_that_nobody_began_is_simply_undone(store):
    await put(store, wanted())
    await store.write(outbox.deliver, await claim(store), now=NOW)
    await put(store, wanted(action="delete"))
    assert await put(store, wanted()) == 1
    (entry,) = await claim(store)
    assert (entry.action, entry.generation) == ("put", 1)


async def test_a_run_is_retracted(store):
    await put(store, wanted("sent"))
    await store.write(outbox.deliver, await claim(store), now=NOW)
    await put(store, wanted("waiting"))
    await put(store, wanted("replaced"))
    await put(store, wanted("replaced", value=0.1), run_id="run-2")
    await put(store, wanted("other", evaluator="other"))
    mine = {"evaluator": "grounded", "run_id": "run-1"}
    assert [target for target, *_ in sorted(await entries(store, **mine))] == ["sent", "waiting"]
    assert await store.write(outbox.retract, **mine, now=NOW) == (1, 1)
    assert await store.write(outbox.retract, **mine, now=NOW) == (0, 0)
    assert sorted(await entries(store)) == [
        ("other", 1, "put", "pending"),
        ("replaced", 1, "put", "pending"),
        ("sent", 1, "delete", "pending"),
    ]
    deletes = [entry for entry in await claim(store) if entry.action == "delete"]
    assert [(entry.target, entry.payload, entry.comment) for entry in deletes] == [("sent", {"value": 0.75}, None)]


async def test_scores_differ_by_project_target_evaluator_and_name(store):
    others = [wanted(project="x"), wanted(target="x"), wanted(evaluator="x"), wanted(score_name="x")]
    for one in [wanted(), *others]:
        await put(store, one)
    assert len(await claim(store)) == 5
    await store.write(outbox.deliver, [], now=NOW)
