"""Trouble of every kind between the platform, the state and the judge: nothing lost, nothing twice, and it is told."""

import asyncio
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.flow.rig import START, Clock, knowing, rig
from tests.flow.unattended import Unattended, expected, samples, unattended
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.connectors.testing import Faults, Overwriting
from groundwire.jobs.outcome import FIRST_WAIT
from groundwire.scorer import RetryLater


async def every_minute(world: Unattended, minutes: int) -> None:
    for _ in range(minutes):
        await world.run_once()
        world.clock.forward(minutes=1)


async def test_an_hour_without_the_platform_delays_and_loses_nothing(tmp_path: Path) -> None:
    world = unattended(tmp_path, source={"page_size": 10})
    before = samples(15)
    world.platform.put_all(sample.trace for sample in before)
    await world.run_once()
    down = START + timedelta(minutes=1), START + timedelta(minutes=61)
    world.platform.faults = Faults(down_from=down[0], down_until=down[1])
    world.clock.now = down[0]
    meanwhile = samples(15, seed=2, ago=timedelta(minutes=-20))  # they end while nobody can read them
    for _ in range(12):
        runner = await world.run_once()
        assert "HTTP 503" in runner.failed["prod"]
        world.clock.forward(minutes=5)
    [gap] = await world.gaps()
    assert (gap.why, gap.ends_at) == ("outage", down[0] + timedelta(minutes=55))
    world.platform.put_all(sample.trace for sample in meanwhile)
    runner = await world.run_once()
    assert runner.failed == {}
    assert await world.gaps() == []
    assert world.shown() == expected([*before, *meanwhile])


async def test_scores_wait_for_a_platform_that_takes_none_for_hours(tmp_path: Path) -> None:
    world = unattended(tmp_path)
    found = samples(20)
    world.platform.put_all(sample.trace for sample in found)
    async with world.service() as service:
        await (await world.runner(service)).poll("prod")
    world.platform.faults = Faults(down_from=START, down_until=START + timedelta(hours=3))
    for _ in range(6):
        await world.run_once()
        world.clock.forward(minutes=30)
    assert world.shown() == {}
    await every_minute(world, 1)
    world.clock.forward(hours=1)  # the longest that a delivery is put off
    await world.run_once()
    assert world.shown() == expected(found)


async def test_thousands_of_traces_behind_a_cursor_three_hours_old(tmp_path: Path) -> None:
    found = samples(2_000, ago=timedelta(hours=3))
    clock = Clock(now=START - timedelta(hours=3) + timedelta(minutes=1))
    async with rig(tmp_path, judge=knowing(found), clock=clock) as r:
        r.platform.put(found[0].trace)
        assert sum((await r.turn()).by_status.values()) == 1
        r.platform.put_all(sample.trace for sample in found)
        clock.now = START
        assert sum((await r.turn()).by_status.values()) == 1_999
        await r.deliver()
        assert {score.trace_id: score.value for score in r.platform.scores()} == expected(found)
        assert all(score.writes == 1 for score in r.platform.scores())


async def test_every_tenth_call_is_refused_for_its_rate(tmp_path: Path) -> None:
    world = unattended(tmp_path, source={"page_size": 5})
    found = samples(60)
    world.platform.put_all(sample.trace for sample in found)
    world.platform.faults = Faults(limit_every=10, retry_after=30)
    for _ in range(8):
        await world.run_once()
        world.clock.forward(minutes=1)
    assert world.shown() == expected(found)
    assert all(score.writes == 1 for score in world.platform.scores())


async def test_the_refused_half_of_a_batch_becomes_dead_letters_with_the_servers_words(tmp_path: Path) -> None:
    world = unattended(tmp_path)
    found = samples(40, invalid=0)
    world.platform.put_all(sample.trace for sample in found)
    world.platform.faults = Faults(refuse_every=2)
    runner = await world.run_once()
    shown = world.shown()
    assert runner.delivered.refused > 5
    assert len(shown) + runner.delivered.refused == 40
    assert shown.items() <= expected(found).items()
    await every_minute(world, 3)  # what is refused for good is not sent again by itself
    assert world.shown() == shown
    assert len(await world.rows()) == 40


