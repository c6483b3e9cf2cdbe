"""What reading and scoring a Langfuse project costs: requests, time under a rate limit, CPU, against a loopback app.

`python -m tests.benchmarks.bench_langfuse [--traces N] [--json FILE]` prints a table and returns the figures. The app
runs in a process of its own. Every trace has 8 observations and gets one score.
"""

import asyncio
import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import agent_trace

from groundwire.connectors import Score, Target, Trace, Window
from groundwire.connectors.langfuse import LangfuseSettings, LangfuseSink, LangfuseSource
from groundwire.connectors.langfuse.quota import Quotas
from groundwire.connectors.langfuse.wire import Wire

SIZES = {"1 kB": 1_000, "8 kB": 8_000, "64 kB": 64_000}
TRACES = 10_000
OBSERVATIONS = 8
HOBBY = 30
"""Requests a minute."""
DELAY = timedelta(days=2)


def serve(size: int, traces: int) -> None:
    """The app with its traces, in this process; prints its address and serves until standard input ends."""
    app = LangfuseApp()
    end = datetime.now(UTC) - DELAY
    for number in range(traces):
        agent_trace(app, number, end=end + timedelta(seconds=number), tools=OBSERVATIONS - 2, size=size)
    with served(app) as url:
        print(url, flush=True)
        for line in sys.stdin:
            if line.strip() == "calls":
                print(json.dumps({"calls": app.calls, "scores": len(app.shown())}), flush=True)


async def run(url: str, traces: int) -> dict[str, Any]:
    """Read everything, write a score for each trace, look them all up; wall and CPU of this process alone.

    The waits that the plan Hobby imposes are counted and not waited out.
    """
    settings = LangfuseSettings(
        host=url, public_key=SecretStr(PUBLIC_KEY), secret_key=SecretStr(SECRET_KEY), plan="hobby"
    )
    ahead = [0.0]
    quotas = Quotas(clock=lambda: time.monotonic() + ahead[0])
    began = time.monotonic()

    async def no_sleep(seconds: float) -> None:
        ahead[0] += seconds

    def now() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=ahead[0])

    def wire() -> Wire:
        return Wire(settings, quotas=quotas, sleep=no_sleep, now=now)

    source, sink = LangfuseSource(settings, wire=wire()), LangfuseSink(settings, wire=wire())
    start = datetime.now(UTC) - DELAY
    window = Window(start=start - timedelta(hours=1), end=start + timedelta(seconds=traces + 60))
    wall, cpu = time.perf_counter(), time.process_time()
    found: list[Target] = []
    async for page in source.pull(window, None):
        found += [target_of(trace) for trace in page.traces]
    read_wall, read_cpu = time.perf_counter() - wall, time.process_time() - cpu
    wall, cpu = time.perf_counter(), time.process_time()
    for at in range(0, len(found), 100):
        await sink._push([score_of(target) for target in found[at : at + 100]])
    write_wall, write_cpu = time.perf_counter() - wall, time.process_time() - cpu
    waited = time.monotonic() + ahead[0] - began
    ahead[0] += 61
    seen = await sink.read_back()
    await source.close()
    await sink.close()
    assert len({target.trace_id for target in found}) == traces == len(found)
    assert len(seen.visible) == traces
    return {
        "read_wall": read_wall,
        "read_cpu": read_cpu,
        "write_wall": write_wall,
        "write_cpu": write_cpu,
        "hobby_wall": waited,
    }


def target_of(trace: Trace) -> Target:
    root = trace.root
    assert root is not None
    assert len(trace.spans) == OBSERVATIONS
    return Target(
        project=trace.origin,
        trace_id=trace.trace_id,
        root_span_id=root.span_id,
        start_time=root.start_time,
        environment=trace.environment,
    )


def score_of(target: Target) -> Score:
    return Score(
        score_id=f"{target.trace_id[-8:]}-0000-5000-8000-000000000000",
        name="bench",
        value=0.75,
        target=target,
        comment="0.75 · 3 of 4 claims grounded\n"
        + "hallucinated: a claim of the usual length that nothing bears out\n" * 8,
        metadata={"row_id": "r", "labels": {"supported": 3, "hallucinated": 1}},
    )


def floor(size: int, traces: int) -> float:
    """Seconds that the bytes alone take: decoding what was sent, as JSON, and nothing else."""
    app = LangfuseApp()
    agent_trace(app, 1, end=datetime.now(UTC), tools=OBSERVATIONS - 2, size=size)
    rows = [{key: value for key, value in row.items() if key != "_visible"} for row in app._rows.values()]
    one = json.dumps(rows).encode()
    began = time.process_time()
    for _ in range(min(traces, 500)):
        json.loads(one)
    return (time.process_time() - began) * traces / min(traces, 500)


def measure(traces: int = TRACES) -> dict[str, Any]:
    """The figures of each size: requests per 1,000 traces, traces a minute on Hobby, CPU and wall."""
    results: dict[str, Any] = {}
    for label, size in SIZES.items():
        command = [sys.executable, "-m", "tests.benchmarks.bench_langfuse", "--serve", str(size), str(traces)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            httpx.get(f"{url}/api/public/health", timeout=60)
            figures = asyncio.run(run(url, traces))
            server.stdin.write("calls\n")
            server.stdin.flush()
            told = json.loads(server.stdout.readline())
            server.stdin.close()
            server.wait(timeout=60)
        calls = told["calls"]
        per = 1000 / traces
        reads, writes = calls["GET /v2/observations"] * per, calls["POST /scores"] * per
        looked_up = calls["GET /v3/scores"] * per
        decoding = floor(size, traces)
        results[label] = {
            "traces": traces,
            "reads_per_1000": round(reads, 2),
            "writes_per_1000": round(writes, 2),
            "look_ups_per_1000": round(looked_up, 2),
            "traces_a_minute_on_hobby": round(traces * 60 / figures["hobby_wall"]),
            "hobby_wall_over_ideal": round(figures["hobby_wall"] / ((reads + writes) / per * 60 / HOBBY), 3),
            "cpu_ms_per_trace": round((figures["read_cpu"] + figures["write_cpu"]) * 1000 / traces, 3),
            "read_wall_s": round(figures["read_wall"], 2),
            "write_wall_s": round(figures["write_wall"], 2),
            "read_cpu_over_decoding": round(figures["read_cpu"] / decoding, 2),
            "scores": told["scores"],
        }
    return results


def show(results: dict[str, Any]) -> None:
    """Print the table."""
    table = Table("", *results, title=f"Langfuse, {OBSERVATIONS} observations a trace, by text a trace")
    for name in next(iter(results.values())):
        table.add_row(name.replace("_", " "), *(str(figures[name]) for figures in results.values()))
    Console().print(table)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """The command line."""
    arguments = arguments or []
    if arguments[:1] == ["--serve"]:
        serve(int(arguments[1]), int(arguments[2]))
        return {}
    traces = int(arguments[arguments.index("--traces") + 1]) if "--traces" in arguments else TRACES
    results = measure(traces)
    show(results)
    if "--json" in arguments:
        Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(results, indent=2), encoding="utf-8")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
