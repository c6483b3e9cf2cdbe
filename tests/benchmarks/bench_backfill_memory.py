"""That the memory of a backfill doesn't grow with its length: peak of a process of its own for each size.

The traces lie in a fake platform's file, the state in another; the judge answers at once. Run:
`python -m tests.benchmarks.bench_backfill_memory [TRACES …]`; `2000 20000 100000` takes about fifteen minutes.
"""

import asyncio
import json
import multiprocessing
import resource
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors.testing import FakePlatform, make_samples
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.scorer import HallucinationMetric

SIZES = (2_000, 20_000)
ALLOWED_MB = 64
START = datetime(2026, 11, 1, tzinfo=UTC)
NAME = "grounded"


class Forgetful(list[Any]):
    """What is appended to it is gone: a judge's notes of what it was asked would be the memory that is measured."""

    def append(self, _: Any) -> None:
        """Keep nothing."""


def main() -> None:
    """Print the table and the figures as JSON."""
    figures = run(tuple(int(size) for size in sys.argv[1:]) or SIZES)
    for size, found in figures["sizes"].items():
        print(f"{size:>8} traces{found['peak_mb']:>10.0f} MB{found['seconds']:>10.0f} s")
    verdict = "flat" if figures["growth_mb"] <= ALLOWED_MB else "GROWS"
    print(f"{'growth':>15}{figures['growth_mb']:>10.0f} MB: {verdict}")
    print(json.dumps({"benchmark": "backfill_memory", **figures}))


def run(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Peak memory in MB and seconds by number of traces, and the difference between the highest and the lowest peak."""
    found = {str(size): _measured(size) for size in sizes}
    peaks = [one["peak_mb"] for one in found.values()]
    return {"sizes": found, "growth_mb": max(peaks) - min(peaks)}


def _measured(size: int) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        processes = multiprocessing.get_context("spawn")
        filling = processes.Process(target=_fill, args=(Path(folder), size))
        filling.start()
        filling.join()
        peak = processes.Value("d", 0.0)
        process = processes.Process(target=_in_a_process, args=(Path(folder), size, peak))
        began = time.perf_counter()
        process.start()
        process.join()
        assert filling.exitcode == process.exitcode == 0
        return {"peak_mb": float(peak.value), "seconds": time.perf_counter() - began}


def _fill(folder: Path, size: int) -> None:
    platform = FakePlatform(folder / "platform.db", clock=lambda: _end(size))
    platform.put_all(sample.trace for sample in make_samples(size, first_end=START))
    platform.close()


def _end(size: int) -> datetime:
    return START + timedelta(seconds=size + 60)


def _in_a_process(folder: Path, size: int, peak: Any) -> None:
    asyncio.run(_backfill(folder, size))
    peak.value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _backfill(folder: Path, size: int) -> None:
    settings = Settings.model_validate(
        {
            "sources": {
                "prod": {
                    "platform": "groundwire.connectors.testing:fake",
                    "path": str(folder / "platform.db"),
                }
            },
            "evaluators": [{"name": NAME, "source": "prod", "settle": 0}],
            "state": {"url": f"sqlite:///{folder / 'state.db'}"},
        }
    )
    spec = settings.evaluator(NAME)
    judge = ScriptedJudge(asked=Forgetful(), accounts=Forgetful())
    metric = HallucinationMetric(judge=judge)
    spans = (Span(start=START - timedelta(minutes=1), end=_end(size)),)
    async with open_service(settings, clock=lambda: _end(size)) as service:
        backfill = Backfill(evaluator=spec, spans=spans)
        evaluator = Evaluator(spec=spec, metric=metric)
        progress, delivered, finished = await run_backfill(service, backfill, evaluator, told=lambda *_: None)
    assert finished
    assert sum(progress.by_status.values()) == size
    assert delivered.delivered == progress.by_status["scored"]


if __name__ == "__main__":
    main()
