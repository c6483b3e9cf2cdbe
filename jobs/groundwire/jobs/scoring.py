"""Scoring without state: partitions in, rows out in the same order, a bounded number under way."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from groundwire.connectors import Format, Problem, Rejected, Trace, cut, read_traces
from groundwire.scorer import Account, GiveUp, HallucinationMetric, Material, Partition, PartitionType, Row

__all__ = ["Counts", "Outcome", "partitions_in", "score_partitions"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One partition's row, with what it was made from."""

    row: Row
    material: Material | None
    """None where the partition's shape is invalid."""


@dataclass(kw_only=True)
class Counts:
    """What became of everything that was read: `read` is the sum of the statuses."""

    read: int = 0
    problems: int = 0
    """Lines and files that couldn't be read as traces."""
    by_status: dict[str, int] = field(default_factory=dict)
    by_reason: dict[tuple[str, str], int] = field(default_factory=dict)
    remedies: dict[str, str] = field(default_factory=dict)
    """What mends each rule that an invalid row broke."""
    micro_dollars: int = 0
    calls: int = 0
    estimated: bool = False

    def add(self, row: Row) -> None:
        """Count one row."""
        self.read += 1
        self.by_status[row.status] = self.by_status.get(row.status, 0) + 1
        if row.reason is not None:
            key = (row.status, row.reason)
            self.by_reason[key] = self.by_reason.get(key, 0) + 1
            if row.status == "invalid":
                self.remedies.setdefault(row.reason, row.explanation)
        self.micro_dollars += row.usage.micro_dollars
        self.calls += row.usage.calls
        self.estimated = self.estimated or row.usage.estimated


def partitions_in(
    paths: Iterable[str],
    *,
    metric: HallucinationMetric,
    level: PartitionType,
    file_format: Format | None = None,
    each_turn: bool = False,
) -> Iterator[Partition | Rejected | Problem]:
    """The partitions of those files, one by one; what can't be read is a `Problem` in its place.

    A trace without a model call has no span partitions.
    """
    for path in paths:
        for found in read_traces(path, format=file_format):
            if isinstance(found, Trace):
                yield from cut(found, level, kinds=metric.settings.kinds, each_turn=each_turn)
            else:
                yield found


async def score_partitions(
    partitions: Iterator[Partition | Rejected | Problem], metric: HallucinationMetric, *, at_once: int, run_id: str = ""
) -> AsyncIterator[Outcome | Problem]:
    """Score them, at most `at_once` under way, and give the outcomes in the order of the partitions.

    The same content of the same partition met again is a `skipped: duplicate` row. Raises `GiveUp` as the judge does,
    after the outcomes that were finished before it.
    """
    seen: set[tuple[str, str]] = set()
    waiting: asyncio.Queue[asyncio.Task[Outcome] | Problem | None] = asyncio.Queue(maxsize=at_once)

    async def one(partition: Partition | Rejected) -> Outcome:
        if isinstance(partition, Rejected):
            row = metric.rejected(
                partition.partition_type,
                partition.partition_id,
                partition.trace_id,
                reason=partition.reason,
                explanation=partition.message,
            )
            return Outcome(row=row, material=None)
        found = metric.material(partition)
        material = found if isinstance(found, Material) else None
        if material is not None:
            key = (partition.partition_id, material.content_hash)
            if key in seen:
                row = metric.refused(partition, "skipped", "duplicate", "The same content stood in the input before.")
                return Outcome(row=row, material=material)
            seen.add(key)
        row = await metric.score(partition, account=Account(run_id=run_id, trace_id=partition.trace_id))
        return Outcome(row=row, material=material)

    async def feed() -> None:
        for item in partitions:
            await waiting.put(item if isinstance(item, Problem) else asyncio.create_task(one(item)))
        await waiting.put(None)

    feeder = asyncio.create_task(feed())
    try:
        while (item := await _next(waiting, feeder)) is not None:
            yield item if isinstance(item, Problem) else await item
    finally:
        feeder.cancel()
        with suppress(asyncio.CancelledError):
            await feeder
        while not waiting.empty():
            left = waiting.get_nowait()
            if isinstance(left, asyncio.Task):
                left.cancel()
                with suppress(asyncio.CancelledError, GiveUp):
                    await left


async def _next(
    waiting: "asyncio.Queue[asyncio.Task[Outcome] | Problem | None]", feeder: "asyncio.Task[None]"
) -> "asyncio.Task[Outcome] | Problem | None":
    """The next item; an error in the feeder is raised here rather than waited for."""
    getter = asyncio.create_task(waiting.get())
    await asyncio.wait({getter, feeder}, return_when=asyncio.FIRST_COMPLETED)
    if not getter.done() and feeder.done() and feeder.exception() is not None:
        getter.cancel()
        await feeder
    return await getter
