"""What reading a LangSmith project costs under its rate limits: requests per 1,000 traces, traces a minute.

`python -m tests.benchmarks.bench_langsmith [--traces N] [--json FILE]` prints a table and returns the figures. The
loopback app refuses the 16th run query of 10 seconds, as LangSmith does; waits are counted on a clock of their own and
not waited out, and a request is taken to need no time: what is measured is what the limit leaves. `least` is how few
requests the runs fit into, bodies alone.
"""

import argparse
import asyncio
import json
from collections import Counter
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.connectors.langfuse_app import served
from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import LangsmithApp
from tests.connectors.langsmith_runs import NOON, agent_trace, sink_for, source_for

from groundwire.connectors import Score, Target, Trace, Window

__all__ = ["main", "run"]

TRACES = 1_000
RUNS = 8
"""In a trace."""
OLD: dict[str, Any] = {"version": "0.12.0", "flags": {"ch_query_enabled": True}, "v2": False}
GENERATIONS: dict[str, dict[str, Any]] = {"v2": {}, "v1": OLD}


def main() -> None:
    """Print the table, and write the figures as JSON where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--traces", type=int, default=TRACES)
    parser.add_argument("--json", type=Path)
    given, _ = parser.parse_known_args()
    figures = asyncio.run(run(given.traces))
    table = Table(title=f"LangSmith: {given.traces} traces of {RUNS} runs, 15 run queries in 10 s")
    for column in ("what", "API", "queries per 1,000", "others per 1,000", "least", "traces/min", "refused (429)"):
        table.add_column(column, justify="left" if column in ("what", "API") else "right")
    for figure in figures:
        table.add_row(
            figure["what"],
            figure["api"],
            f"{figure['queries_per_1000']:.1f}",
            f"{figure['others_per_1000']:.1f}",
            f"{figure['least_per_1000']:.1f}",
            f"{figure['traces_per_minute']:,.0f}" if figure["traces_per_minute"] else "no wait",
            str(figure["refused"]),
        )
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps({"benchmark": "langsmith", "figures": figures}, indent=1))


async def run(traces: int = TRACES) -> list[dict[str, Any]]:
    """One figure for each way of reading and generation of the API, and one for writing."""
    found = []
    for api, knobs in GENERATIONS.items():
        found.append(await _history("history, all wanted", api, knobs, traces, share=1))
        found.append(await _history("history, 1 in 20 wanted", api, knobs, traces, share=20))
        found.append(await _live(api, knobs, traces))
    found.append(await _scores(traces))
    return found


async def _history(what: str, api: str, knobs: dict[str, Any], traces: int, *, share: int) -> dict[str, Any]:
    """A trace every 2 seconds, read as one window; `share`: one in so many is wanted."""
    clock = Clock(NOON)
    app = LangsmithApp(clock=clock, monotonic=clock.monotonic, **knobs)
    first = NOON - timedelta(days=1)
    ids = [agent_trace(app, at, end=first + timedelta(seconds=2 * at), tools=RUNS - 2) for at in range(traces)]
    wanted = set(ids[::share])

    def asked(head: Trace) -> bool:
        return head.trace_id in wanted

    with served(app) as url:
        source = source_for(url, clock)
        began = clock.now
        window = Window(start=first - timedelta(minutes=1), end=NOON)
        given = {trace.trace_id async for page in source.pull(window, None, wanted=asked) for trace in page.traces}
        await source.close()
    assert given == wanted, "every trace that is wanted is read"
    return _figure(what, api, app.calls, traces, (clock.now - began).total_seconds(), len(wanted))


async def _live(api: str, knobs: dict[str, Any], traces: int) -> dict[str, Any]:
    """A trace every 2 seconds while it is polled once a minute."""
    clock = Clock(NOON)
    app = LangsmithApp(clock=clock, monotonic=clock.monotonic, **knobs)
    given: set[str] = set()
    put: set[str] = set()
    with served(app) as url:
        source = source_for(url, clock)
        cursor: Any = None
        while len(put) < traces or len(given) < len(put):
            for at in range(30):
                if len(put) < traces:
                    end = clock.now + timedelta(seconds=2 * at)
                    put.add(agent_trace(app, len(put), end=end, tools=RUNS - 2))
            clock.forward(60)
            async for page in source.pull(Window(start=NOON - timedelta(minutes=1)), cursor):
                cursor = page.cursor
                given |= {trace.trace_id for trace in page.traces}
        await source.close()
    assert given == put, "every trace is read"
    return _figure("live, polled each minute", api, app.calls, traces, 0.0, traces)


async def _scores(traces: int) -> dict[str, Any]:
    clock = Clock(NOON)
    app = LangsmithApp(clock=clock, monotonic=clock.monotonic)
    start = NOON - timedelta(seconds=105)
    ids = [agent_trace(app, at, end=NOON - timedelta(seconds=100), tools=0) for at in range(traces)]
    scores = [
        Score(score_id=key, name="g", value=0.5, target=Target(project="p", trace_id=key, start_time=start))
        for key in ids
    ]
    with served(app) as url:
        sink = sink_for(url, clock)
        began = clock.now
        for at in range(0, traces, 100):
            assert {one.state for one in await sink.push(scores[at : at + 100])} == {"delivered"}
        await sink.close()
    assert len(app.feedback) == traces, "each score stands once"
    figure = _figure("scores written", "v1", app.calls, traces, (clock.now - began).total_seconds(), traces)
    return figure | {"least_per_1000": 1000.0}


def _figure(what: str, api: str, calls: Counter[str], traces: int, seconds: float, wanted: int) -> dict[str, Any]:
    queries = sum(number for call, number in calls.items() if call.endswith("/runs/query"))
    a_page = 1000 if api == "v2" else 100
    return {
        "what": what,
        "api": api,
        "queries_per_1000": 1000 * queries / traces,
        "others_per_1000": 1000 * (sum(calls.values()) - queries) / traces,
        "least_per_1000": 1000 * ceil(wanted * RUNS / a_page) / traces,
        "traces_per_minute": 60 * traces / seconds if seconds else 0.0,
        "refused": calls["429"],
    }


if __name__ == "__main__":
    main()
