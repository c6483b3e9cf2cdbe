"""The report of rates over rows in the state: seconds per 100,000 rows and peak memory, which must both stand still.

Run: `python -m tests.benchmarks.bench_report [ROWS…]`; 20,000 and 100,000 rows by default.
"""

import asyncio
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, insert

from groundwire.jobs.report import make_rates, rates_as_json
from groundwire.jobs.store import open_store
from groundwire.jobs.store.schema import rows
from groundwire.scorer import Claim, Row, Usage

__all__ = ["fill", "main", "values"]

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAYS = 28
SIZES = (20_000, 100_000)


def values(count: int, *, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Rows of one evaluator over four weeks: the judge changed after two, the rate rose in the last."""
    generator = random.Random(seed)
    claims = tuple(Claim(text="The bag costs 10 EUR.", start=0, end=21, label="supported") for _ in range(6))
    body = Row(
        row_id="r", partition_id="p", partition_type="trace", trace_id="t", metric="agent.hallucination",
        metric_version="1.0.0", status="scored", score=0.75, direction="higher_is_better", claims=claims,
        usage=Usage(calls=2, micro_dollars=1_500), judge={"kind": "llm", "model": "gpt-5-mini"},
        config_fingerprint="f", groundwire_version="0.1.0", created_at=NOW,
    )  # fmt: skip
    bodies = {
        fingerprint: body.model_copy(update={"judge": {"kind": "llm", "model": model}}).model_dump_json()
        for fingerprint, model in (("f1", "gpt-5"), ("f2", "gpt-5-mini"))
    }
    for number in range(count):
        age = timedelta(days=DAYS) * (1 - (number + 0.5) / count)
        weeks = age / timedelta(weeks=1)
        sampled = 1.0 if number % 10 == 0 else 0.1
        bad = generator.random() < (0.14 if weeks < 1 else 0.10)
        status, reason = ("unknown", "no_evidence") if number % 17 == 0 else ("scored", None)
        fingerprint = "f1" if weeks > 2 else "f2"
        tokens = {"input": 900, "cached": 100, "output": 80, "reasoning": 0}
        yield {
            "row_id": f"row-{number}",
            "work_id": f"w-{number}",
            "evaluator": "support-groundedness",
            "partition_type": "trace",
            "partition_id": f"t-{number * 7919 % count}",
            "trace_id": f"t-{number * 7919 % count}",
            "metric": "agent.hallucination",
            "metric_version": "1.0.0",
            "status": status,
            "reason": reason,
            "score": None if reason else 0.5 if bad else 1.0,
            "label": None if reason else "hallucinated" if bad else "grounded",
            "fingerprint": fingerprint,
            "model": "gpt-5-mini",
            "micro_dollars": 1_500,
            "content_hash": "h",
            "inclusion": sampled,
            "created_at": NOW - age,
            "trace_time": NOW - age,
            "facts": {
                "environment": "production",
                "tags": ["support", f"team-{number % 5}"],
                "release": f"v{3 + (weeks < 1)}",
                "models": ["made-up-1"],
                "prompts": [f"answer@{3 + (weeks < 1)}"],
                "latency": 1.0 + generator.expovariate(1.0),
                "usage": {"input": 1_000, "output": 80, "cost": 0.002},
                "tokens": tokens,
            },
            "text_pruned": False,
            "body": bodies[fingerprint],
        }


async def fill(url: str, count: int) -> None:
    """Put the rows into an empty state."""
    store = await open_store(url)
    made = values(count)
    while page := list(islice(made, 5_000)):
        await store.write(_insert, page)
    await store.close()


def _insert(tx: Connection, page: list[dict[str, Any]]) -> None:
    tx.execute(insert(rows), page)


async def measure(url: str) -> dict[str, float]:
    """Seconds of the report, by the clock and of CPU, and this process's peak memory in MB."""
    store = await open_store(url)
    begun, cpu = time.perf_counter(), time.process_time()
    report = await make_rates(store, since=NOW - timedelta(days=DAYS + 1), until=NOW, now=NOW)
    text = rates_as_json(report)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    await store.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak, "json_kb": len(text) / 1024}


def main() -> None:
    """Fill a state of each size, and report over each in a process of its own."""
    sizes = [int(text) for text in sys.argv[1:]] or SIZES
    print(f"{'rows':>10} {'s/100k':>8} {'CPU s/100k':>10} {'peak MB':>8}")
    for size in sizes:
        with TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'state.db'}"
            asyncio.run(fill(url, size))
            command = [sys.executable, "-m", "tests.benchmarks.bench_report", "--measure", url]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        wall, cpu = (found[name] / size * 100_000 for name in ("seconds", "cpu_seconds"))
        print(f"{size:>10,} {wall:>8.2f} {cpu:>10.2f} {found['peak_mb']:>8.0f}", flush=True)
        print(json.dumps({"rows": size, **found}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(asyncio.run(measure(sys.argv[2]))))
    else:
        main()
