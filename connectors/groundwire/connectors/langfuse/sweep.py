"""The slow look over the last day or week for what was written long after it ended: late roots, late rows."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from groundwire.connectors.base import Wanted
from groundwire.connectors.cursor import Progress
from groundwire.connectors.given import Given
from groundwire.connectors.langfuse.groups import Group, by_trace, is_late
from groundwire.connectors.langfuse.reading import Bodies, Slices

__all__ = ["Sweep"]

_CLOSED_AFTER = timedelta(hours=1)
"""A trace whose last row is this much older than what is being read has shown all its rows."""
_ROWS = 5_000
_LAG = timedelta(minutes=2)
"""How far back of the last sweep a row may have been written and not been seen by it."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Looks at the heads of all rows in a stretch of time."""

    bodies: Bodies
    lateness: timedelta
    """After its end a trace with a root is looked at that long by every look."""
    rootless_after: timedelta

    async def run(
        self, start: datetime, end: datetime, *, since: datetime, wanted: Wanted | None, page: int
    ) -> AsyncIterator[list[Given]]:
        """Traces that ended in `[start, end)` and were written to since the last sweep, when no look saw it."""
        slices = Slices(goal=_ROWS)
        open_groups: dict[str, Group] = {}
        late: list[Group] = []
        at = start
        while at < end:
            until = min(at + slices.length, end)
            rows = await self.bodies.rows.started(at, until, bodies=False, most=10 * _ROWS)
            if rows is None:
                if slices.shorten():
                    continue
                rows = await self.bodies.rows.started(at, until, bodies=False) or []
            slices.learn(len(rows))
            by_trace(rows, open_groups)
            closed = [group for group in open_groups.values() if group.last < until - _CLOSED_AFTER or until == end]
            for group in closed:
                del open_groups[group.trace_id]
                after = self.lateness if group.root is not None else self.rootless_after
                if start <= group.at < end and is_late(group, since=since - _LAG, after=after):
                    late.append(group)
            while len(late) >= page or (late and until == end):
                some, late = late[:page], late[page:]
                yield await self._read(some, wanted)
            at = until

    async def _read(self, groups: list[Group], wanted: Wanted | None) -> list[Given]:
        chosen = [group for group in groups if self.bodies.wants(group, wanted)]
        read = await self.bodies.singly(chosen)
        nothing = Progress()
        return [
            self.bodies.given(group, read[group.trace_id], nothing, rooted=False)
            for group in chosen
            if group.trace_id in read
        ]
