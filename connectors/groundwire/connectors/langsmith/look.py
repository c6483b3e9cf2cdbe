"""One pull: stretches of ends in order of time, then what is still pending, and the sweeps when they are due."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.given import Given
from groundwire.connectors.langsmith.bodies import AFTER, Bodies
from groundwire.connectors.langsmith.groups import Covered, Group
from groundwire.connectors.langsmith.place import Place
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.sweep import Sweep

__all__ = ["Look"]

_HOUR = timedelta(hours=1)
_DAY = timedelta(hours=26)
"""A little more than LangSmith takes runs late."""
_LONGEST_STRETCH = timedelta(hours=6)
_GOAL = 2_000
"""Traces of a stretch; their roots' heads are held at once."""


@dataclass(kw_only=True)
class Look:
    """What one pull gives."""

    bodies: Bodies
    settings: LangsmithSettings
    window: Window
    place: Place
    wanted: Wanted | None
    now: datetime
    page: int
    """Most traces of a page."""

    def __post_init__(self) -> None:
        self._settled = self.now - timedelta(seconds=self.settings.settle)
        self._lateness = timedelta(seconds=self.settings.settle + self.settings.lateness)
        self._longest = timedelta(seconds=self.settings.longest_trace)
        self._live = self.window.end is None and not self.window.newest_first
        self._roots = Covered(self.bodies.runs, roots=True, bodies=False)
        self._heads = Covered(self.bodies.runs, roots=False, bodies=False)

    async def run(self) -> AsyncIterator[Page]:
        """The pages; a last one without traces holds the cursor of the whole look."""
        start, end = self.place.progress.stretch(self.window, now=self._settled, lateness=self._lateness)
        end = min(end, self._settled)
        length = timedelta(minutes=10)
        at, until = start, end
        while at < until:
            begin, finish = (
                (max(until - length, at), until) if self.window.newest_first else (at, min(at + length, until))
            )
            ended = await self._ended(begin, finish)
            async for page in self._given(ended, begin, finish):
                yield page
            length *= 4.0 if len(ended) * 4 <= _GOAL else max(_GOAL / len(ended), 0.1)
            length = min(max(length, timedelta(seconds=1)), _LONGEST_STRETCH)
            at, until = (at, begin) if self.window.newest_first else (finish, until)
        async for page in self._pending(start, end):
            yield page
        if self._live:
            async for page in self._sweeps(end):
                yield page
        progress = self.place.progress.after((), self.window, looked_at=self.now, lateness=self._lateness)
        self.place = replace(self.place, progress=progress)
        yield Page(traces=(), cursor=self.place.as_cursor(), reached=max(start, end))

    async def _ended(self, start: datetime, end: datetime) -> list[Group]:
        """The traces whose root ended in the stretch, in the order in which they are given."""
        begin = start - self._longest
        if self._live and self.place.open_since is not None:
            begin = max(min(begin, self.place.open_since), self.now - _DAY)
        await self._roots.cover(begin, end)
        known = list(self._roots.groups.values())
        found = [group for group in known if (at := group.end) is not None and start <= at < end]
        passed = [group for group in known if (at := group.end) is not None and self._is_behind(at, start, end)]
        self._roots.drop(group.trace_id for group in (*found, *passed))
        return sorted(found, key=lambda group: (group.end or end, group.trace_id), reverse=self.window.newest_first)

    def _is_behind(self, at: datetime, start: datetime, end: datetime) -> bool:
        return at >= end if self.window.newest_first else at < start

    async def _given(self, ended: list[Group], start: datetime, end: datetime) -> AsyncIterator[Page]:
        fresh, density = ended, len(ended) / max((end - start).total_seconds(), 1.0)
        if self._live and end > self.now - self._lateness - timedelta(seconds=1):
            whole = await _with_all_heads(ended, self._heads, self.bodies, end=self.now, longest=self._longest)
            fresh = [group for group in whole if not self.place.progress.knows(group.trace_id, group.version)]
        for place in range(0, len(fresh), self.page):
            some = fresh[place : place + self.page]
            chosen = [group for group in some if self.bodies.wants(group, self.wanted)]
            read = await self.bodies.of(chosen, traces_per_second=density)
            looked = [self.bodies.given(group, read.get(group.trace_id)) for group in some]
            for page in self._pages(looked, fresh=True):
                yield page

    async def _pending(self, start: datetime, end: datetime) -> AsyncIterator[Page]:
        """Traces whose root has been pending for long, each once; the line waits for their end."""
        upto = min(self.now - timedelta(seconds=self.settings.pending_after), end)
        since = self.place.pending_upto if self._live and self.place.pending_upto is not None else start
        if since < upto:
            await self._roots.cover(since, upto)
        waiting = [group for group in self._roots.groups.values() if group.end is None and group.root is not None]
        some = sorted(
            (group for group in waiting if since <= group.start < upto),
            key=lambda group: (group.start, group.trace_id),
            reverse=self.window.newest_first,
        )
        for at in range(0, len(some), self.page):
            part = some[at : at + self.page]
            chosen = [group for group in part if self.bodies.wants(group, self.wanted)]
            read = await self.bodies.singly(chosen)
            looked = [self.bodies.given(group, read.get(group.trace_id)) for group in part]
            for page in self._pages(looked, fresh=False):
                yield page
        if self._live:
            self.place = replace(
                self.place,
                pending_upto=max(since, upto),
                open_since=min((group.start for group in waiting if group.start > self.now - _DAY), default=None),
            )

    async def _sweeps(self, end: datetime) -> AsyncIterator[Page]:
        hourly, daily = self.place.hourly, self.place.daily
        if hourly is None or daily is None or self.now - hourly < _HOUR:
            self.place = replace(self.place, hourly=hourly or self.now, daily=daily or self.now)
            return
        whole_day = self.now - daily >= timedelta(days=1)
        since = max(self.now - (_DAY if whole_day else 4 * _HOUR), self.place.progress.begin or end)
        sweep = Sweep(bodies=self.bodies, longest=self._longest, now=self.now)
        async for bucket, total, groups in sweep.changed(since, end - self._lateness, self.place.sums):
            for at in range(0, len(groups), self.page):
                some = groups[at : at + self.page]
                chosen = [group for group in some if self.bodies.wants(group, self.wanted)]
                read = await self.bodies.singly(chosen)
                looked = [self.bodies.given(group, read.get(group.trace_id)) for group in some]
                yield self._page(looked, reached=None)
            self.place = replace(self.place, sums=self.place.sums.replaced(bucket, total))
        self.place = replace(
            self.place,
            hourly=self.now,
            daily=self.now if whole_day else daily,
            sums=self.place.sums.since(self.now - _DAY),
        )

    def _pages(self, looked: Sequence[Given], *, fresh: bool) -> Iterator[Page]:
        """A page of what was looked at, which carries the cursor after it."""
        if not looked:
            return
        marks = [given.mark for given in looked if given.mark is not None]
        known = self.place.progress.seen
        again = {mark.trace_id for mark in marks if self.place.progress.knows(mark.trace_id, mark.version)}
        sums = self.place.sums
        for mark in marks if self._live else ():
            before = known[mark.trace_id].version if mark.trace_id in known else None
            sums = sums.given(mark.trace_id, mark.at, mark.version, before=before)
        progress = self.place.progress.after(marks, self.window, looked_at=self.now, lateness=self._lateness)
        self.place = replace(self.place, progress=progress, sums=sums)
        reached = marks[-1].at if fresh and marks and not self.window.newest_first else None
        yield self._page([given for given in looked if given.trace_id not in again], reached=reached)

    def _page(self, looked: Sequence[Given], *, reached: datetime | None) -> Page:
        return Page(
            traces=tuple(given.trace for given in looked if given.trace is not None),
            cursor=self.place.as_cursor(),
            reached=reached,
            problems=tuple(problem for given in looked for problem in given.problems),
            seen=len(looked),
        )


async def _with_all_heads(
    groups: Sequence[Group], heads: Covered, bodies: Bodies, *, end: datetime, longest: timedelta
) -> list[Group]:
    """The same traces with the heads of all their runs, so that a late or a changed one shows in their version."""
    if not groups:
        return []
    near = [group.start for group in groups if (group.end or group.start) - group.start <= longest]
    await heads.cover(min(near, default=end), end)
    whole = []
    for group in groups:
        found = heads.groups.get(group.trace_id)
        if found is None or found.root is None or heads.since is None or group.start < heads.since:
            around = (group.start - AFTER, end + AFTER)
            runs = await bodies.runs.of_trace(group.trace_id, around=around, bodies=False)
            found = Group(group.trace_id)
            for run in runs or group.runs:
                found.add(run)
        whole.append(found if found.root is not None else group)
    return whole
