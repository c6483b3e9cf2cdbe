"""A whole line on one machine: the fake platform, a SQLite state, a judge, and a clock that a test moves."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors import Window
from groundwire.connectors.testing import FakePlatform, FakeSink, FakeSource, Sample
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.delivery import Delivered, Mail
from groundwire.jobs.flow import Line, Progress
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import Store, cursors, open_store, rows
from groundwire.jobs.store.rows import RowQuery, StoredRow
from groundwire.scorer import Judge, build_metric

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(kw_only=True)
class Clock:
    """The present moment of a test."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@dataclass(kw_only=True)
class Rig:
    """One source, its evaluators, and where their scores go."""

    platform: FakePlatform
    store: Store
    clock: Clock
    evaluators: list[Evaluator]

    def line(self, **settings: Any) -> Line:
        return Line(
            **{
                "name": "prod",
                "project": "prod",
                "source": FakeSource(self.platform),
                "evaluators": self.evaluators,
                "store": self.store,
                "clock": self.clock,
                "owner": "test",
                "run_id": "run-1",
                "concurrency": 4,
                **settings,
            }
        )

    async def turn(self, start: datetime = START - timedelta(days=2), **settings: Any) -> Progress:
        await self.store.write(
            cursors.acquire, "prod", owner="test", now=self.clock(), until=self.clock() + timedelta(hours=1)
        )
        return await self.line(**settings).turn(Window(start=start))

    async def deliver(self) -> Delivered:
        return await Mail(source="prod", sink=FakeSink(self.platform), store=self.store, clock=self.clock).deliver()

    async def rows(self, **query: Any) -> list[StoredRow]:
        found: list[StoredRow] = []
        async for page in rows.pages(self.store, RowQuery(**query)):
            found += page
        return found


def knowing(samples: Sequence[Sample]) -> ScriptedJudge:
    """A fake judge that knows which sentences of these samples are invented."""
    return ScriptedJudge(labels={sentence: "hallucinated" for sample in samples for sentence in sample.invented})


def evaluator(judge: Judge | None = None, *, clock: Clock, name: str = "grounded", **spec: Any) -> Evaluator:
    read = EvaluatorSpec.model_validate({"name": name, "source": "prod", **spec})
    metric = build_metric(
        read.metric, judge=judge or ScriptedJudge(), config=read.config, settings=read.settings, clock=clock
    )
    return Evaluator(spec=read, metric=metric)


@asynccontextmanager
async def rig(
    folder: Path,
    evaluators: Sequence[dict[str, Any]] = ({},),
    *,
    judge: Judge | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Rig]:
    clock = clock or Clock()
    store = await open_store(f"sqlite:///{folder / 'state.db'}")
    platform = FakePlatform(clock=clock)
    chosen = [evaluator(judge, clock=clock, **spec) for spec in evaluators]
    try:
        yield Rig(platform=platform, store=store, clock=clock, evaluators=chosen)
    finally:
        await store.close()
        platform.close()
