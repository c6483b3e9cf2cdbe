"""One pull: history in slices, the last minutes as a whole, and the slow sweeps when they are due."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.cursor import Progress
from groundwire.connectors.given import Given
from groundwire.connectors.langfuse.place import Place
from groundwire.connectors.langfuse.reading import Bodies, Past, Recent, Slices
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.sweep import Sweep

__all__ = ["Look"]

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_GOAL = 4_000
"""Traces of a slice of history; the heads of them are held at once."""
_GOAL_BACKWARDS = 500
"""The same when going back in time, where a slice's bodies are held at once."""


@dataclass(kw_only=True)
class Look:
    """What one pull from a server with v2 observations gives."""

    bodies: Bodies
    settings: LangfuseSettings
    window: Window
    place: Place
    wanted: Wanted | None
    now: datetime
    page: int
    """Most traces of a page."""

    def __post_init__(self) -> None:
        self._settled = self.now - timedelta(seconds=self.settings.settle)
        self._lateness = timedelta(seconds=self.settings.settle + self.settings.lateness)
        self._rootless_after = timedelta(seconds=self.settings.rootless_after)
        longest = timedelta(seconds=self.settings.longest_trace)
        self._recent = Recent(bodies=self.bodies, longest=longest, rootless_after=self._rootless_after)
        self._past = Past(bodies=self.bodies, longest=longest)
        self._live = self.window.end is None and not self.window.newest_first

    async def run(self) -> AsyncIterator[Page]:
        """The pages; a last one without traces holds the cursor of the whole look."""
        start, end = self.place.progress.stretch(self.window, now=self._settled, lateness=self._lateness)
        end = min(end, self._settled)
        if self._live and self.place.finished_at is not None:
            start = max(start, self.place.finished_at - self._lateness)
        # traces without a root are given late, so that much is looked at as a whole
        changing = self.now - max(self._lateness, self._rootless_after + timedelta(minutes=1))
        split = min(max(changing, start), max(end, start))
        parts = [self._history(start, split), self._minutes(split, end)]
        for part in reversed(parts) if self.window.newest_first else parts:
            async for page in part:
                yield page
        place = self.place
        if self._live:
            async for page in self._sweeps(start, min(changing, end)):
                yield page
            place = replace(
                self.place,
                finished_at=self.now,
                rootless_upto=max(self.now - self._rootless_after, self._rootless_from(start)),
                hourly=self.place.hourly or self.now,
                daily=self.place.daily or self.now,
            )
        progress = place.progress.after((), self.window, looked_at=self.now, lateness=self._lateness)
        yield Page(traces=(), cursor=replace(place, progress=progress).as_cursor(), reached=max(start, end))

    async def _minutes(self, start: datetime, end: datetime) -> AsyncIterator[Page]:
        if start >= end:
            return
        fresh, open_since = await self._recent.look(
            start,
            end,
            now=self.now,
            progress=self.place.progress,
            rootless_from=self._rootless_from(start),
            open_since=self.place.open_since if self._live else None,
        )
        fresh.sort(key=lambda group: (group.at, group.trace_id), reverse=self.window.newest_first)
        for at in range(0, len(fresh), self.page):
            some = fresh[at : at + self.page]
            chosen = [group for group in some if self.bodies.wants(group, self.wanted)]
            read = await self.bodies.of(chosen)
            given = [
                self.bodies.given(group, read.get(group.trace_id), self.place.progress, rooted=group.root is not None)
                for group in some
            ]
            for page in self._pages(given):
                yield page
        if self._live:
            self.place = replace(self.place, open_since=open_since)

    async def _history(self, start: datetime, end: datetime) -> AsyncIterator[Page]:
        backwards = self.window.newest_first
        slices = Slices(goal=_GOAL_BACKWARDS if backwards else _GOAL)
        while start < end:
            since, until = (
                (max(end - slices.length, start), end) if backwards else (start, min(start + slices.length, end))
            )
            targets = await self._past.roots(since, until, most=10 * slices.goal)
            if targets is None:
                if slices.shorten():
                    continue
                targets = await self._past.roots(since, until, most=None) or {}
            held: list[Given] = []
            count = 0
            batches = self._past.read(targets, since, until, wanted=self.wanted, progress=self.place.progress)
            async for batch in batches:
                count += len(batch)
                if backwards:
                    held += batch
                    continue
                for page in self._pages(batch):
                    yield page
            held.sort(key=lambda given: (given.at, given.trace_id), reverse=True)
            for page in self._pages(held):
                yield page
            slices.learn(count)
            start, end = (start, since) if backwards else (until, end)

    async def _sweeps(self, start: datetime, end: datetime) -> AsyncIterator[Page]:
        hourly, daily = self.place.hourly, self.place.daily
        if hourly is None or daily is None or self.now - hourly < _HOUR:
            return
        whole_week = self.now - daily >= _DAY
        begin = self.place.progress.begin or start
        sweep = Sweep(bodies=self.bodies, lateness=self._lateness, rootless_after=self._rootless_after)
        batches = sweep.run(
            max(self.now - (_WEEK if whole_week else _DAY), begin),
            end,
            since=daily if whole_week else hourly,
            wanted=self.wanted,
            page=self.page,
        )
        async for batch in batches:
            for page in self._pages(batch):
                yield replace(page, reached=None)
        self.place = replace(self.place, hourly=self.now, daily=self.now if whole_week else daily)

    def _pages(self, batch: Sequence[Given]) -> Iterator[Page]:
        """Pages of what was looked at; each carries the cursor after it."""
        for at in range(0, len(batch), self.page):
            some = batch[at : at + self.page]
            marks = [given.mark for given in some if given.mark is not None]
            progress: Progress = self.place.progress.after(
                marks, self.window, looked_at=self.now, lateness=self._lateness
            )
            self.place = replace(self.place, progress=progress)
            yield Page(
                traces=tuple(given.trace for given in some if given.trace is not None),
                cursor=self.place.as_cursor(),
                reached=marks[-1].at if marks and not self.window.newest_first else None,
                problems=tuple(problem for given in some for problem in given.problems),
                seen=len(some),
            )

    def _rootless_from(self, start: datetime) -> datetime:
        return start if self.place.rootless_upto is None or not self._live else self.place.rootless_upto
