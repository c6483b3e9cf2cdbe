"""What judging costs beside the calls themselves: groundwire's judge against a bare `AsyncOpenAI` loop, in one run.

2,000 answers, 20 calls at a time, one call each, a fake judge of 50 ms in another process, prompts of about 9 kB. Each
client has a process of its own, so that processor time and peak memory are its own, and makes a first call before the
clock starts: importing the SDK is no part of judging. Also: every 25th call a 429 with
`retry-after: 1`, and every 20th reply broken. Run: `python -m tests.benchmarks.bench_judging [ANSWERS]`.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from typing import Any

ANSWERS = 2_000
CONCURRENCY = 20
"""Calls under way at once."""
WAITING = 60
"""Answers under way at once in groundwire: its judge bounds the calls, and one that must wait gives its place away."""
LATENCY = 0.05
TARGETS = {"wall_over_bare": 1.10, "cpu_over_bare": 2.0, "memory_over_bare": 1.5, "busy_over_clean": 1.5}

RECORD = "[user]\nWhich orders are late?\n\n[tool result: orders]\n" + "\n".join(
    f'{{"order": {number}, "status": "shipped", "carrier": "PostNL", "weight_kg": {number % 30}}}'
    for number in range(110)
)


def output_of(number: int) -> str:
    """An answer that no other is equal to."""
    return f"Order {number} was shipped with PostNL. It weighs {number % 30} kg, and answer {number} says no more."


async def through_groundwire(url: str, answers: int) -> dict[str, Any]:
    """The product's own judge with ledger, cache, fence and reading."""
    from decimal import Decimal

    from pydantic import SecretStr

    from groundwire.scorer.cache import MemoryCache
    from groundwire.scorer.judges.config import LLMJudgeConfig, PriceConfig
    from groundwire.scorer.judges.registry import build_judge
    from groundwire.scorer.spend import Account, MemoryLedger

    ledger = MemoryLedger(cap=10**12)
    config = LLMJudgeConfig(
        model="fake",
        base_url=url,
        api_key=SecretStr("k"),
        price=PriceConfig(input=Decimal(1), output=Decimal(4)),
        concurrency=CONCURRENCY,
    )
    judge = build_judge(config, ledger=ledger, cache=MemoryCache())
    ends: Counter[str] = Counter()
    calls = 0

    async def one(number: int) -> None:
        nonlocal calls
        reply = await judge.bound(Account(trace_id=f"t{number}")).classify(RECORD, output_of(number))
        ends[reply.value.label if reply.value else reply.failure.reason if reply.failure else "?"] += 1
        calls += reply.usage.calls

    await one(-1)
    ends.clear()
    calls = 0
    wall = await in_turn(one, answers, WAITING)
    return {"wall": wall, "ends": dict(ends), "paid_calls": calls, "spent": ledger.spent, "held": len(ledger.held)}


async def through_bare_client(url: str, answers: int) -> dict[str, Any]:
    """The same calls without anything around them."""
    import openai

    from groundwire.scorer.fence import Fence, Section
    from groundwire.scorer.judges.forms import VERDICT
    from groundwire.scorer.prompts import load_prompts

    client = openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=3)
    system = load_prompts()["verdict"]
    schema: Any = {"name": "verdict", "strict": True, "schema": VERDICT.schema}
    ends: Counter[str] = Counter()

    async def one(number: int) -> None:
        sections = [Section(name="RECORD", text=RECORD), Section(name="RESPONSE", text=output_of(number))]
        reply = await client.chat.completions.create(
            model="fake",
            temperature=0.0,
            max_tokens=800,
            messages=[
                {"role": "system", "content": system},
                {"role": "user", "content": Fence(mark="271828182").render(sections)},
            ],
            response_format={"type": "json_schema", "json_schema": schema},
        )
        ends[json.loads(reply.choices[0].message.content or "{}")["label"]] += 1

    await one(-1)
    ends.clear()
    wall = await in_turn(one, answers, CONCURRENCY)
    await client.close()
    return {"wall": wall, "ends": dict(ends)}


async def in_turn(one: Callable[[int], Awaitable[None]], answers: int, at_once: int) -> float:
    """That many workers over the answers; seconds from the first call on."""
    numbers = iter(range(answers))

    async def worker() -> None:
        for number in numbers:
            await one(number)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return time.perf_counter() - started


def client(which: str, url: str, answers: int) -> None:
    """The body of a client's process: run, and print what it took."""
    run = through_groundwire if which == "groundwire" else through_bare_client
    found = asyncio.run(run(url, answers))
    found["cpu"] = time.process_time()
    found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


@contextmanager
def fake_judge(busy: int = 0, broken: int = 0):
    """A fake judge in another process; gives its address."""
    command = [sys.executable, "-m", "tests.benchmarks.judge_process", str(LATENCY), str(busy), str(broken)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def measure(which: str, url: str, answers: int) -> dict[str, Any]:
    """One client in its own process."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_judging", "--client", which, url, str(answers)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run(answers: int = ANSWERS) -> dict[str, Any]:
    """All measurements and their ratios."""
    ideal = answers * LATENCY / CONCURRENCY
    with fake_judge() as url:  # in turn, the better of two: a machine's other work falls on both alike
        rounds = [(measure("bare", url, answers), measure("groundwire", url, answers)) for _ in range(2)]
        bare, ours = (min((pair[side] for pair in rounds), key=lambda found: found["wall"]) for side in (0, 1))
    with fake_judge(busy=25) as url:
        busy = measure("groundwire", url, answers)
    with fake_judge(broken=20) as url:
        broken = measure("groundwire", url, answers)
    return {
        "answers": answers,
        "ideal_seconds": ideal,
        "wall_over_ideal": ours["wall"] / ideal,
        "bare_over_ideal": bare["wall"] / ideal,
        "wall_over_bare": ours["wall"] / bare["wall"],
        "cpu_over_bare": ours["cpu"] / bare["cpu"],
        "memory_over_bare": ours["memory_mb"] / bare["memory_mb"],
        "busy_over_clean": busy["wall"] / ours["wall"],
        "broken_extra_calls": broken["paid_calls"] - answers,
        "accounted_for": [sum(found["ends"].values()) for found in (ours, busy, broken)],
        "targets": TARGETS,
        "raw": {"bare": bare, "groundwire": ours, "busy": busy, "broken": broken},
    }


def main() -> None:
    """Measure, or be one of the clients."""
    if sys.argv[1:2] == ["--client"]:
        client(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(json.dumps(run(int(sys.argv[1]) if len(sys.argv) > 1 else ANSWERS), indent=2))


if __name__ == "__main__":
    main()
