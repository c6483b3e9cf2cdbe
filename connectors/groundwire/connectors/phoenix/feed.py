"""One pull of what is new, in the order in which the server stored it: however late a span is, it comes in turn."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.cursor import ended_at
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Place
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.spans import Row, Spans, Stored, stored
from groundwire.connectors.trace import Trace

__all__ = ["Feed"]

_A_CHUNK = 2_000
"""Spans that are held at once."""
_LONGEST = timedelta(days=1)
"""How much earlier than the beginning a span may have started and still be asked for."""


@dataclass(kw_only=True)
class _Touched:
    """A trace, and those of its spans that weren't dealt with."""

    trace_id: str
    new: list[Stored] = field(default_factory=list)


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
        """By trace id: number and digest of the spans with which a trace was given by this pull."""
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
        touched: dict[str, _Touched] = {}
        for span in spans:
            if self.place.is_done(span):
                continue
            if span.head is None:
                self.place = self.place.done((span,))
                continue
            touched.setdefault(span.head.trace_id, _Touched(trace_id=span.head.trace_id)).new.append(span)
        async for page in self._settled(list(touched.values())):
            yield page
        final = self.place.final(now=self.now, overlap=self._overlap)
        passed = [span for span in spans if span.number <= final]
        if passed:
            self.place = self.place.raised(passed[-1])

    async def _due(self) -> AsyncIterator[Page]:
        due = [trace_id for trace_id, at in self.place.waiting.items() if at <= self.now]
        async for page in self._settled([_Touched(trace_id=trace_id) for trace_id in due]):
            yield page

    async def _settled(self, touched: Sequence[_Touched]) -> AsyncIterator[Page]:
        """Pages of those traces that have settled; the others wait."""
        ready: list[tuple[datetime, _Touched, Trace]] = []
        for at in range(0, len(touched), self.page):
            some = touched[at : at + self.page]
            heads = await self._heads(some)
            for trace in some:
                head = heads.get(trace.trace_id)
                stands = None if head is None else ended_at(head)
                if head is None or stands is None or stands < (self.place.begin or stands) or self._was_given(trace):
                    self._let_go(trace)
                elif (due := self._due_at(head)) > self.now:
                    self._let_go(trace, until=due)
                else:
                    ready.append((stands, trace, head))
        ready.sort(key=lambda one: (one[0], one[1].trace_id))
        for at in range(0, len(ready), self.page):
            yield await self._page(ready[at : at + self.page])

    async def _heads(self, touched: Sequence[_Touched]) -> dict[str, Trace]:
        """The heads of those traces; asked for where the new spans alone don't tell it."""
        rows: dict[str, Sequence[Row]] = {
            trace.trace_id: [span.row for span in trace.new] for trace in touched if self._tells_all(trace)
        }
        whole = await self.spans.of_traces(trace.trace_id for trace in touched if trace.trace_id not in rows)
        rows |= {trace_id: [stored(row).row for row in found] for trace_id, found in whole.items()}
        heads = {trace_id: trace_of(found, project=self.project) for trace_id, found in rows.items()}
        return {trace_id: head for trace_id, head in heads.items() if head is not None}

    async def _page(self, ready: Sequence[tuple[datetime, _Touched, Trace]]) -> Page:
        chosen = [trace.trace_id for _, trace, head in ready if self.wanted is None or self.wanted(head)]
        whole = await self.spans.of_traces(chosen)
        traces = []
        for _, touched, _ in ready:
            self._let_go(touched)
            rows = whole.get(touched.trace_id)
            if rows and (trace := trace_of(rows, project=self.project)) is not None:
                traces.append(trace)
                found = map(stored, rows)
                self._given[touched.trace_id] = frozenset((span.number, span.digest) for span in found)
        return Page(traces=tuple(traces), cursor=self.place.as_cursor(), seen=len(ready))

    def _let_go(self, trace: _Touched, *, until: datetime | None = None) -> None:
        """Its spans are dealt with; it is looked at again at `until`, or when more of it is stored."""
        waiting = {key: at for key, at in self.place.waiting.items() if key != trace.trace_id}
        if until is not None:
            waiting[trace.trace_id] = until
        self.place = replace(self.place.done(trace.new), waiting=waiting)

    def _was_given(self, trace: _Touched) -> bool:
        """Whether this pull has given the trace with these spans: it lies across two chunks."""
        given = self._given.get(trace.trace_id, frozenset())
        return bool(trace.new) and given.issuperset((span.number, span.digest) for span in trace.new)

    def _tells_all(self, trace: _Touched) -> bool:
        """Whether the new spans alone tell the trace's head: its root is among them, and nothing came earlier."""
        return trace.trace_id not in self.place.waiting and any(
            span.head is not None and span.head.parent_id is None for span in trace.new
        )

    def _due_at(self, trace: Trace) -> datetime:
        root = trace.root
        last = max(span.end_time or span.start_time for span in trace.spans)
        ended = root is not None and root.parent_id is None and root.end_time is not None
        return last + (self._settle if ended else self._rootless)
