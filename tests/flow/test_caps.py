"""Caps through the whole line, with a judge that costs money: never passed, used, and what they cut is told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.flow.rig import START
from tests.flow.unattended import NAME, Unattended, expected, samples, unattended
from tests.scorer.openai_server import JudgeServer

from groundwire.jobs.backfill import run_backfill
from groundwire.jobs.cli.run import BackfillOptions, backfill_of
from groundwire.jobs.spec import Per
from groundwire.jobs.store import spend
from groundwire.scorer import MICRO, ConfigError

PRICE = {"input": 20, "output": 20}
"""Dollars a million tokens: a call of these tests costs about two cents."""


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    server = JudgeServer().start()
    yield server
    server.stop()


def paid(server: JudgeServer, folder: Path, evaluators: Any = ({},), **settings: Any) -> Unattended:
    judge = {"kind": "llm", "model": "m", "base_url": server.url, "api_key": "k" * 20}
    default = {**judge, "price": PRICE, "max_output_tokens": 1_000}
    return unattended(folder, evaluators, judges={"default": default}, **settings)


def billed(server: JudgeServer) -> int:
    """What the provider will charge, in micro-dollars."""
    return sum(20 * (call.prompt_tokens + call.completion_tokens) for call in server.calls)


async def spent(world: Unattended, per: Per, evaluator: str = NAME) -> int:
    async with world.service() as service:
        windows = await service.store.read(spend.list_windows, evaluator=evaluator, per=per)
    assert all(window.reserved == 0 for window in windows)
    return sum(state.spent for state in windows if state.window.scope == "evaluator")


async def test_at_the_cap_a_day_is_over_its_rest_is_told_and_taken_up_by_a_backfill(
    server: JudgeServer, tmp_path: Path
) -> None:
    world = paid(server, tmp_path, [{"cap": {"usd": 0.3, "per": "day"}}])
    found = samples(40, invalid=0)
    world.platform.put_all(sample.trace for sample in found)
    runner = await world.run_once()
    assert billed(server) == await spent(world, "day") <= 0.3 * MICRO
    assert 0.3 * MICRO - billed(server) < 100_000, "there was room for another call"
    scored, skipped = runner.total.by_status["scored"], runner.total.by_status["skipped"]
    assert scored > 3
    assert scored + skipped == 40
    assert world.shown().items() <= expected(found).items()
    assert len(world.shown()) == scored
    [gap] = await world.gaps()
    assert (gap.why, gap.n, gap.evaluator) == ("cap", skipped, NAME)
    assert START - timedelta(minutes=31) < gap.starts_at <= gap.ends_at < START
    world.clock.forward(days=1)  # the window rolls, and what was skipped stays so until it is asked for
    assert (await world.run_once()).total.by_status == {}
    async with world.service(budget=5 * MICRO) as service:
        spec = world.settings.evaluator(NAME)
        backfill = await backfill_of(service, spec, BackfillOptions(evaluator=NAME, skipped=True))
        evaluator = await service.evaluator(spec, live=False)
        total, _, finished = await run_backfill(service, backfill, evaluator, told=lambda *_: None)
    assert finished
    assert total.by_status == {"scored": skipped}
    assert world.shown() == expected(found)
    assert await world.gaps() == []
    assert await spent(world, "day") <= 0.3 * MICRO, "a backfill spent the evaluator's own window"


async def test_what_one_backfill_left_waiting_another_takes_up(server: JudgeServer, tmp_path: Path) -> None:
    world = paid(server, tmp_path)
    found = samples(20, invalid=0)
    world.platform.put_all(sample.trace for sample in found)

    async def backfill(start: str, dollars: float) -> bool:
        async with world.service(budget=int(dollars * MICRO)) as service:
            spec = world.settings.evaluator(NAME)
            asked = await backfill_of(service, spec, BackfillOptions(evaluator=NAME, start=start))
            evaluator = await service.evaluator(spec, live=False)
            _, _, finished = await run_backfill(service, asked, evaluator, told=lambda *_: None)
            return finished

    assert not await backfill("1d", 0.3)
    assert 0 < len(world.shown()) < 20
    world.clock.forward(hours=2)
    assert await backfill("2d", 5)
    assert world.shown() == expected(found)
    assert billed(server) <= 5.3 * MICRO


async def test_waiting_at_the_cap_judges_the_rest_when_the_window_rolls(server: JudgeServer, tmp_path: Path) -> None:
    world = paid(server, tmp_path, [{"cap": {"usd": 0.3, "per": "hour"}, "on_cap": "wait"}])
    found = samples(20, invalid=0)
    world.platform.put_all(sample.trace for sample in found)
    first = await world.run_once()
    assert set(first.total.by_status) == {"scored"}
    assert 0 < first.total.by_status["scored"] < 20
    hours = 1
    while len(world.shown()) < 20:
        world.clock.forward(hours=1)
        hours += 1
        await world.run_once()
        assert billed(server) <= hours * 0.3 * MICRO
        assert hours < 12
    assert world.shown() == expected(found)
    assert {one.row.status for one in await world.rows()} == {"scored"}
    assert await world.gaps() == []


async def test_several_caps_hold_at_once_and_the_global_one_binds_all(server: JudgeServer, tmp_path: Path) -> None:
    world = paid(
        server,
        tmp_path,
        [
            {"cap": [{"usd": 0.25, "per": "hour"}, {"usd": 0.4, "per": "day"}]},
            {"name": "second", "cap": {"usd": 5, "per": "week"}},
        ],
        cap={"usd": 0.7, "per": "day"},
    )
    world.platform.put_all(sample.trace for sample in samples(60, invalid=0))
    await world.run_once()
    assert await spent(world, "hour") <= 0.25 * MICRO
    world.clock.forward(hours=1)
    world.platform.put_all(sample.trace for sample in samples(60, seed=2, invalid=0, ago=timedelta(minutes=-10)))
    await world.run_once()
    assert await spent(world, "day") <= 0.4 * MICRO
    everything = await spent(world, "day") + await spent(world, "week", "second")
    assert everything == billed(server) <= 0.7 * MICRO
    assert everything > 0.5 * MICRO


@pytest.mark.parametrize("per", ["trace", "run"])
async def test_a_cap_that_no_call_fits_in_skips_without_a_call(server: JudgeServer, tmp_path: Path, per: str) -> None:
    world = paid(server, tmp_path, [{"cap": {"usd": 0.001, "per": per}}])
    world.platform.put_all(sample.trace for sample in samples(5, invalid=0))
    runner = await world.run_once()
    assert runner.total.by_status == {"skipped": 5}
    assert {one.row.reason for one in await world.rows()} == {"over_budget"}
    assert server.calls == []
    assert world.shown() == {}


async def test_a_trace_that_runs_out_of_its_own_money_keeps_what_was_paid(server: JudgeServer, tmp_path: Path) -> None:
    world = paid(server, tmp_path, [{"cap": {"usd": 0.06, "per": "trace"}}])
    world.platform.put_all(sample.trace for sample in samples(4, invalid=0))
    await world.run_once()
    rows = [one.row for one in await world.rows()]
    assert {row.reason for row in rows} == {"over_budget"}
    assert sum(row.usage.micro_dollars for row in rows) == billed(server) > 0
    assert all(0 < row.usage.micro_dollars <= 0.06 * MICRO for row in rows)


async def test_an_unknown_price_refuses_to_start_under_any_cap(tmp_path: Path) -> None:
    judge = {"kind": "llm", "model": "nobody-knows-me", "base_url": "http://127.0.0.1:9/v1", "api_key": "k" * 20}
    cap: dict[str, Any] = {"usd": 1, "per": "day"}
    worlds = [unattended(tmp_path, [{"cap": cap}], judges={"default": judge})]
    worlds.append(unattended(tmp_path, judges={"default": judge}, cap=cap))
    for world in worlds:
        with pytest.raises(ConfigError, match="price"):
            await world.run_once()
