"""Scoring without state: partitions in, rows out in the same order, a bounded number under way."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from groundwire.connectors import Format, Problem, Rejected, Trace, cut, cut_session, read_traces
from groundwire.scorer import Account, GiveUp, Material, Metric, Partition, PartitionType, Row

__all__ = ["Counts", "Halt", "Outcome", "partitions_in", "score_partitions"]


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
    metric: Metric,
    level: PartitionType,
    file_format: Format | None = None,
    each_turn: bool = False,
) -> Iterator[Partition | Rejected | Problem]:
    """The partitions of those files, one by one; what can't be read is a `Problem` in its place.

    A trace without a model call has no span partitions. The traces of a session, in whatever file, are one partition,
    given when all files have been read; a trace of no session is one of its own.
    """
    sessions: dict[str, list[Trace]] = {}
    for path in paths:
        for found in read_traces(path, format=file_format):
            if isinstance(found, Trace) and level == "session":
                sessions.setdefault(found.session_id or f"trace {found.trace_id}", []).append(found)
            elif isinstance(found, Trace):
                yield from cut(found, level, kinds=metric.settings.kinds, each_turn=each_turn)
            else:
                yield found
    for traces in sessions.values():
        if any(trace.spans for trace in traces):
            yield cut_session(traces, kinds=metric.settings.kinds)


@dataclass(kw_only=True)
class Halt:
    """Ends a run of `score_partitions` early: once, and what is under way is finished; again, and it is dropped."""

    asked: bool = False
    under_way: set[asyncio.Task[Outcome]] = field(default_factory=set)

    def __call__(self) -> None:
        """Begin nothing more; the second time, end what was begun."""
        if self.asked:
            for task in self.under_way:
                task.cancel()
        self.asked = True


@dataclass(kw_only=True)
class _Scoring:
    metric: Metric
    run_id: str
    seen: set[tuple[str, str]] = field(default_factory=set)

    async def outcome(self, partition: Partition | Rejected) -> Outcome:
        """The row of one partition, unless the same content of it was met before."""
        if isinstance(partition, Rejected):
            row = self.metric.rejected(
                partition.partition_type,
                partition.partition_id,
                partition.trace_id,
                reason=partition.reason,
                explanation=partition.message,
            )
            return Outcome(row=row, material=None)
        found = self.metric.material(partition)
        material = found if isinstance(found, Material) else None
        if material is not None:
            key = (partition.partition_id, material.content_hash)
            if key in self.seen:
                why = "The same content stood in the input before."
                return Outcome(row=self.metric.refused(partition, "skipped", "duplicate", why), material=material)
            self.seen.add(key)
        row = await self.metric.score(partition, account=Account(run_id=self.run_id, trace_id=partition.trace_id))
        return Outcome(row=row, material=material)


async def score_partitions(
    partitions: Iterator[Partition | Rejected | Problem],
    metric: Metric,
    *,
    at_once: int,
    run_id: str = "",
    halt: Halt | None = None,
) -> AsyncIterator[Outcome | Problem]:
    """Score them, at most `at_once` under way, and give the outcomes in the order of the partitions.

    The same content of the same partition met again is a `skipped: duplicate` row. What was begun is given, for it may
    have been paid: after `halt`, and where the judge is lost (`GiveUp`, raised when the others have ended).
    """
    stop = halt or Halt()
    waiting: asyncio.Queue[asyncio.Task[Outcome] | Problem | None] = asyncio.Queue(maxsize=at_once)
    scoring = _Scoring(metric=metric, run_id=run_id)

    async def feed() -> None:
        for item in partitions:
            if stop.asked:
                break
            if isinstance(item, Problem):
                await waiting.put(item)
                continue
            task = asyncio.create_task(scoring.outcome(item))
            stop.under_way.add(task)
            task.add_done_callback(stop.under_way.discard)
            await waiting.put(task)
        await waiting.put(None)

    feeder = asyncio.create_task(feed())
    lost: GiveUp | None = None
    try:
        while (item := await _next(waiting, feeder)) is not None:
            if isinstance(item, Problem):
                yield item
                continue
            await asyncio.wait({item})
            if item.cancelled():
                continue
            try:
                outcome = item.result()
            except GiveUp as error:
                lost = lost or error
                stop.asked = True
                continue
            yield outcome
        if lost is not None:
            raise lost
    finally:
        feeder.cancel()
        with suppress(asyncio.CancelledError):
            await feeder
        left = tuple(stop.under_way)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


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
