"""Queries over rows."""

from datetime import timedelta
from typing import Any

import pytest

from groundwire.jobs.store import outcomes, rows, work
from groundwire.jobs.store.rows import RowQuery

from .conftest import NOW
from .samples import arrival, outcome

HOUR = timedelta(hours=1)


@pytest.fixture
async def filled(store):
    """Ten rows, one an hour: scores 0.0 … 0.9, the last two without one, the first once superseded."""
    await store.write(work.enqueue, [arrival(f"p{number}") for number in range(10)], now=NOW)
    items = await store.write(work.claim, evaluators=["grounded"], limit=10, now=NOW, until=NOW + HOUR)
    for number, item in enumerate(sorted(items, key=lambda item: item.partition_id)):
        changes: dict[str, Any] = {"score": number / 10}
        if number == 8:
            changes = {"score": None, "label": None, "status": "unknown", "reason": "no_evidence"}
        if number == 9:
            changes = {"score": None, "label": None, "status": "skipped", "reason": "over_budget"}
        made = outcome(f"r{number}", f"p{number}", created_at=NOW + number * HOUR, **changes)
        await store.write(outcomes.finish, item, made, now=NOW)
    await store.write(work.enqueue, [arrival("p0", content_hash="hash-2")], now=NOW)
    (item,) = await store.write(work.claim, evaluators=["grounded"], limit=1, now=NOW, until=NOW + HOUR)
    again = outcome("r0b", "p0", content_hash="hash-2", created_at=NOW, score=0.05, label="grounded")
    await store.write(outcomes.finish, item, again, now=NOW)
    return store


async def ids(store, query, **more):
    return [stored.row.row_id async for page in rows.pages(store, query, **more) for stored in page]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (RowQuery(), ["r0b", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"]),
        (RowQuery(history=True, trace_id="p0"), ["r0", "r0b"]),
        (RowQuery(evaluator="other"), []),
        (RowQuery(status="skipped"), ["r9"]),
        (RowQuery(reason="no_evidence"), ["r8"]),
        (RowQuery(label="grounded"), ["r0b"]),
        (RowQuery(score_min=0.3, score_max=0.5), ["r3", "r4", "r5"]),
        (RowQuery(since=NOW + 2 * HOUR, until=NOW + 4 * HOUR), ["r2", "r3"]),
        (RowQuery(trace_since=NOW, trace_until=NOW), []),
        (RowQuery(trace_since=NOW, score_max=0.1), ["r0b", "r1"]),
        (RowQuery(run_id="none"), []),
    ],
)
async def test_every_filter_narrows(filled, query, expected):
    assert await ids(filled, query) == expected


@pytest.mark.parametrize("size", [1, 3, 10, 100])
async def test_any_page_size_gives_the_same_rows_in_order(filled, size):
    everything = await ids(filled, RowQuery(history=True), size=size)
    assert everything == ["r0", "r0b", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"]
    assert await ids(filled, RowQuery(history=True), size=size, newest_first=True) == everything[::-1]


async def test_rows_are_counted_by_status_and_reason(filled):
    assert await filled.read(rows.tally, RowQuery()) == {
        ("grounded", "scored", None): 8,
        ("grounded", "unknown", "no_evidence"): 1,
        ("grounded", "skipped", "over_budget"): 1,
    }


async def test_a_row_is_found_by_its_id(filled):
    found = await filled.read(rows.find, "r8")
    assert found is not None
    assert (found.row.status, found.row.score) == ("unknown", None)
    assert await filled.read(rows.find, "nobody") is None
