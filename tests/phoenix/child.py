"""One run of the line on a real Phoenix, in this process or in one of its own that is killed on the way."""

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from groundwire.jobs.flow import Step
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings

NAME = "support-groundedness"
WRITTEN = "written"
"""The moment after the server has stored annotations, and before its answer is heard."""


def configured(folder: Path, url: str, project: str, **evaluator: Any) -> dict[str, Any]:
    """One source, one evaluator judged by the offline rules, and a state of its own."""
    return {
        "sources": {"prod": {"platform": "phoenix", "host": url, "project": project, "settle": 0}},
        "evaluators": [{"name": NAME, "source": "prod", "settle": 0, **evaluator}],
        "state": {"url": f"sqlite:///{folder / 'state.db'}"},
    }


async def run_once(configuration: Mapping[str, Any], *, ahead: timedelta = timedelta(0), kill: str = "") -> Runner:
    """What `groundwire run --once` does, with a clock that may be elsewhere; `kill` is `step:nth`."""
    settings = Settings.model_validate(configuration)
    step, _, nth = kill.partition(":")
    seen: Counter[str] = Counter()

    def at(reached: Step) -> None:
        count(reached)

    def count(reached: str) -> None:
        seen[reached] += 1
        if reached == step and seen[reached] == int(nth):
            os.kill(os.getpid(), signal.SIGKILL)

    if step == WRITTEN:
        _after_each_write(lambda: count(WRITTEN))
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead, at=at) as service:
        runner = Runner(service, [await service.evaluator(settings.evaluator(NAME))], run_id=f"run-{ahead}")
        await runner.once()
        assert runner.failed == {}
        assert runner.stopped == {}
        return runner


def _after_each_write(then: Any) -> None:
    whole = httpx.AsyncClient.post

    async def post(self: httpx.AsyncClient, url: Any, **options: Any) -> httpx.Response:
        answer = await whole(self, url, **options)
        then()
        return answer

    httpx.AsyncClient.post = post  # type: ignore[method-assign]  # in a process that ends with it


def _life(configuration: Mapping[str, Any], ahead: timedelta, kill: str) -> None:
    asyncio.run(run_once(configuration, ahead=ahead, kill=kill))


def killed(configuration: Mapping[str, Any], *, ahead: timedelta, kill: str) -> bool:
    """Run the line once in a process of its own; whether it was killed."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.phoenix.child"])
    process = processes.Process(target=_life, args=(configuration, ahead, kill))
    process.start()
    process.join(timeout=120)
    assert process.exitcode in (0, -signal.SIGKILL), "the child failed; its error stands above"
    return process.exitcode != 0
