"""What a guard adds to an answer beside the judge's own time, and to the first piece of a live stream.

1,000 checks, 50 a second, each of an answer of 300 characters against 2,000 of evidence, by a fake judge that takes 150
to 250 ms by its own clock: with nothing kept, and with every check kept as a row in SQLite. The judge marks a span in
every tenth answer, and once more in every second: the note, and what the evidence has in place of the span, are part of
it. Also: 300 streams, 30 at once, and when their first piece comes out after it went in.
Run: `python -m tests.benchmarks.bench_guard [CHECKS]`.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
from tests.scorer.scripted import ScriptedJudge

from groundwire.jobs.guarding import StoredChecks
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.scorer import Guard, Reply, UnsupportedSpan, View

CHECKS = 1_000
RATE = 50
"""Checks begun a second."""
STREAMS = 300
TARGETS = {"p99_ms": 10.0, "first_piece_p99_ms": 5.0}
SIGNALS = {"fact_check": [{"name": "needs_fact_check"}], "hallucination": [{"name": "ungrounded"}]}
WHEN = {
    "operator": "AND",
    "conditions": [
        {"type": "fact_check", "name": "needs_fact_check"},
        {"type": "hallucination", "name": "ungrounded"},
    ],
}
HOLDING = {"signals": SIGNALS, "rules": [{"when": WHEN, "action": "annotate", "details": True}]}
LIVE = {"signals": SIGNALS, "rules": [{"when": WHEN, "action": "flag"}]}
EVIDENCE = [f"Item {n} weighs {n} kg, costs {3 * n} euros and is returned within {n + 20} days." for n in range(30)]


def answer_of(number: int) -> str:
    return " ".join(f"Item {number % 30} costs {3 * n} euros." for n in range(10)) + f" That is answer {number}."


class FakeJudge(ScriptedJudge):
    """Takes its time, and tells how long it took."""

    def __init__(self, every: int) -> None:
        """It marks a span in every so manieth answer."""
        super().__init__()
        self.every = every
        self.took: dict[str, float] = {}

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        began = time.perf_counter()
        number = int(answer.rstrip(".").rsplit(" ", 1)[1])
        await asyncio.sleep(0.15 + 0.1 * (number % 7) / 7)
        found = UnsupportedSpan(text="costs 6 euros", start=0, end=0, probability=0.9, type="contradiction")
        self.took[answer] = time.perf_counter() - began
        return Reply(value=(found,) if number % self.every == 0 else ())


async def paced(checks: int, judge: FakeJudge, guard: Guard) -> list[float]:
    """Milliseconds that each check took beside its judge."""

    async def one(number: int) -> float:
        await asyncio.sleep(max(begin + number / RATE - time.perf_counter(), 0))
        answer, began = answer_of(number), time.perf_counter()
        result = await guard.check("What does it cost?", answer, EVIDENCE)
        took = time.perf_counter() - began
        assert result.answer.endswith(answer)
        assert bool(result.note) == (number % judge.every == 0)
        return 1000 * (took - judge.took[answer])

    await guard.check("What does it cost?", answer_of(-judge.every), EVIDENCE)  # imports are no part of it
    begin = time.perf_counter() + 0.1
    return list(await asyncio.gather(*(one(number) for number in range(checks))))


async def inside(checks: int, every: int) -> list[float]:
    """In an application, with nothing kept."""
    judge = FakeJudge(every)
    guard = Guard.from_config(HOLDING, judges={"default": judge})
    return await paced(checks, judge, guard)


async def recorded(checks: int, every: int) -> list[float]:
    """In an application, with every check kept."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'state.db'}"
        settings = Settings.model_validate({"guard": HOLDING, "state": {"url": url}})
        async with open_service(settings) as service:
            assert settings.guard is not None
            judge = FakeJudge(every)
            recorder = StoredChecks(
                store=service.store, spec=settings.guard, store_text=True, clock=service.clock, told=service.meter.row
            )
            guard = Guard.from_config(HOLDING, judges={"default": judge}, recorder=recorder)
            found = await paced(checks, judge, guard)
            await guard.close()
            return found


async def first_pieces(streams: int) -> list[float]:
    """Milliseconds from when a live stream's first piece went in until it came out."""
    guard = Guard.from_config(LIVE, judges={"default": FakeJudge(10)})

    async def one(number: int) -> float:
        went_in = 0.0

        async def said() -> AsyncIterator[str]:
            nonlocal went_in
            await asyncio.sleep(0.01)
            went_in = time.perf_counter()
            for word in answer_of(number).split(" "):
                yield f"{word} "
                await asyncio.sleep(0.001)

        stream = guard.stream(said(), request="What does it cost?", evidence=EVIDENCE)
        came_out = 0.0
        async for _ in stream:
            came_out = came_out or time.perf_counter()
        await stream.result()
        return 1000 * (came_out - went_in)

    found: list[float] = []
    for start in range(0, streams, 30):
        found += await asyncio.gather(*(one(number) for number in range(start, min(start + 30, streams))))
    return found


def quantiles(found: list[float]) -> dict[str, float]:
    return {"p50_ms": round(float(np.quantile(found, 0.5)), 2), "p99_ms": round(float(np.quantile(found, 0.99)), 2)}


def main() -> None:
    checks = int(sys.argv[1]) if len(sys.argv) > 1 else CHECKS
    results = {
        "nothing kept": quantiles(asyncio.run(inside(checks, 10))),
        "rows kept": quantiles(asyncio.run(recorded(checks, 10))),
        "rows kept, half marked": quantiles(asyncio.run(recorded(checks, 2))),
        "first piece": quantiles(asyncio.run(first_pieces(STREAMS))),
    }
    for name, found in results.items():
        aim = TARGETS["first_piece_p99_ms"] if name == "first piece" else TARGETS["p99_ms"]
        print(f"{name:23} p50 {found['p50_ms']:7.2f} ms  p99 {found['p99_ms']:7.2f} ms  (aim: {aim:g})")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
