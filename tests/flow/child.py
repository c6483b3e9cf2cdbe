"""A process of its own that takes the line one turn further and may be killed at a step; run by `test_killed.py`."""

import asyncio
import os
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.flow.paid import PaidJudge

from groundwire.connectors import Window
from groundwire.connectors.testing import FakePlatform, FakeSink, FakeSource, make_samples
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.cache import StoredCache
from groundwire.jobs.delivery import Mail
from groundwire.jobs.flow import Line, Step, Watched
from groundwire.jobs.ledger import StoredLedger
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import cursors, open_store
from groundwire.scorer import build_metric

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRACES = 12


async def main(folder: Path, url: str, attempt: int, step: str, nth: int) -> None:
    now = START + attempt * timedelta(hours=1)  # what a killed process held has lapsed by the next attempt
    seen: Counter[str] = Counter()

    def at(reached: Step) -> None:
        seen[reached] += 1
        seen["any"] += 1
        if seen[step] == nth and step in (reached, "any"):
            os.kill(os.getpid(), signal.SIGKILL)

    samples = list(make_samples(TRACES, seed=3, first_end=START - timedelta(hours=1)))
    store = await open_store(url)
    platform = FakePlatform(folder / "platform.db", clock=lambda: now)
    ledger = StoredLedger(store=store, clock=lambda: now)
    judge = PaidJudge(
        labels={sentence: "hallucinated" for sample in samples for sentence in sample.invented},
        ledger=Watched(ledger=ledger, at=at),
        cache=StoredCache(store=store),
        bill=folder / "bill",
    )
    spec = EvaluatorSpec(name="grounded", source="prod")
    metric = build_metric(spec.metric, judge=judge, config=spec.config, settings=spec.settings, clock=lambda: now)
    line = Line(
        name="prod",
        project="prod",
        source=FakeSource(platform, page_size=5),
        evaluators=[Evaluator(spec=spec, metric=metric)],
        store=store,
        clock=lambda: now,
        owner=f"child-{attempt}",
        run_id=f"run-{attempt}",
        concurrency=2,
        at=at,
    )
    await ledger.expire()
    await store.write(cursors.acquire, "prod", owner=line.owner, now=now, until=now + timedelta(minutes=5))
    await line.turn(Window(start=START - timedelta(days=1)))
    await Mail(source="prod", sink=FakeSink(platform), store=store, clock=lambda: now, batch=3, at=at).deliver()
    (folder / "steps").write_text("\n".join(f"{name} {count}" for name, count in seen.items()))
    await store.close()
    platform.close()


def run(folder: Path, url: str, attempt: int, step: str, nth: int) -> None:
    """The whole life of the process."""
    asyncio.run(main(folder, url, attempt, step, nth))