async def test_a_score_put_off_near_midnight_is_one_score_the_next_day(tmp_path: Path) -> None:
    clock = Clock(now=datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC))
    world = unattended(tmp_path, clock=clock)
    world.platform.overwriting = Overwriting(key="id_name_date", merge=True)
    found = samples(12, invalid=0, ago=timedelta(hours=-11, minutes=-59))
    world.platform.put_all(sample.trace for sample in found)
    world.platform.faults = Faults(busy_every=3)
    await world.run_once()
    assert 0 < len(world.shown()) < 12
    clock.forward(seconds=20)
    first = found[0].trace
    late = first.spans[-1].model_copy(update={"span_id": "late", "name": "late", "output": {"note": "late"}})
    world.platform.add_span(late)  # one that was, or will be, scored again after midnight
    await world.run_once()
    clock.forward(seconds=FIRST_WAIT)
    world.platform.faults = Faults()
    await every_minute(world, 2)
    assert world.shown() == expected(found)


async def test_a_poison_trace_on_every_page_stops_no_other(tmp_path: Path) -> None:
    world = unattended(tmp_path, source={"page_size": 5})
    found = samples(40)
    world.platform.put_all(sample.trace for sample in found)
    for at in range(0, 40, 4):
        world.platform.put_unreadable(f"poison-{at}", ended=found[at].trace.spans[0].end_time or START)
    runner = await world.run_once()
    assert world.shown() == expected(found)
    assert runner.total.problems == 10
    assert runner.failed == {}


async def test_a_clock_that_steps_back_loses_and_doubles_nothing(tmp_path: Path) -> None:
    world = unattended(tmp_path, [{"cap": {"usd": 1, "per": "hour"}}])
    first, second = samples(10), samples(10, seed=2, ago=timedelta(minutes=10))
    world.platform.put_all(sample.trace for sample in first)
    await world.run_once()
    world.clock.forward(minutes=-25)
    world.platform.put_all(sample.trace for sample in second)  # ended, by this clock, in the future
    await world.run_once()
    world.clock.now = START + timedelta(minutes=1)
    await world.run_once()
    assert world.shown() == expected([*first, *second])
    assert all(score.writes == 1 for score in world.platform.scores())


async def test_a_locked_state_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig(tmp_path) as r:
        found = samples(10)
        r.platform.put_all(sample.trace for sample in found)
        other = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        turning = asyncio.create_task(r.turn())
        await asyncio.sleep(0.3)
        assert not turning.done()
        other.execute("ROLLBACK")
        other.close()
        assert sum((await turning).by_status.values()) == 10


async def test_a_state_that_is_full_for_a_while_is_an_outage_and_no_loss(tmp_path: Path) -> None:
    world = unattended(tmp_path)
    found = samples(60)
    world.platform.put_all(sample.trace for sample in found[:30])
    async with world.service() as service:
        runner = await world.runner(service)
        await runner.once()
        world.platform.put_all(sample.trace for sample in found)
        [(pages,)] = await service.store.write(lambda tx: tx.exec_driver_sql("PRAGMA page_count").all())
        await service.store.write(lambda tx: tx.exec_driver_sql(f"PRAGMA max_page_count = {pages}").all())
        for _ in range(3):
            with suppress(RetryLater):  # which the schedule logs
                await runner.once()
            assert "full" in runner.failed["prod"]
            world.clock.forward(minutes=2)
        assert world.shown() != expected(found)
        await service.store.write(lambda tx: tx.exec_driver_sql("PRAGMA max_page_count = 1000000").all())
        for _ in range(3):
            await runner.once()
            world.clock.forward(minutes=2)
    assert world.shown() == expected(found)
    assert all(score.writes == 1 for score in world.platform.scores())


async def test_a_judge_that_never_answers_frees_its_workers_and_ends_as_an_error(tmp_path: Path) -> None:
    server = JudgeServer().start()
    server.plan = lambda _index, _call: Fault(hang=True)
    judge = {"kind": "llm", "model": "m", "base_url": server.url, "api_key": "k" * 20}
    try:
        world = unattended(
            tmp_path,
            [{"max_attempts": 2, "config": {"timeout_seconds": 0.3}, "cap": {"usd": 5, "per": "day"}}],
            judges={"default": {**judge, "price": {"input": 1, "output": 1}}},
        )
        found = samples(3, invalid=0)
        world.platform.put_all(sample.trace for sample in found)
        for _ in range(3):
            await asyncio.wait_for(world.run_once(), timeout=30)
            world.clock.forward(hours=1)
    finally:
        server.stop()
    stored = await world.rows()
    assert {(one.row.status, one.row.score) for one in stored} == {("error", None)}
    assert len(stored) == 3
    assert world.shown() == {}
