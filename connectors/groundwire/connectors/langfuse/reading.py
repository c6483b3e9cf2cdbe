"""A stretch of time turned into whole traces: `Recent` for what may still change, `Past` for the rest."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from groundwire.connectors.base import Wanted
from groundwire.connectors.cursor import Mark, Progress
from groundwire.connectors.given import Given
from groundwire.connectors.langfuse.groups import Group, by_trace, lacks_rows, reach
from groundwire.connectors.langfuse.mapping import problems_of, trace_of
from groundwire.connectors.langfuse.rows import Row, Rows

__all__ = ["Bodies", "Past", "Recent", "Slices"]

_AFTER = timedelta(seconds=60)
"""How long after a trace's end its last rows may begin and still be read with it; later ones are a sweep's."""
_AN_HOUR = timedelta(hours=1)
_TICK = timedelta(milliseconds=1)
_PAGES_A_CHUNK = 5
"""Requests that one stretch of bodies is meant to take: what is held in memory, against what half-full pages cost."""


class Bodies:
    """Reads whole traces in as few requests as can be."""

    def __init__(self, rows: Rows, *, project: str, now: Callable[[], datetime]) -> None:
        self.rows = rows
        self.project = project
        self._now = now

    async def of(self, groups: Sequence[Group]) -> dict[str, list[Row]]:
        """The rows of these traces, of which some rows are known already. A trace that is gone is left out."""
        if not groups:
            return {}
        end = max(group.last for group in groups) + _TICK
        start = min(group.first for group in groups)
        known = sum(len(group.rows) for group in groups)
        way = reach(
            {group.trace_id: group.first for group in groups},
            end,
            rows_per_second=known / max((end - start).total_seconds(), 0.001),
            rows_a_request=self.rows.a_page,
        )
        found: dict[str, Group] = {}
        if way.start is not None:
            by_trace(await self.rows.started(way.start, end, bodies=True) or [], found)
        whole = {
            group.trace_id: found[group.trace_id].rows
            for group in groups
            if group.trace_id in found
            and group.trace_id not in way.singles
            and len(found[group.trace_id].rows) >= len(group.rows)
        }
        return whole | await self.singly([group for group in groups if group.trace_id not in whole])

    async def singly(self, groups: Iterable[Group]) -> dict[str, list[Row]]:
        """The rows of these traces, one request each. A trace that is gone is left out."""
        asked = list(groups)
        read = await asyncio.gather(*(self._one(group) for group in asked))
        return {group.trace_id: rows for group, rows in zip(asked, read, strict=True) if rows}

    async def _one(self, group: Group) -> list[Row]:
        return await self.rows.of_trace(
            group.trace_id, around=(group.first - _AN_HOUR, max(self._now(), group.last) + _AN_HOUR)
        )

    def given(self, group: Group, rows: Sequence[Row] | None, progress: Progress, *, rooted: bool) -> Given:
        """What becomes of a trace: `rows` is None where nobody wants it."""
        whole = group
        if rows is not None:
            whole = by_trace(rows).get(group.trace_id, group)
        # a root that came with the rest moves nothing: what lies between is still to be given
        mark = Mark(trace_id=group.trace_id, at=group.at, version=whole.stamp) if rooted else None
        if rows is None or (rooted and progress.knows(group.trace_id, whole.stamp)):
            return Given(trace_id=group.trace_id, at=group.at, mark=mark, trace=None)
        return Given(
            trace_id=group.trace_id,
            at=group.at,
            mark=mark,
            trace=trace_of(whole.rows, origin=self.project),
            problems=problems_of(whole.rows),
        )

    def wants(self, group: Group, wanted: Wanted | None) -> bool:
        """Whether the trace with these rows is wanted."""
        if wanted is None:
            return True
        head = trace_of(group.rows, origin=self.project)
        return head is not None and wanted(head)


@dataclass(frozen=True, kw_only=True)
class Recent:
    """The last minutes: all rows' heads are looked at, so that a late or changed row is seen at once."""

    bodies: Bodies
    longest: timedelta
    rootless_after: timedelta

    async def look(
        self,
        start: datetime,
        end: datetime,
        *,
        now: datetime,
        progress: Progress,
        rootless_from: datetime,
        open_since: datetime | None,
    ) -> tuple[list[Group], datetime | None]:
        """Traces that ended in `[start, end)` and were not given as they are; and since when some are still open.

        Among them are traces without a root whose last row is `rootless_after` old, and not before `rootless_from`.
        """
        rows = self.bodies.rows
        groups = by_trace(await rows.roots(start, end, longest=self.longest) or [])
        lasted = [length for group in groups.values() if (length := group.last - group.first) <= self.rootless_after]
        begin = start - max(lasted, default=timedelta(0)) - _TICK
        if open_since is not None:
            begin = max(min(begin, open_since), now - self.longest)
        by_trace(await rows.started(begin, now, bodies=False) or [], groups)
        fresh: list[Group] = []
        still_open: list[datetime] = []
        for group in groups.values():
            if group.root is not None:
                if start <= group.at < end and not progress.knows(group.trace_id, group.stamp):
                    fresh.append(group)
            elif group.last < now - self.rootless_after:
                if rootless_from <= group.last < end:
                    fresh.append(group)
            else:
                still_open.append(group.first)
        return fresh, min(still_open, default=None)


