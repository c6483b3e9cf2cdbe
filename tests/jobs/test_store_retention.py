"""Forgetting text."""

from datetime import timedelta
from pathlib import Path

from sqlalchemy import select

from groundwire.jobs.store import cache, open_store, outbox, outcomes, retention, rows, spend, work
from groundwire.jobs.store.schema import metadata

from .conftest import NOW
from .samples import arrival, outcome

DAY = timedelta(days=1)


async def fill(store):
    """Three traces of two users, a day apart, each with a row, a score and a judge's reply."""
    await store.write(work.enqueue, [arrival(f"p{number}") for number in range(3)], now=NOW)
    items = await store.write(work.claim, evaluators=["grounded"], limit=10, now=NOW, until=NOW + DAY)
    for number, item in enumerate(sorted(items, key=lambda item: item.partition_id)):
        at = NOW + number * DAY
        made = outcome(f"r{number}", f"p{number}", created_at=at, explanation=f"Secret {number}.")
        made = outcomes.Outcome(**{**vars(made), "user_id": "ann" if number < 2 else "bob"})
        await store.write(outcomes.finish, item, made, now=at)
        reply = {f"k{number}": f"Secret {number}."}
        await store.write(cache.keep, reply, trace_id=f"p{number}", now=at)


async def everything(store):
    """All that the database holds, as one text."""

    def dump(tx):
        return "\n".join(str(tuple(row)) for table in metadata.tables.values() for row in tx.execute(select(table)))

    return await store.read(dump)


async def test_text_older_than_it_may_be_kept_is_forgotten_and_its_numbers_stay(store):
    await fill(store)
    assert await retention.prune_before(store, NOW + DAY) == 1
    assert await retention.prune_before(store, NOW + DAY) == 0
    held = await everything(store)
    assert "Secret 0" not in held
    assert "Secret 1" in held
    old = await store.read(rows.find, "r0")
    assert old is not None
    assert (old.row.score, old.row.claims[0].label, old.row.claims[0].end, old.text_pruned) == (
        0.75,
        "hallucinated",
        17,
        True,
    )
    assert await store.read(cache.find, ["k0", "k1", "k2"]) == {"k1": "Secret 1.", "k2": "Secret 2."}


async def test_one_trace_is_forgotten_at_once(store):
    await fill(store)
    assert await retention.prune_trace(store, "p1") == 1
    held = await everything(store)
    assert "Secret 1" not in held
    assert "Secret 0" in held
    comments = {entry.target: entry.comment for entry in await store.read(outbox.entries)}
    assert comments["p1"] is None
    assert comments["p0"] is not None


async def test_a_user_is_forgotten_with_the_text(store):
    await fill(store)
    assert await retention.prune_user(store, "ann") == 2
    assert await retention.prune_user(store, "ann") == 0
    held = await everything(store)
    assert "Secret 0" not in held
    assert "Secret 1" not in held
    assert "ann" not in held
    assert "Secret 2" in held


async def test_a_user_whose_text_is_gone_can_still_be_forgotten(store):
    await fill(store)
    await retention.prune_before(store, NOW + 9 * DAY)
    assert await retention.prune_user(store, "ann") == 2
    assert "ann" not in await everything(store)


async def test_what_was_judged_stays_judged(store):
    await fill(store)
    await retention.prune_before(store, NOW + 9 * DAY)
    assert await store.write(work.enqueue, [arrival("p0")], now=NOW + 9 * DAY) == 0
    assert await store.read(work.tally) == {("grounded", "done"): 3}


async def test_more_rows_than_one_transaction_takes(store, monkeypatch):
    monkeypatch.setattr(retention, "PAGE", 2)
    await fill(store)
    assert await retention.prune_before(store, NOW + 9 * DAY) == 3


async def test_windows_of_single_traces_are_dropped_and_days_are_kept(store):
    def window(per, key):
        return spend.Window(scope="evaluator", name="e", per=per, key=key, starts_at=NOW, ends_at=None, cap=None)

    await store.write(
        spend.reserve,
        [window("trace", "t"), window("run", "r"), window("day", "d")],
        reservation_id="1",
        micro_dollars=5,
        evaluator="e",
        run_id="r",
        trace_id="t",
        now=NOW,
        until=NOW + DAY,
    )
    await retention.prune_before(store, NOW + 9 * DAY)
    assert len(await store.read(spend.list_windows)) == 3  # money is still held
    await store.write(spend.settle, "1", 4, now=NOW)
    await retention.prune_before(store, NOW + 9 * DAY)
    assert {state.window.per for state in await store.read(spend.list_windows)} == {"run", "day"}


async def test_forgotten_text_is_overwritten_in_the_file(sqlite_url, tmp_path: Path):
    store = await open_store(sqlite_url)
    await fill(store)
    await retention.prune_user(store, "ann")
    await store.close()  # the last connection folds the log into the file
    held = (tmp_path / "state.db").read_bytes()
    assert b"Secret 2" in held
    assert b"Secret 0" not in held
    assert b"Secret 1" not in held
    assert not (tmp_path / "state.db-wal").exists()
