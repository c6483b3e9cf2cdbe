"""Processes that spend against one cap until it is full.

`python spender.py URL CAP WORST PROCESSES` forks that many, each with one worker, and prints what each spent.
"""

import asyncio
import os
import random
import sys
from datetime import UTC, datetime

from groundwire.jobs.ledger import Cap, StoredLedger
from groundwire.jobs.store import open_store
from groundwire.scorer import Account, Usage


async def spend_it_all(url: str, cap: int, worst: int, seed: int, tasks: int) -> int:
    """Make calls of `worst` at most, at a third of it on average, until the ledger refuses; returns micro-dollars."""
    chance = random.Random(seed)
    store = await open_store(url)
    ledger = StoredLedger(
        store=store,
        caps={"e": [Cap(micro_dollars=cap, per="day"), Cap(micro_dollars=10 * cap, per="month")]},
        everyone=[Cap(micro_dollars=2 * cap, per="week")],
        clock=lambda: datetime(2026, 11, 30, tzinfo=UTC),
        patience=30.0,
    )

    async def worker() -> int:
        spent = 0
        while (held := await ledger.reserve(Account(evaluator="e"), worst)) is not None:
            cost = chance.randint(0, worst * 2 // 3)
            await ledger.settle(held, Usage(micro_dollars=cost))
            spent += cost
        return spent

    total = sum(await asyncio.gather(*(worker() for _ in range(tasks))))
    await store.close()
    return total


if __name__ == "__main__":
    _, address, *numbers = sys.argv
    limit, most, processes = map(int, numbers)
    children = []
    for number in range(processes):
        if (child := os.fork()) == 0:
            spent = asyncio.run(spend_it_all(address, limit, most, number, tasks=1))
            os.write(1, f"{spent}\n".encode())  # in one piece: eight processes write to one pipe
            os._exit(0)
        children.append(child)
    sys.exit(any(os.waitpid(child, 0)[1] for child in children))
