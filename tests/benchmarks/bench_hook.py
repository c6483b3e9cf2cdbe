"""What a webhook's answer costs while a slow judge works: deliveries of 50 runs, 50 a second, for 30 seconds.

`python -m tests.benchmarks.bench_hook [--seconds N] [--json FILE]`. The service, a LangSmith and the sender are three
processes. The ratio is to a handler that does nothing in the same server, behind the same gate, sent the same bodies at
the same rate. Lost is what was answered with 202 and is in the state neither as work nor as what waits.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine, text
from tests.benchmarks.hook_process import EMPTY
from tests.connectors.langsmith_app import PROJECT
from tests.flow.langsmith_rig import NAME, SECRET

from groundwire.scorer import quantile

__all__ = ["main", "run"]

RATE = 50
RUNS = 50
SECONDS = 30.0
HEADERS = {"Authorization": f"Bearer {SECRET}"}


def main() -> None:
    """Print the table, and write the figures as JSON where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--json", type=Path)
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), given.seconds)
    table = Table(title=f"Webhook: {RATE} deliveries of {RUNS} runs a second for {given.seconds:.0f} s, a slow judge")
    table.add_column("what")
    table.add_column("figure", justify="right")
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    Console().print(table)
    if given.json:
        given.json.write_text(json.dumps({"benchmark": "hook", **figures}, indent=1))


def run(folder: Path, seconds: float) -> dict[str, float | int]:
    """The figures: times in ms, memory in MB."""
    ports = [_free_port() for _ in range(2)]
    arguments = ["service", str(folder), f"http://127.0.0.1:{ports[0]}", str(ports[1])]
    with _process("platform", str(ports[0])), _process(*arguments) as process:
        url = f"http://127.0.0.1:{ports[1]}"
        _wait(f"http://127.0.0.1:{ports[0]}/api/v1/info")
        _wait(f"{url}/healthz")
        empty, _, _ = asyncio.run(_send(f"{url}{EMPTY}", max(seconds / 3, 1.0), process.pid))
        before = _memory(process.pid)
        hook, sent, memory = asyncio.run(_send(f"{url}/hooks/langsmith/{NAME}", seconds, process.pid))
        process.terminate()
        process.wait(timeout=60)
    kept = _kept(folder / "state.db")
    half = memory[len(memory) // 2 :]
    return {
        "deliveries": len(hook),
        "p50_ms": quantile(hook, 0.5),
        "p99_ms": quantile(hook, 0.99),
        "slowest_ms": max(hook),
        "empty_p50_ms": quantile(empty, 0.5),
        "empty_p99_ms": quantile(empty, 0.99),
        "ratio_p50": quantile(hook, 0.5) / quantile(empty, 0.5),
        "ratio_p99": quantile(hook, 0.99) / quantile(empty, 0.99),
        "traces_sent": len(sent),
        "lost": len(sent - kept),
        "mb_before": before,
        "mb_most": max(memory),
        "mb_growth_in_second_half": max(half) - half[0],
    }


async def _send(url: str, seconds: float, pid: int) -> tuple[list[float], set[str], list[float]]:
    """Times of the answers in ms, the traces that were taken, and the server's memory once a second."""
    times: list[float] = []
    taken: set[str] = set()
    memory: list[float] = [_memory(pid)]

    async def one(client: httpx.AsyncClient) -> None:
        ids = [str(uuid.uuid4()) for _ in range(RUNS)]
        body = _body(ids)
        began = time.perf_counter()
        answer = await client.post(url, content=body, headers=HEADERS)
        times.append((time.perf_counter() - began) * 1000)
        if answer.status_code == 202:
            taken.update(ids)

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    async with httpx.AsyncClient(limits=limits, timeout=30) as client, asyncio.TaskGroup() as group:
        began = time.perf_counter()
        for number in range(int(seconds * RATE)):
            await asyncio.sleep(max(began + number / RATE - time.perf_counter(), 0))
            group.create_task(one(client))
            if number % RATE == 0:
                memory.append(_memory(pid))
    return times, taken, memory


def _body(ids: list[str]) -> bytes:
    end = datetime.now(UTC) - timedelta(seconds=10)
    times = {"start_time": (end - timedelta(seconds=1)).isoformat(), "end_time": end.isoformat()}
    runs = [
        {
            **dict.fromkeys(("inputs", "outputs", "extra", "events", "error", "serialized", "child_run_ids")),
            **times,
            "id": one,
            "trace_id": one,
            "session_id": PROJECT,
            "is_root": True,
            "name": "agent",
            "run_type": "chain",
            "status": "success",
            "dotted_order": f"20261130T120000000000Z{one}",
            "app_path": f"/o/{PROJECT}/projects/p/{PROJECT}/r/{one}?trace_id={one}",
        }
        for one in ids
    ]
    return json.dumps({"rule_id": PROJECT, **times, "runs": runs, "feedback_stats": {}}).encode()


def _kept(path: Path) -> set[str]:
    """The traces that the state knows: as work, or as what a delivery still waits to have taken up."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        known = {row[0] for row in connection.execute(text("SELECT trace_id FROM work"))}
        for body, origins in connection.execute(text("SELECT body, origins FROM deliveries WHERE done_at IS NULL")):
            entries: list[Any] = json.loads(body)["runs"] if body is not None else json.loads(origins)
            known |= {entry["trace_id"] for entry in entries}
    engine.dispose()
    return known


def _memory(pid: int) -> float:
    """Resident megabytes of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def _process(*arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-m", "tests.benchmarks.hook_process", *arguments]) as process:
        try:
            yield process
        finally:
            process.kill()


def _wait(url: str) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            httpx.get(url)
        except httpx.TransportError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"nothing answers at {url}")


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


if __name__ == "__main__":
    main()
