"""History: one evaluator over a stretch of past time, slice by slice, resumable, under a budget of its own."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pydantic import JsonValue

from groundwire.connectors import Window
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.delivery import Delivered
from groundwire.jobs.flow import Progress
from groundwire.jobs.schedule import LEASE
from groundwire.jobs.service import Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import cursors, gaps, runs
from groundwire.scorer import ConfigError

__all__ = ["Backfill", "Span", "run_backfill", "slices"]

SLICE = timedelta(days=1)
"""The stretch that is pulled at once; what is under way when a backfill stops is at most one of these."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of time `[start, end)`, UTC."""

    start: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """What is asked for. The same again goes on where it stopped."""

    evaluator: EvaluatorSpec
    spans: tuple[Span, ...]
    """The stretches, by the end of the traces' roots."""
    limit: int | None = None
    """Most partitions."""
    sample: float | None = None
    """A rate in place of the evaluator's own."""
    newest_first: bool = False
    rescore: bool = False
    gap_ids: tuple[str, ...] = ()
    """The gaps that it takes up."""

    @property
    def args(self) -> dict[str, JsonValue]:
        """What it was asked, as the runs' table keeps it."""
        return {
            "evaluator": self.evaluator.name,
            "spans": [[span.start.isoformat(), span.end.isoformat()] for span in self.spans],
            "limit": self.limit,
            "sample": self.sample,
            "newest_first": self.newest_first,
            "rescore": self.rescore,
        }

    @property
    def run_id(self) -> str:
        """The same for the same request and configuration, so that a second start goes on."""
        told = json.dumps([self.args, self.evaluator.model_dump(mode="json")], sort_keys=True)
        return "backfill-" + hashlib.sha256(told.encode()).hexdigest()[:12]


def slices(spans: Sequence[Span], *, newest_first: bool) -> list[Span]:
    """The stretches cut at most a day long, in the order in which they are pulled."""
    cut = []
    for span in sorted(spans, key=lambda one: one.start):
        start = span.start
        while start < span.end:
            end = min(start + SLICE, span.end)
            cut.append(Span(start=start, end=end))
            start = end
    return cut[::-1] if newest_first else cut


async def run_backfill(
    service: Service,
    backfill: Backfill,
    evaluator: Evaluator,
    *,
    told: Callable[[Progress, int, int], None],
) -> tuple[Progress, Delivered, bool]:
    """Pull, judge and deliver every slice; returns what it came to and whether it is finished.

    `told` hears what it has come to, how many slices are done, and of how many. Slices that an earlier start finished
    are passed over. Stops when the budget is spent. Raises as the line does.
    """
    source, run_id = backfill.evaluator.source, backfill.run_id
    store, clock = service.store, service.clock
    if not await store.read(runs.list_runs, run_id=run_id):
        await store.write(
            runs.start, run_id, command="backfill", args=backfill.args, evaluator=backfill.evaluator.name, now=clock()
        )
    total, delivered = Progress(), Delivered()
    cut = slices(backfill.spans, newest_first=backfill.newest_first)
    finished = True
    for index, piece in enumerate(cut):
        place = f"backfill/{run_id}/{index:05d}"
        before = await store.read(cursors.places, place)
        if before and before[0].cursor == {"done": True}:
            told(total, index + 1, len(cut))
            continue
        now = clock()
        if not await store.write(cursors.acquire, place, owner=service.owner, now=now, until=now + LEASE):
            raise ConfigError(f"{run_id} is running in another process; wait for it or stop it")
        line = service.line(
            source, [evaluator], run_id=run_id, live=False, rate=backfill.sample, rescore=backfill.rescore
        )
        line.seen = partial(_tell, told, total, index, len(cut))
        try:
            left = None if backfill.limit is None else max(backfill.limit - total.enqueued, 0)
            if left == 0:
                break
            window = Window(start=piece.start, end=piece.end, newest_first=backfill.newest_first)
            progress = await line.turn(window, cursor_name=place, limit=left)
        finally:
            await store.write(cursors.release, place, owner=service.owner)
        total = total + progress
        delivered += await service.mail(source).deliver()
        await store.write(runs.note, run_id, counts=total.by_status, micro_dollars=total.micro_dollars)
        if progress.over_budget:
            finished = False
            break
        if left is None or progress.enqueued < left:
            await _mark_done(service, place, piece.end)
        told(total, index + 1, len(cut))
    if finished:
        await store.write(runs.end, run_id, outcome="done", now=clock())
        if backfill.gap_ids:
            await store.write(gaps.close, backfill.gap_ids, now=clock())
    else:
        await store.write(runs.end, run_id, outcome="stopped", message="the budget is spent", now=clock())
    return total, delivered, finished


def _tell(told: Callable[[Progress, int, int], None], before: Progress, done: int, of: int, progress: Progress) -> None:
    told(before + progress, done, of)


async def _mark_done(service: Service, place: str, end: datetime) -> None:
    now = service.clock()
    await service.store.write(cursors.acquire, place, owner=service.owner, now=now, until=now + LEASE)
    await service.store.write(
        cursors.advance, place, {"done": True}, reached=end, owner=service.owner, now=now, back=True
    )
    await service.store.write(cursors.release, place, owner=service.owner)
