"""Eight workers against one cap: never passed by one micro-dollar, and used to 95 % at least."""

import asyncio
import sys
from pathlib import Path

from groundwire.jobs.store import spend

from .spender import spend_it_all

CAP = 20_000
WORST = 500


async def check(store, spent):
    (day, *_) = await store.read(spend.list_windows, evaluator="e", per="day")
    assert day.spent == spent
    assert day.reserved == 0
    assert 0.95 * CAP <= day.spent <= CAP


async def test_eight_tasks(store, store_url):
    await check(store, await spend_it_all(store_url, CAP, WORST, 1, tasks=8))


async def test_eight_processes(store, store_url):
    script = Path(__file__).with_name("spender.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, store_url, str(CAP), str(WORST), "8", stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    amounts = [int(line) for line in printed.split()]
    assert len(amounts) == 8
    await check(store, sum(amounts))
