"""What the line costs beside the judging: CPU per trace over the scorer alone, wall over the ideal, API calls.

5,000 traces go from a fake platform through the line and back, with a judge that answers at once (and so costs
nothing), on SQLite and on PostgreSQL; the scorer alone judges the same partitions in the same run. Then a judge that
takes 200 ms, 64 traces at once, against the time that the judge alone needs.
Run: `python -m tests.benchmarks.bench_line [TRACES]`.
"""

import asyncio
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.benchmarks.bench_store import postgres
from tests.postgres import own_schema
from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors import Trace, Window, cut
from groundwire.connectors.testing import FakePlatform, FakeSink, FakeSource, make_samples
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.delivery import Mail
from groundwire.jobs.flow import Line
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import cursors, open_store
from groundwire.scorer import HallucinationConfig, HallucinationMetric, Partition

TRACES = 5_000
AT_ONCE = 64
SECONDS = 0.2
"""What each question takes the slow judge."""
SLOW = 640
"""Traces that it judges."""
ALLOWED = {"cpu_ratio": 2.0, "wall_ratio": 1.1}
START = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class SlowJudge(ScriptedJudge):
    """A fake that takes its time."""

    async def split(self, *args: Any) -> Any:
        await asyncio.sleep(SECONDS)
        return await super().split(*args)

    async def label(self, *args: Any) -> Any:
        await asyncio.sleep(SECONDS)
        return await super().label(*args)


def metric(judge: ScriptedJudge) -> HallucinationMetric:
    """The metric at trace level, with room for all that are judged at once."""
    config = HallucinationConfig(concurrency_limit=AT_ONCE)
    return HallucinationMetric(judge=judge, config=config, max_concurrency=AT_ONCE, clock=lambda: START)


async def scored(judging: HallucinationMetric, partitions: Sequence[Partition]) -> dict[str, float]:
    """The scorer alone."""
    numbers = iter(partitions)

    async def worker() -> None:
        for partition in numbers:
            await judging.score(partition)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


async def lined(judging: HallucinationMetric, traces: Sequence[Trace], url: str) -> dict[str, float]:
    """The same through the line: pulled, judged, stored and delivered."""
    clock = lambda: START  # noqa: E731
    platform = FakePlatform(clock=clock)
    platform.put_all(traces)
    store = await open_store(url)
    spec = EvaluatorSpec(name="grounded", source="prod", settle=0)
    line = Line(
        name="prod",
        project="prod",
        source=FakeSource(platform),
        evaluators=[Evaluator(spec=spec, metric=judging)],
        store=store,
        clock=clock,
        owner="bench",
        run_id="run",
        concurrency=AT_ONCE,
    )
    await store.write(cursors.acquire, "prod", owner="bench", now=START, until=START + timedelta(hours=1))
    wall, cpu = time.perf_counter(), time.process_time()
    progress = await line.turn(Window(start=START - timedelta(days=9)))
    judged = time.perf_counter() - wall
    delivered = await Mail(source="prod", sink=FakeSink(platform), store=store, clock=clock).deliver()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert sum(progress.by_status.values()) == len(traces)
    assert delivered.delivered == len(platform.scores())
    calls = platform.calls()
    await store.close()
    platform.close()
    return {"wall": wall, "judged": judged, "cpu": cpu, "calls": sum(calls.values())}


def measure(url: Callable[[], str], *, traces: int, slow: int) -> dict[str, float]:
    """The line over the scorer alone, on the states that `url` gives, one after the other."""
    made = [sample.trace for sample in make_samples(traces, first_end=START - timedelta(days=1), invalid=0)]
    partitions = [partition for trace in made for partition in cut(trace, "trace")]
    alone = asyncio.run(scored(metric(ScriptedJudge()), partitions))
    through = asyncio.run(lined(metric(ScriptedJudge()), made, url()))
    again = asyncio.run(scored(metric(ScriptedJudge()), partitions))
    cpu = (alone["cpu"] + again["cpu"]) / 2
    waited = asyncio.run(lined(metric(SlowJudge()), made[:slow], url()))
    return {
        "traces_per_second": traces / through["wall"],
        "cpu_ms": through["cpu"] / traces * 1_000,
        "scorer_cpu_ms": cpu / traces * 1_000,
        "cpu_ratio": through["cpu"] / cpu,
        "calls_per_1000": through["calls"] / traces * 1_000,
        "wall_ratio": waited["judged"] / (math.ceil(slow / AT_ONCE) * 2 * SECONDS),
    }


def run(*, traces: int = TRACES, slow: int = SLOW) -> dict[str, dict[str, float]]:
    """The figures by kind of state."""
    with TemporaryDirectory() as folder:
        files = count()
        sqlite = measure(lambda: f"sqlite:///{folder}/state-{next(files)}.db", traces=traces, slow=slow)
    with postgres() as server, ExitStack() as schemas:
        postgresql = measure(lambda: schemas.enter_context(own_schema(server)), traces=traces, slow=slow)
    return {"sqlite": sqlite, "postgresql": postgresql}


def main() -> None:
    """Print the table and the figures as JSON."""
    figures = run(traces=int(sys.argv[1]) if len(sys.argv) > 1 else TRACES)
    table = Table("what", *figures)
    for name, wanted in (
        ("traces_per_second", ""),
        ("cpu_ms", ""),
        ("scorer_cpu_ms", ""),
        ("cpu_ratio", f" (aim on sqlite: {ALLOWED['cpu_ratio']})"),
        ("calls_per_1000", ""),
        ("wall_ratio", f" (aim: {ALLOWED['wall_ratio']})"),
    ):
        table.add_row(name + wanted, *(f"{found[name]:.2f}" for found in figures.values()))
    Console().print(table)
    print(json.dumps({"benchmark": "line", **figures}))


if __name__ == "__main__":
    main()
