"""groundwire as it runs by itself, on the fake platform's file, with a clock that a test moves."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.flow.rig import START, Clock

from groundwire.connectors.testing import FakePlatform, Sample, make_samples
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.store import gaps, rows
from groundwire.jobs.store.gaps import Gap
from groundwire.jobs.store.rows import RowQuery, StoredRow

NAME = "grounded"


@dataclass(kw_only=True)
class Unattended:
    """The fake platform, and the configuration that reads it and writes to it."""

    folder: Path
    platform: FakePlatform
    clock: Clock
    settings: Settings
    runners: list[Runner] = field(default_factory=list)

    @asynccontextmanager
    async def service(self, **more: Any) -> AsyncIterator[Service]:
        self.platform.set_clock(self.clock())
        async with open_service(self.settings, clock=self.clock, **more) as service:
            yield service

    async def runner(self, service: Service) -> Runner:
        chosen = [await service.evaluator(spec) for spec in self.settings.evaluators]
        return Runner(service, chosen, run_id=f"run-{self.clock().isoformat()}")

    async def run_once(self) -> Runner:
        """One `groundwire run --once`, opened and closed as the command does."""
        async with self.service() as service:
            runner = await self.runner(service)
            await runner.once()
            return runner

    async def rows(self, **query: Any) -> list[StoredRow]:
        async with self.service() as service:
            found: list[StoredRow] = []
            async for page in rows.pages(service.store, RowQuery(**query)):
                found += page
            return found

    async def gaps(self, *, closed: bool = False) -> list[Gap]:
        async with self.service() as service:
            return await service.store.read(gaps.list_gaps, closed=closed)

    def shown(self, name: str = NAME) -> dict[str, Any]:
        """The scores on the platform, by trace; a doubled one fails."""
        found = [(score.trace_id, score.value) for score in self.platform.scores() if score.name == name]
        assert len(found) == len(dict(found)), "a trace bears two scores"
        return dict(found)


def unattended(
    folder: Path, evaluators: Sequence[dict[str, Any]] = ({},), *, clock: Clock | None = None, **settings: Any
) -> Unattended:
    """What a test of unattended running begins with; `evaluators` are named, and read the one source, by themselves."""
    clock = clock or Clock()
    platform = FakePlatform(folder / "platform.db", clock=clock)
    configured = {
        "sources": {
            "prod": {
                "platform": "groundwire.connectors.testing:fake",
                "path": str(folder / "platform.db"),
                **settings.pop("source", {}),
            }
        },
        "evaluators": [{"name": NAME, "source": "prod", "settle": 0, **spec} for spec in evaluators],
        "state": {"url": f"sqlite:///{folder / 'state.db'}"},
        **settings,
    }
    return Unattended(folder=folder, platform=platform, clock=clock, settings=Settings.model_validate(configured))


def samples(count: int, *, seed: int = 1, ago: timedelta = timedelta(minutes=30), **more: Any) -> list[Sample]:
    """Traces whose roots ended one second apart, the first so long before the tests' beginning."""
    return list(make_samples(count, seed=seed, first_end=START - ago, **more))


def expected(all_samples: Sequence[Sample]) -> dict[str, Any]:
    """What must stand on the platform."""
    return {sample.trace.trace_id: sample.score for sample in all_samples if sample.score is not None}
