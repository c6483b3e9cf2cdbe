"""The queue: what arrives twice is one item, what is claimed has one worker, what is dropped comes back."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text

from groundwire.jobs.store import open_store, work

from .conftest import NOW
from .samples import arrival

MINUTE = timedelta(minutes=1)


async def claim(store, *, at=NOW, limit=10, evaluators=("grounded",), **more):
    return await store.write(work.claim, evaluators=list(evaluators), limit=limit, now=at, until=at + MINUTE, **more)


async def tally(store):
    return {state: n for (_, state), n in (await store.read(work.tally)).items()}


async def test_a_page_seen_twice_is_one_page_of_work(store):
    page = [arrival(f"p{number}") for number in range(50)]
    assert await store.write(work.enqueue, page, now=NOW) == 50
    assert await store.write(work.enqueue, page, now=NOW) == 0
    assert await store.write(work.enqueue, page[:1] * 3, now=NOW) == 0
    assert await store.write(work.enqueue, [], now=NOW) == 0
    assert await tally(store) == {"pending": 50}


async def test_each_evaluator_and_level_has_its_own_item(store):
    page = [arrival(), arrival(evaluator="other"), arrival(partition_type="session")]
    assert await store.write(work.enqueue, page, now=NOW) == 3
    assert await store.read(work.tally, "other") == {("other", "pending"): 1}


async def test_an_item_is_claimed_by_one_worker_in_the_order_it_became_due(store):
    page = [arrival(f"p{number}", not_before=NOW + (9 - number) * timedelta(seconds=1)) for number in range(10)]
    await store.write(work.enqueue, page, now=NOW)
    assert [item.partition_id for item in await claim(store)] == ["p9"]  # the only one that is due
    later = NOW + timedelta(seconds=9)
    rest = await claim(store, at=later, limit=4)
    assert [item.partition_id for item in rest] == ["p8", "p7", "p6", "p5"]
    assert await claim(store, at=later, evaluators=["other"]) == []


async def test_what_a_killed_worker_had_comes_back(store):
    await store.write(work.enqueue, [arrival()], now=NOW)
    (first,) = await claim(store)
    assert first.attempts == 1
    assert await claim(store, at=NOW + timedelta(seconds=59)) == []
    (second,) = await claim(store, at=NOW + MINUTE)
    assert (second.attempts, second.revision) == (2, first.revision)
    assert second.claim != first.claim
    # the first worker wakes up: the item is not its own any more
    await store.write(work.postpone, first, not_before=NOW)
    await store.write(work.close, first, state="done")
    assert await tally(store) == {"judging": 1}


async def test_a_heartbeat_keeps_an_item(store):
    await store.write(work.enqueue, [arrival(), arrival("p2")], now=NOW)
    items = await claim(store)
    await store.write(work.extend, items[:1], until=NOW + 5 * MINUTE)
    await store.write(work.extend, [], until=NOW)
    assert [item.work_id for item in await claim(store, at=NOW + MINUTE)] == [items[1].work_id]


async def test_an_item_is_put_back_for_later(store):
    await store.write(work.enqueue, [arrival()], now=NOW)
    (item,) = await claim(store)
    await store.write(work.postpone, item, not_before=NOW + MINUTE, reason="incomplete", waiting=True)
    assert await tally(store) == {"waiting": 1}
    assert await claim(store, at=NOW + timedelta(seconds=59)) == []
    (item,) = await claim(store, at=NOW + MINUTE)
    assert (item.attempts, item.first_seen) == (2, NOW)


async def test_an_ended_item_opens_for_other_content_only(store):
    await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW)
    (item,) = await claim(store)
    await store.write(work.close, item, state="done", content_hash="hash-1")
    assert await store.write(work.enqueue, [arrival()], now=NOW + MINUTE) == 0
    assert await tally(store) == {"done": 1}
    assert await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW + MINUTE) == 1
    (item,) = await claim(store, at=NOW + MINUTE)
    assert (item.attempts, item.first_seen, item.content_hash) == (1, NOW + MINUTE, "hash-2")
    await store.write(work.close, item, state="skipped", reason="filtered")
    # only an id arrived: somebody has to look
    assert await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW + MINUTE) == 1
    assert await tally(store) == {"pending": 1}


async def test_a_change_while_it_settles_makes_it_settle_again(store):
    await store.write(work.enqueue, [arrival(not_before=NOW + MINUTE)], now=NOW)
    change = arrival(content_hash="hash-2", not_before=NOW + 2 * MINUTE)
    await store.write(work.enqueue, [change], now=NOW + MINUTE)
    assert await claim(store, at=NOW + MINUTE) == []
    (item,) = await claim(store, at=NOW + 2 * MINUTE)
    assert (item.first_seen, item.changed_at) == (NOW, NOW + MINUTE)


@pytest.mark.parametrize("ending", ["close", "postpone"])
async def test_a_change_while_it_is_judged_opens_it_when_that_ends(store, ending):
    await store.write(work.enqueue, [arrival()], now=NOW)
    (item,) = await claim(store)
    change = arrival(content_hash="hash-2", not_before=NOW + MINUTE)
    await store.write(work.enqueue, [change], now=NOW)
    assert await tally(store) == {"judging": 1}
    if ending == "close":
        await store.write(work.close, item, state="done", content_hash="hash-1")
    else:
        await store.write(work.postpone, item, not_before=NOW + 9 * MINUTE)
    assert await tally(store) == {"pending": 1}
    (item,) = await claim(store, at=NOW + MINUTE)
    assert item.content_hash == "hash-2"


async def test_a_change_that_its_judge_saw_already_is_no_change(store):
    await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW)
    (item,) = await claim(store)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    await store.write(work.close, item, state="done", content_hash="hash-2")  # it had fetched the newer content
    assert await tally(store) == {"done": 1}


async def test_a_backfill_claims_its_own_and_leaves_the_live_work_alone(store):
    history = [arrival("old", live=False, run_id="b1"), arrival("new", live=False, run_id="b1")]
    await store.write(work.enqueue, [arrival("new", run_id="live")], now=NOW)
    await store.write(work.enqueue, history, now=NOW)
    assert [item.partition_id for item in await claim(store)] == ["new"]
    assert await claim(store, live=False, run_id="b2") == []
    (item,) = await claim(store, live=False, run_id="b1")
    assert (item.partition_id, item.live, item.run_id) == ("old", False, "b1")


async def test_a_rescore_opens_what_was_judged_once(store):
    await store.write(work.enqueue, [arrival()], now=NOW)
    (item,) = await claim(store)
    await store.write(work.close, item, state="done")
    again = arrival(rescore=True, live=False, run_id="b1")
    assert await store.write(work.enqueue, [again], now=NOW) == 1
    assert await store.write(work.enqueue, [again], now=NOW) == 0
    (item,) = await claim(store, live=False)
    assert item.rescore


async def test_errors_and_what_the_cap_left_out_are_opened_again(store):
    await store.write(work.enqueue, [arrival(f"p{number}") for number in range(4)], now=NOW)
    items = await claim(store)
    endings = [("error", "judge_unreachable"), ("skipped", "over_budget"), ("skipped", "loop"), ("done", None)]
    for item, (state, reason) in zip(items, endings, strict=True):
        await store.write(work.close, item, state=state, reason=reason)
    assert await store.write(work.reopen, evaluator="grounded", state="error", now=NOW) == 1
    opened = await store.write(
        work.reopen, evaluator="grounded", state="skipped", reason="over_budget", live=False, run_id="b1", now=NOW
    )
    assert opened == 1
    assert await tally(store) == {"pending": 2, "skipped": 1, "done": 1}
    assert [(item.run_id, item.attempts) for item in await claim(store, live=False)] == [("b1", 1)]


async def test_workers_of_two_processes_share_the_work(store, store_url):
    await store.write(work.enqueue, [arrival(f"p{number}") for number in range(200)], now=NOW)
    other = await open_store(store_url)
    seen: list[str] = []

    async def worker(mine):
        while items := await claim(mine, limit=7):
            seen.extend(item.partition_id for item in items)

    await asyncio.gather(*(worker((store, other)[number % 2]) for number in range(8)))
    await other.close()
    assert sorted(seen) == sorted(f"p{number}" for number in range(200))


async def test_due_work_is_found_by_its_index(store):
    if store.dialect != "sqlite":
        pytest.skip("PostgreSQL's planner chooses by the size of the table")
    plan = await store.read(
        lambda tx: tx.execute(
            text(
                "EXPLAIN QUERY PLAN SELECT * FROM work WHERE state IN ('pending', 'waiting', 'judging')"
                " AND not_before <= '2026' ORDER BY not_before, work_id LIMIT 5"
            )
        ).all()
    )
    assert any("work_due" in str(step) for step in plan)
