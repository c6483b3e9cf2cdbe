"""One pull of what is new, in the order in which the server stored it: however late a span is, it comes in turn."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.cursor import ended_at
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Place
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.spans import Spans, Stored, stored
from groundwire.connectors.trace import Trace

__all__ = ["Feed"]

_A_CHUNK = 2_000
"""Spans that are held at once."""
_LONGEST = timedelta(days=1)
"""How much earlier than the beginning a span may have started and still be asked for."""
_REMEMBERED = 20_000
"""Traces that a pull remembers to have given; one that is forgotten may be given again, which changes nothing."""


@dataclass(kw_only=True)
class Feed:
    """What one pull gives of an open window."""

    spans: Spans
    settings: PhoenixSettings
    project: str
    window: Window
    place: Place
    wanted: Wanted | None
    now: datetime
    page: int
    """Most traces of a page."""

    def __post_init__(self) -> None:
        self._settle = timedelta(seconds=self.settings.settle)
        self._overlap = timedelta(seconds=self.settings.overlap)
        self._rootless = timedelta(seconds=self.settings.rootless_after)
        self._given: dict[str, frozenset[tuple[int, str]]] = {}
        """By trace id: number and digest of the spans with which this pull gave a trace, or nobody wanted it."""
        if self.place.begin is None:
            start = self.window.start
            self.place = replace(self.place, begin=start, since=start - _LONGEST)

    async def run(self) -> AsyncIterator[Page]:
        """The pages; a last one without traces holds the cursor of the whole look."""
        looked_at = self.place.newest[-1][0] if self.place.newest else self.now
        newest = await self.spans.newest()
        if newest:
            self.place = self.place.looking(newest, now=self.now, overlap=self._overlap)
            if not await self._floor_stands():
                self.place = self.place.restarted(looked_at - _LONGEST)
                self.place = self.place.looking(newest, now=self.now, overlap=self._overlap)
            async for page in self._new():
                yield page
        elif self.place.floor is not None:
            self.place = self.place.restarted(looked_at - _LONGEST)
        async for page in self._due():
            yield page
        yield Page(traces=(), cursor=self.place.as_cursor(), reached=self.now - self._settle)

    async def _floor_stands(self) -> bool:
        """Whether the floor is where it was. Once its span was deleted, its number may be another's."""
        floor = self.place.floor
        if floor is None:
            return True
        found = await self.spans.at(floor.key)
        return found is not None and (found.number, found.digest) == (floor.number, floor.digest)

    async def _new(self) -> AsyncIterator[Page]:
        held: list[Stored] = []
        floor = self.place.floor
        async for spans in self.spans.stored(since=self.place.since, at=None if floor is None else floor.key):
            held += spans
            if len(held) >= _A_CHUNK:
                async for page in self._chunk(held):
                    yield page
                held = []
        async for page in self._chunk(held):
            yield page

    async def _chunk(self, spans: Sequence[Stored]) -> AsyncIterator[Page]:
        if len(self._given) > _REMEMBERED:
            self._given.clear()
        touched: dict[str, list[Stored]] = {}
        for span in spans:
            if not self.place.is_done(span):
                touched.setdefault(span.trace_id, []).append(span)
        self.place = self.place.done(touched.pop("", ()))
        async for page in self._settled(touched):
            yield page
        final = self.place.final(now=self.now, overlap=self._overlap)
        passed = [span for span in spans if span.number <= final]
        if passed:
            self.place = self.place.raised(passed[-1])

    async def _due(self) -> AsyncIterator[Page]:
        due = [trace_id for trace_id, at in self.place.waiting.items() if at <= self.now]
        async for page in self._settled(dict.fromkeys(due, ())):
            yield page

    async def _settled(self, touched: Mapping[str, Sequence[Stored]]) -> AsyncIterator[Page]:
        """Pages of the traces that have settled, whole; the others wait. By trace id: the spans that are new."""
        left = [trace_id for trace_id, new in touched.items() if not self._was_given(trace_id, new)]
        self.place = self.place.done(span for trace_id in touched if trace_id not in left for span in touched[trace_id])
        for at in range(0, len(left), self.page):
            some = left[at : at + self.page]
            whole = await self.spans.of_traces(some)
            given: list[Trace] = []
            seen = 0
            for trace_id in some:
                rows = whole.get(trace_id, [])
                trace = trace_of(rows, project=self.project) if rows else None
                due = None if trace is None else self._due_at(trace)
                waits = due is not None and due > self.now
                self.place = self.place.done(touched[trace_id]).awaiting(trace_id, due if waits else None)
                if trace is None or waits or not self._is_new(trace):
                    continue
                seen += 1
                self._given[trace_id] = frozenset((span.number, span.digest) for span in map(stored, rows))
                if self.wanted is None or self.wanted(trace):
                    given.append(trace)
            if seen:
                yield Page(traces=tuple(given), cursor=self.place.as_cursor(), seen=seen)

    def _was_given(self, trace_id: str, new: Sequence[Stored]) -> bool:
        """Whether this pull is through with the trace and these spans: it lies across two chunks."""
        given = self._given.get(trace_id, frozenset())
        return bool(new) and given.issuperset((span.number, span.digest) for span in new)

    def _is_new(self, trace: Trace) -> bool:
        """Whether it ended after the beginning."""
        at = ended_at(trace)
        return at is not None and (self.place.begin is None or at >= self.place.begin)

    def _due_at(self, trace: Trace) -> datetime:
        root = trace.root
        last = max(span.end_time or span.start_time for span in trace.spans)
        ended = root is not None and root.parent_id is None and root.end_time is not None
        return last + (self._settle if ended else self._rootless)
