"""The slow look over the last hours or the last day, for what was written long after a trace ended."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from groundwire.connectors.langsmith.bodies import AFTER, Bodies
from groundwire.connectors.langsmith.groups import Covered, Group
from groundwire.connectors.langsmith.place import BUCKET, Sums, bucket_of

__all__ = ["Sweep"]

_TICK = timedelta(microseconds=1)
_LONG = timedelta(hours=24)
"""How long a trace may last and be found by a sweep."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Looks at the heads of all runs in a stretch of time."""

    bodies: Bodies
    longest: timedelta
    """A trace that lasted longer has its heads read by itself."""
    now: datetime

    async def changed(self, start: datetime, end: datetime, sums: Sums) -> AsyncIterator[tuple[int, int, list[Group]]]:
        """The ten-minute stretches between `start` and `end` that don't hold what was given.

        Each as its number, the sum of what it holds now, and its traces in the order of their ends.
        """
        first, last = bucket_of(start + BUCKET - _TICK), bucket_of(end)  # whole stretches only
        roots = Covered(self.bodies.runs, roots=True, bodies=False)
        heads = Covered(self.bodies.runs, roots=False, bodies=False)
        for bucket in range(first, last):
            begin = datetime.fromtimestamp(bucket * BUCKET.total_seconds(), UTC)
            finish = begin + BUCKET
            await roots.cover(begin - _LONG, finish)
            ended = [group for group in roots.groups.values() if (at := group.end) is not None and begin <= at < finish]
            roots.drop([key for key, group in roots.groups.items() if (at := group.end) is not None and at < finish])
            whole = await self._whole(ended, heads, begin, finish)
            heads.drop([key for key, group in heads.groups.items() if _is_over(group, begin - self.longest)])
            total = Sums.of({group.trace_id: group.version for group in whole})
            if total != sums.by_bucket.get(bucket, 0):
                yield bucket, total, sorted(whole, key=lambda group: (group.end or finish, group.trace_id))

    async def _whole(self, ended: list[Group], heads: Covered, begin: datetime, finish: datetime) -> list[Group]:
        if not ended:
            return []
        await heads.cover(begin - self.longest, finish + BUCKET)
        whole = []
        for group in ended:
            found = heads.groups.get(group.trace_id)
            if found is None or found.root is None:
                around = (group.start - AFTER, self.now + AFTER)
                found = Group(group.trace_id)
                for run in await self.bodies.runs.of_trace(group.trace_id, around=around, bodies=False) or group.runs:
                    found.add(run)
            whole.append(found)
        return whole


def _is_over(group: Group, before: datetime) -> bool:
    at = group.end
    return (at or group.start) < before
