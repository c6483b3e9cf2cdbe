"""The stored ledger: which caps bind which account, and what becomes of money that is held."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from groundwire.jobs.ledger import Cap, StoredLedger, window_end, window_start
from groundwire.jobs.store import cache, spend
from groundwire.scorer import Account, Ledger, Usage

from .conftest import NOW

ME = Account(evaluator="e", run_id="run-1", trace_id="t1")


def ledger(store, clock, **changes) -> StoredLedger:
    return StoredLedger(store=store, clock=clock, **{"patience": 0.0, **changes})


def cap(micro_dollars: int, per="day") -> Cap:
    return Cap(micro_dollars=micro_dollars, per=per)


async def windows(store):
    return {
        (state.window.scope, state.window.name, state.window.per): (state.spent, state.reserved)
        for state in await store.read(spend.list_windows)
    }


@pytest.mark.parametrize(
    ("per", "start", "end"),
    [
        ("hour", "2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z"),
        ("day", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("week", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"),
        ("month", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ],
)
@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=9))])
def test_windows_are_utc(per, start, end, zone):
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC).astimezone(zone)
    assert window_start(per, moment) == datetime.fromisoformat(start)
    assert window_end(per, moment) == datetime.fromisoformat(end)


def test_traces_and_runs_have_no_start_and_never_roll():
    for per in ("trace", "run"):
        assert window_start(per, NOW) is None
        assert window_end(per, NOW) is None


def test_a_month_of_28_days_ends_where_the_next_begins():
    assert window_end("month", datetime(2027, 2, 28, tzinfo=UTC)) == datetime(2027, 3, 1, tzinfo=UTC)


async def test_money_is_held_then_booked(store, clock):
    held: Ledger = ledger(store, clock, caps={"e": [cap(100)]})
    reservation = await held.reserve(ME, 60)
    assert reservation is not None
    assert reservation.micro_dollars == 60
    assert await windows(store) == {("evaluator", "e", "day"): (0, 60)}
    assert await held.reserve(ME, 41) is None
    await held.settle(reservation, Usage(micro_dollars=20))
    await held.settle(reservation, Usage(micro_dollars=20))
    await held.release(reservation)
    assert await windows(store) == {("evaluator", "e", "day"): (20, 0)}
    rest = await held.reserve(ME, 80)
    assert rest is not None
    await held.release(rest)
    await held.release(rest)
    await held.settle(rest, Usage(micro_dollars=80))
    assert await windows(store) == {("evaluator", "e", "day"): (20, 0)}


async def test_one_micro_dollar_too_many_is_refused(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    assert await spending.reserve(ME, 101) is None
    assert await spending.reserve(ME, 100) is not None
    assert await spending.reserve(ME, 1) is None
    assert await spending.reserve(ME, 0) is not None


async def test_all_caps_hold_or_nothing_is_held(store, clock):
    caps = [cap(1_000, "month"), cap(500, "week"), cap(100, "day"), cap(60, "hour"), cap(50, "run"), cap(40, "trace")]
    spending = ledger(store, clock, caps={"e": caps}, everyone=[cap(30)])
    assert await spending.reserve(ME, 31) is None  # the last of them refuses
    assert await windows(store) == {}
    assert await spending.reserve(ME, 30) is not None
    assert await windows(store) == {
        ("evaluator", "e", "month"): (0, 30),
        ("evaluator", "e", "week"): (0, 30),
        ("evaluator", "e", "day"): (0, 30),
        ("evaluator", "e", "hour"): (0, 30),
        ("evaluator", "e", "run"): (0, 30),
        ("evaluator", "e", "trace"): (0, 30),
        ("global", "", "day"): (0, 30),
    }


async def test_each_window_refuses_on_its_own(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(10, "trace"), cap(25, "run"), cap(1_000, "day")]})
    assert await spending.reserve(ME, 10) is not None
    assert await spending.reserve(ME, 1) is None
    second = Account(evaluator="e", run_id="run-1", trace_id="t2")
    assert await spending.reserve(second, 10) is not None
    assert await spending.reserve(Account(evaluator="e", run_id="run-1", trace_id="t3"), 6) is None
    assert await spending.reserve(Account(evaluator="e", run_id="run-2", trace_id="t3"), 6) is not None
    # a call that belongs to no trace and no run is bound by the day alone
    assert await spending.reserve(Account(evaluator="e"), 900) is not None


async def test_evaluators_share_the_global_cap_alone(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(60)], "f": [cap(60)]}, everyone=[cap(100)])
    assert await spending.reserve(ME, 60) is not None
    other = Account(evaluator="f")
    assert await spending.reserve(other, 41) is None
    assert await spending.reserve(other, 40) is not None
    uncapped = Account(evaluator="g")
    assert await spending.reserve(uncapped, 1) is None


async def test_of_two_caps_on_one_window_the_lower_binds(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(50), cap(30), cap(40)]})
    assert await spending.reserve(ME, 31) is None
    assert await spending.reserve(ME, 30) is not None


async def test_a_lowered_cap_binds_at_once(store, clock):
    reservation = await ledger(store, clock, caps={"e": [cap(100)]}).reserve(ME, 60)
    assert reservation is not None
    lowered = ledger(store, clock, caps={"e": [cap(50)]})
    await lowered.settle(reservation, Usage(micro_dollars=60))
    assert await lowered.reserve(ME, 1) is None
    assert await ledger(store, clock, caps={"e": [cap(61)]}).reserve(ME, 1) is not None


async def test_a_window_rolls_by_the_time_of_spending(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    late = await spending.reserve(ME, 100)
    assert late is not None
    clock.forward(hours=12)  # midnight
    assert await spending.reserve(ME, 100) is not None
    await spending.settle(late, Usage(micro_dollars=70))
    days = [
        (str(state.window.starts_at.date()), state.spent, state.reserved)
        for state in await store.read(spend.list_windows)
    ]
    assert days == [("2026-12-01", 0, 100), ("2026-11-30", 70, 0)]
    clock.forward(hours=-1)  # the clock steps back: yesterday's cap still holds
    assert await spending.reserve(ME, 31) is None
    assert await spending.reserve(ME, 30) is not None


async def test_a_backfill_spends_its_own_budget_and_the_global_cap(store, clock):
    history = Account(evaluator="e", run_id="b1", trace_id="t1", live=False)
    spending = ledger(store, clock, caps={"e": [cap(10)]}, everyone=[cap(100, "month")], budget=80)
    assert await spending.reserve(ME, 10) is not None  # the live window is full
    assert await spending.reserve(history, 80) is not None
    assert await spending.reserve(history, 1) is None
    assert await spending.reserve(Account(evaluator="e", run_id="b2", live=False), 11) is None
    assert await windows(store) == {
        ("evaluator", "e", "day"): (0, 10),
        ("backfill", "e", "run"): (0, 80),
        ("backfill", "e", "day"): (0, 80),
        ("global", "", "month"): (0, 90),
    }
    clock.forward(days=1)
    assert await spending.reserve(ME, 10) is not None


async def test_a_backfill_without_a_budget_is_bound_by_the_evaluators_run_and_trace(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(5), cap(30, "run"), cap(20, "trace")]})
    history = Account(evaluator="e", run_id="b1", trace_id="t1", live=False)
    assert await spending.reserve(history, 21) is None
    assert await spending.reserve(history, 20) is not None
    assert await spending.reserve(Account(evaluator="e", run_id="b1", trace_id="t2", live=False), 11) is None
    live = Account(evaluator="e", run_id="r", trace_id="t1")
    assert await spending.reserve(live, 5) is not None  # the trace's live window is another


async def test_an_uncapped_evaluator_is_counted_by_day(store, clock):
    spending = ledger(store, clock)
    reservation = await spending.reserve(ME, 10**12)
    assert reservation is not None
    await spending.settle(reservation, Usage(micro_dollars=7))
    (state,) = await store.read(spend.list_windows)
    assert (state.window.cap, state.spent, state.reserved) == (None, 7, 0)


async def test_a_reservation_that_nobody_settles_is_booked_at_its_worst_case(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100), cap(100, "run")]}, ttl=timedelta(minutes=20))
    assert await spending.reserve(ME, 60) is not None
    clock.forward(minutes=19)
    kept = await spending.reserve(ME, 10)
    assert kept is not None
    assert await spending.expire() == 0
    clock.forward(minutes=1)
    assert await spending.expire() == 1
    assert await spending.expire() == 0
    assert await windows(store) == {("evaluator", "e", "day"): (60, 10), ("evaluator", "e", "run"): (60, 10)}
    assert await spending.reserve(ME, 31) is None


@pytest.mark.parametrize(("cost", "spent"), [(15, 15), (0, 0)])
async def test_what_is_settled_after_it_expired_is_corrected(store, clock, cost, spent):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    reservation = await spending.reserve(ME, 60)
    assert reservation is not None
    clock.forward(hours=1)
    await spending.expire()
    for _ in range(2):
        if cost:
            await spending.settle(reservation, Usage(micro_dollars=cost))
        else:
            await spending.release(reservation)
    assert await windows(store) == ({("evaluator", "e", "day"): (spent, 0)} if spent else {})


async def test_a_cost_above_what_was_held_is_booked_as_it_is(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    reservation = await spending.reserve(ME, 10)
    assert reservation is not None
    await spending.settle(reservation, Usage(micro_dollars=200))
    assert await windows(store) == {("evaluator", "e", "day"): (200, 0)}
    assert await spending.reserve(ME, 1) is None


async def test_replies_are_kept_with_the_money_and_only_where_text_may_be(store, clock):
    spending = ledger(store, clock)
    reservation = await spending.reserve(ME, 10)
    assert reservation is not None
    await spending.settle(reservation, Usage(micro_dollars=10), {"k": "reply"})
    silent = ledger(store, clock, keep_cache=False)
    reservation = await silent.reserve(ME, 10)
    assert reservation is not None
    await silent.settle(reservation, Usage(micro_dollars=10), {"q": "reply"})
    assert await store.read(cache.find, ["k", "q"]) == {"k": "reply"}


async def test_a_full_window_says_which_it_is_and_when_it_rolls(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(50, "hour"), cap(100, "day")]}, everyone=[cap(200, "month")])
    assert await spending.full(ME, 50) is None
    assert [await spending.full(ME, 50 + more) is None for more in (0, 1)] == [True, False]
    reservation = await spending.reserve(ME, 50)
    assert reservation is not None
    full = await spending.full(ME, 1)
    assert full is not None
    assert (full.window.per, full.window.cap, full.spent, full.reserved, full.held) == ("hour", 50, 0, 50, True)
    await spending.settle(reservation, Usage(micro_dollars=50))
    full = await spending.full(ME, 1)
    assert full is not None
    assert (full.held, full.until) == (False, NOW + timedelta(hours=1))
    full = await spending.full(ME, 60)  # neither the hour nor the day has room: the day rolls later
    assert full is not None
    assert (full.window.per, full.until) == ("day", datetime(2026, 12, 1, tzinfo=UTC))


async def test_a_trace_that_is_full_never_rolls(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(5, "trace"), cap(5)]})
    full = await spending.full(ME, 6)
    assert full is not None
    assert (full.window.per, full.until) == ("trace", None)


async def test_a_call_waits_for_money_that_is_only_held(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]}, patience=30.0)
    first = await spending.reserve(ME, 100)
    assert first is not None
    waiting = asyncio.create_task(spending.reserve(ME, 60))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await spending.settle(first, Usage(micro_dollars=40))
    assert await waiting is not None
    assert await spending.reserve(ME, 61) is None  # what is spent is in the way: it does not wait


async def test_a_call_sees_what_another_process_gives_back(store, clock, monkeypatch):
    monkeypatch.setattr("groundwire.jobs.ledger.POLL", 0.02)
    ours, theirs = (ledger(store, clock, caps={"e": [cap(100)]}, patience=30.0) for _ in range(2))
    first = await theirs.reserve(ME, 100)
    assert first is not None
    waiting = asyncio.create_task(ours.reserve(ME, 60))
    await asyncio.sleep(0.05)
    await theirs.release(first)
    assert await waiting is not None


async def test_patience_ends(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]}, patience=0.05)
    assert await spending.reserve(ME, 100) is not None
    assert await spending.reserve(ME, 1) is None


async def test_a_cancelled_call_holds_no_money(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    tasks = [asyncio.create_task(spending.reserve(ME, 10)) for _ in range(5)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert await windows(store) == {}


async def test_a_settlement_outlives_its_caller(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100)]})
    reservation = await spending.reserve(ME, 60)
    assert reservation is not None
    task = asyncio.create_task(spending.settle(reservation, Usage(micro_dollars=20)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(100):
        if await windows(store) == {("evaluator", "e", "day"): (20, 0)}:
            break
        await asyncio.sleep(0.01)
    assert await windows(store) == {("evaluator", "e", "day"): (20, 0)}


async def test_windows_are_listed_by_evaluator_kind_and_time(store, clock):
    spending = ledger(store, clock, caps={"e": [cap(100), cap(900, "month")]}, everyone=[cap(500)])
    await spending.reserve(ME, 10)
    clock.forward(days=1)
    await spending.reserve(ME, 20)
    await spending.reserve(Account(evaluator="f"), 5)

    async def listed(**which):
        return [
            (state.window.scope, state.window.per, state.reserved)
            for state in await store.read(spend.list_windows, **which)
        ]

    assert await listed(evaluator="e", per="day") == [("evaluator", "day", 20), ("evaluator", "day", 10)]
    assert await listed(evaluator="e", per="month") == [("evaluator", "month", 20), ("evaluator", "month", 10)]
    assert await listed(evaluator="") == [("global", "day", 25), ("global", "day", 10)]
    assert await listed(evaluator="e", since=datetime(2026, 12, 1, tzinfo=UTC)) == [
        ("evaluator", "day", 20),
        ("evaluator", "month", 20),
    ]
    assert await listed(evaluator="e", until=NOW, per="day") == [("evaluator", "day", 10)]