@dataclass(kw_only=True)
class Slices:
    """How long a stretch of history is taken at once: so long that it holds about `goal` traces."""

    goal: int
    length: timedelta = _AN_HOUR

    def learn(self, traces: int) -> None:
        """A slice of this length held so many."""
        factor = 8.0 if traces * 8 <= self.goal else max(self.goal / traces, 0.125)
        self._scale(factor)

    def shorten(self) -> bool:
        """A slice of this length held far too many; False where it can't be any shorter."""
        if self.length <= timedelta(seconds=10):
            return False
        self._scale(0.1)
        return True

    def _scale(self, factor: float) -> None:
        seconds = min(max(self.length.total_seconds() * factor, 1.0), 4e9)
        self.length = timedelta(seconds=seconds)


@dataclass(kw_only=True)
class Past:
    """History: root rows say what there is, then everything that ran then is read in its order."""

    bodies: Bodies
    longest: timedelta
    rows_a_trace: float = 8.0
    """As last seen."""

    async def roots(self, start: datetime, end: datetime, *, most: int | None) -> dict[str, Group] | None:
        """The traces whose root ended in `[start, end)`, by id; None where there are more than `most`."""
        found = await self.bodies.rows.roots(start, end, longest=self.longest, most=most)
        if found is None:
            return None
        return {key: group for key, group in by_trace(found).items() if start <= group.at < end}

    async def read(
        self, targets: dict[str, Group], start: datetime, end: datetime, *, wanted: Wanted | None, progress: Progress
    ) -> AsyncIterator[list[Given]]:
        """The traces of the slice in the order in which they ended, some at a time.

        `targets` are those with a root; those without are found on the way.
        """
        chosen = {key: group for key, group in targets.items() if self.bodies.wants(group, wanted)}
        expected = max(len(targets), 1) * self.rows_a_trace
        rate = expected / max((end - start).total_seconds(), 1.0)
        whole = len(chosen) >= max(expected / self.bodies.rows.a_page, 1.0)
        way = reach({key: group.first for key, group in chosen.items()}, end, rows_per_second=rate, rows_a_request=1000)
        begin = min(start, way.start) if whole and way.start is not None else start
        gathered: dict[str, Group] = {}
        foreign: set[str] = set()
        left = dict(targets)
        at, count = begin, 0
        while at < end:
            a_chunk = _PAGES_A_CHUNK * (self.bodies.rows.a_page if whole else 1000)
            until = at + min(timedelta(seconds=min(max(a_chunk / rate, 1.0), 4e9)), end - at)
            upto = until if until < end else end + _AFTER
            most = 2 * a_chunk if until - at > timedelta(seconds=1) else None
            rows = await self.bodies.rows.started(at, upto, bodies=whole, most=most)
            if rows is None:  # far denser than the average: take less
                rate = 4 * max(rate, a_chunk / (until - at).total_seconds())
                continue
            by_trace((row for row in rows if row.get("traceId") not in foreign), gathered)
            count += len(rows)
            rate = max(count / (upto - begin).total_seconds(), 1e-6)
            for key in [key for key, group in gathered.items() if group.root is not None and key not in left]:
                foreign.add(key)
                del gathered[key]
            ready = end if until == end else until - _AFTER
            due = [group for group in left.values() if group.at < ready]
            loose = [
                group
                for key, group in gathered.items()
                if key not in targets and group.root is None and group.last < ready
            ]
            yield await self._finished(due, loose, gathered, chosen, begin, start, whole, wanted, progress)
            for group in (*due, *loose):
                left.pop(group.trace_id, None)
                gathered.pop(group.trace_id, None)
                foreign.add(group.trace_id)
            at = until
        if targets and count:
            self.rows_a_trace = max(count / len(targets), 1.0)

    async def _finished(
        self,
        due: list[Group],
        loose: list[Group],
        gathered: dict[str, Group],
        chosen: dict[str, Group],
        begin: datetime,
        start: datetime,
        whole: bool,
        wanted: Wanted | None,
        progress: Progress,
    ) -> list[Given]:
        read: dict[str, list[Row]] = {}
        alone: list[Group] = []
        for group in due:
            if group.trace_id not in chosen:
                continue
            rows = gathered[group.trace_id].rows if group.trace_id in gathered else []
            if not whole or group.first < begin or lacks_rows(rows):
                alone.append(group)
            else:
                read[group.trace_id] = rows
        mine = [group for group in loose if group.last >= start]
        strays = {group.trace_id: group for group in mine if self.bodies.wants(group, wanted)}
        for group in strays.values():
            # its root, or more of its rows, may stand before what was read
            if not whole or group.first < begin + _AFTER:
                alone.append(group)
            else:
                read[group.trace_id] = group.rows
        read |= await self.bodies.singly(alone)
        given = [
            self.bodies.given(group, read.get(group.trace_id), progress, rooted=True)
            for group in sorted(due, key=lambda group: (group.at, group.trace_id))
        ]
        given += [
            self.bodies.given(group, read[group.trace_id], progress, rooted=False)
            for group in strays.values()
            if group.trace_id in read and by_trace(read[group.trace_id])[group.trace_id].root is None
        ]
        return given
