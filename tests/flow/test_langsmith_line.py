"""The whole line on the loopback LangSmith: by poll, by webhook and as a decision model, every score right and once."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.connectors.langfuse_app import served
from tests.connectors.langsmith_app import LangsmithApp
from tests.connectors.langsmith_rules import DecisionRule, Rule
from tests.flow.langsmith_rig import (
    GENERATIONS,
    NAME,
    SECRET,
    TOKEN,
    as_configured,
    configured,
    expected,
    put,
    samples,
    shown,
)

from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.cli.run import _run as run_specs
from groundwire.jobs.cli.serve import beside_polling
from groundwire.jobs.intake import Intake
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.store import deliveries
from groundwire.jobs.web import server
from groundwire.scorer import RetryLater


@pytest.fixture(params=GENERATIONS)
def app(request: pytest.FixtureRequest) -> Iterator[tuple[LangsmithApp, str]]:
    app = LangsmithApp(**GENERATIONS[request.param])
    with served(app) as url:
        yield app, url


async def run_once(settings: Settings, *, deliver: bool = True, ahead: timedelta = timedelta(0)) -> Runner:
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead) as service:
        runner = Runner(service, [await service.evaluator(settings.evaluator(NAME))], run_id="run-1")
        await (runner.once() if deliver else runner.poll("prod"))
        assert runner.failed == {}
        assert runner.stopped == {}
        return runner


async def test_polled_traces_are_scored_once_across_runs_and_a_process_that_died_before_it_delivered(
    app: tuple[LangsmithApp, str], tmp_path: Path
) -> None:
    platform, url = app
    settings = configured(tmp_path, url)
    await run_once(settings, ahead=timedelta(minutes=-5))
    fresh = samples(8, ended=datetime.now(UTC) - timedelta(seconds=5))
    for sample in fresh:
        put(platform, sample)
    await run_once(settings, deliver=False)
    assert shown(platform) == {}
    await run_once(settings)
    assert shown(platform) == expected(fresh)
    again = await run_once(settings)
    assert again.total.by_status == {}
    assert again.delivered.delivered == 0
    assert all(one["extend_trace_retention"] is False for one in platform.feedback)


async def test_history_is_backfilled_once(app: tuple[LangsmithApp, str], tmp_path: Path) -> None:
    platform, url = app
    settings = configured(tmp_path, url)
    now = datetime.now(UTC)
    old = samples(8, ended=now - timedelta(days=2))
    for sample in old:
        put(platform, sample)

    async def backfill() -> dict[str, int]:
        async with open_service(settings) as service:
            spec = settings.evaluator(NAME)
            asked = Backfill(evaluator=spec, spans=(Span(start=now - timedelta(days=3), end=now),))
            evaluator = await service.evaluator(spec, live=False)
            total, _, finished = await run_backfill(service, asked, evaluator, told=lambda *_: None)
            assert finished
            return total.by_status

    assert await backfill() == {"scored": 6, "invalid": 2}
    assert shown(platform) == expected(old)
    assert await backfill() == {}
    assert shown(platform) == expected(old)


@dataclass(kw_only=True)
class Running:
    """A web service under test, on a socket of its own."""

    service: Service
    runner: Runner
    intake: Intake
    url: str

    async def until(self, held: Callable[[], bool], seconds: float = 10.0) -> None:
        """Deliver what is judged until something holds."""
        async with asyncio.timeout(seconds):
            while not held():
                await self.runner.deliver("prod")
                await asyncio.sleep(0.05)


@asynccontextmanager
async def running(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, *, taking: bool = True
) -> AsyncIterator[Running]:
    ports: list[int] = []
    taken = server.listen

    def listen(spec: Any) -> Any:
        listening = taken(spec)
        ports.append(listening.getsockname()[1])
        return listening

    monkeypatch.setattr("groundwire.jobs.cli.serve.listen", listen)
    async with open_service(settings) as service:
        evaluators = [await service.evaluator(spec) for spec in settings.evaluators]
        hooked = [one for one in evaluators if one.spec.attach == "webhook"]
        intake = Intake(service, hooked, run_id="run-1")
        runner = Runner(service, hooked, run_id="run-1")
        web, take = await beside_polling(service, evaluators, intake)
        stop = asyncio.Event()
        tasks = [asyncio.ensure_future(one(stop)) for one in (web, take)]
        url = f"http://127.0.0.1:{ports[0]}"
        try:
            yield Running(service=service, runner=runner, intake=intake, url=url)
        finally:
            stop.set()
            await asyncio.gather(*tasks)


def hook_url(url: str) -> str:
    return f"{url}/hooks/langsmith/{NAME}"


async def test_delivered_traces_are_scored_once_whatever_comes_twice_and_a_lost_delivery_is_found(
    app: tuple[LangsmithApp, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, url = app
    settings = configured(tmp_path, url, attach="webhook")
    await run_once(settings, ahead=timedelta(minutes=-5))  # it begins here
    fresh = samples(8, ended=datetime.now(UTC) - timedelta(seconds=5))
    ids = [put(platform, sample) for sample in fresh]
    tool = next(row["id"] for row in platform.runs if row["trace_id"] == ids[0] and row["run_type"] == "tool")
    async with running(settings, monkeypatch) as live:
        first = Rule(app=platform, url=hook_url(live.url), secret=SECRET)
        second = Rule(app=platform, url=hook_url(live.url), secret=SECRET, whole=True, zone=True)
        body = first.body([tool, *ids[:4], ids[1]])
        assert await first.send(body) == 202
        assert await first.send(body) == 202  # the same again
        assert await second.deliver(ids[2:6]) == 202  # two rules send the same runs
        await live.until(lambda: shown(platform) == expected(fresh[:6]))
        # the last two were never delivered: the slow poll finds them
        await live.runner.poll("prod")
        await live.until(lambda: shown(platform) == expected(fresh))
        assert await first.send(body) == 202  # replayed later
        assert await second.deliver(ids[:6]) == 202
        await asyncio.sleep(0.5)
        await live.runner.deliver("prod")
        assert shown(platform) == expected(fresh)
        assert len([one for one in platform.sent if one[1] == "/feedback"]) == len(expected(fresh))
        assert await live.service.store.read(deliveries.waiting) == {}


async def test_a_trace_that_is_delivered_before_it_is_there_is_taken_up_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.jobs.hooked.AGAIN", 0.2)
    monkeypatch.setattr("groundwire.connectors.langsmith.read.not_found", _soon)
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured(tmp_path, url, attach="webhook")
        await run_once(settings, ahead=timedelta(minutes=-5))
        [sample] = samples(1, ended=datetime.now(UTC) - timedelta(seconds=1))
        other = LangsmithApp()
        trace_id = put(other, sample)
        async with running(settings, monkeypatch) as live:
            rule = Rule(app=other, url=hook_url(live.url), secret=SECRET)
            assert await rule.deliver([trace_id]) == 202
            await asyncio.sleep(0.5)
            assert await live.service.store.read(deliveries.waiting) == {NAME: 1}
            put(platform, sample)
            await live.until(lambda: shown(platform) == expected([sample]))


def _soon(*_: Any, **__: Any) -> RetryLater:
    return RetryLater("it can't be found yet", after=0.2)


async def test_decisions_are_right_and_kept_by_the_platform_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured(tmp_path, url, attach="decision")
        fresh = [one for one in samples(8, ended=datetime.now(UTC)) if one.kind != "invalid"]
        ids = {put(platform, sample): sample for sample in fresh}
        async with running(settings, monkeypatch) as live:
            told = {}
            for number, trace_id in enumerate(ids):
                rule = DecisionRule(
                    app=platform,
                    base_url=live.url,
                    token=TOKEN,
                    name="hallucinated",
                    model=NAME,
                    prompt=number % 2 == 1,
                )
                told[trace_id] = await rule.decide(trace_id)
        for trace_id, sample in ids.items():
            assert told[trace_id]["status"] == 200, told[trace_id]
            assert (told[trace_id]["score"] >= 0.5) == (sample.kind == "hallucinated")
        assert set(shown(platform, "hallucinated")) == set(ids)
        assert await run_specs(settings, settings.evaluators, once=True) == 0
        assert platform.sent == [], "nothing but the platform itself writes the scores of decisions"


def test_killed_after_it_answered_it_loses_no_delivery(tmp_path: Path) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        asyncio.run(run_once(configured(tmp_path, url, attach="webhook"), ahead=timedelta(minutes=-5)))
        port = _free_port()
        _write_toml(tmp_path, as_configured(tmp_path, url, attach="webhook", service={"port": port}))
        fresh = samples(8, ended=datetime.now(UTC) - timedelta(seconds=2))
        ids = [put(platform, sample) for sample in fresh]
        rule = Rule(app=platform, url=hook_url(f"http://127.0.0.1:{port}"), secret=SECRET)

        async def killed_in_between() -> None:
            for command, some in (("serve", ids[:4]), ("run", ids[4:])):
                with _started(command, tmp_path) as process:
                    await _answers(port)
                    for trace_id in some:
                        assert await rule.deliver([trace_id]) == 202
                    os.kill(process.pid, signal.SIGKILL)
            with _started("serve", tmp_path) as process:
                async with asyncio.timeout(30):
                    while shown(platform) != expected(fresh):  # noqa: ASYNC110 - another process does it
                        await asyncio.sleep(0.1)
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=20) == 0

        asyncio.run(killed_in_between())
        assert shown(platform) == expected(fresh)


@contextmanager
def _started(command: str, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    arguments = [sys.executable, "-m", "tests.flow.impatient", command, "--config", str(folder / "groundwire.toml")]
    with (folder / "log").open("ab") as log, subprocess.Popen(arguments, stderr=log) as process:
        try:
            yield process
        finally:
            process.kill()


async def _answers(port: int) -> None:
    async with httpx.AsyncClient() as client, asyncio.timeout(15):
        while True:
            try:
                await client.get(f"http://127.0.0.1:{port}/healthz")
                return
            except httpx.ConnectError:
                await asyncio.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def _write_toml(folder: Path, config: dict[str, Any]) -> None:
    tables = [("[sources.prod]", config["sources"]["prod"]), ("[[evaluators]]", config["evaluators"][0])]
    tables += [(f"[{name}]", config[name]) for name in ("service", "state")]
    text = "\n\n".join(
        "\n".join([head, *(f"{key} = {json.dumps(value)}" for key, value in table.items())]) for head, table in tables
    )
    (folder / "groundwire.toml").write_text(text)
