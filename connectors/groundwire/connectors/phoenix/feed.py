"""One pull of what is new, in the order in which the server stored it: however late a span is, it comes in turn."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.cursor import ended_at
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Anchor, Place
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.spans import Row, Spans, digest_of, head_of, number_of
from groundwire.connectors.trace import Trace

__all__ = ["Feed"]

_A_CHUNK = 2_000
"""Spans that are held at once."""
_LONGEST = timedelta(days=1)
"""How much earlier than the beginning a span may have started and still be asked for."""

Stored = tuple[int, str]
"""A stored span's number and digest."""


@dataclass(kw_only=True)
class _Touched:
    """A trace of which spans were stored that weren't dealt with."""

    trace_id: str
    rows: list[Row] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)


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
        self._whole: dict[str, frozenset[Stored]] = {}
        """By trace id: the spans with which a trace was given by this pull."""
        if self.place.begin is None:
            start = self.window.start
            self.place = replace(self.place, begin=start, since=start - _LONGEST)

    async def run(self) -> AsyncIterator[Page]:
        """The pages; a last one without traces holds the cursor of the whole look."""
        newest = await self.spans.newest()
        looked_at = self.place.newest[-1][0] if self.place.newest else self.now
        held: list[Row] = []
        if newest is not None:
            self.place = self.place.looking(number_of(newest), now=self.now, overlap=self._overlap)
            first = True
            async for rows in self.spans.stored(since=self.place.since, at=self._floor_key()):
                if first and self._is_lost(rows):
                    break
                first = False
                held += rows
                if len(held) >= _A_CHUNK:
                    async for page in self._chunk(held):
                        yield page
                    held = []
            if first and self.place.floor is not None:
                self.place = self.place.restarted(looked_at - _LONGEST)
                async for page in self.run():
                    yield page
                return
            async for page in self._chunk(held):
                yield page
        async for page in self._due():
            yield page
        yield Page(traces=(), cursor=self.place.as_cursor(), reached=self.now - self._settle)

    def _floor_key(self) -> str | None:
        return None if self.place.floor is None else self.place.floor.key

    def _is_lost(self, rows: Sequence[Row]) -> bool:
        """Whether the floor isn't where it was: its span was deleted, and its number may be another's."""
        floor = self.place.floor
        return floor is not None and (
            not rows or (number_of(rows[0]), digest_of(rows[0])) != (floor.number, floor.digest)
        )

    async def _chunk(self, rows: Sequence[Row]) -> AsyncIterator[Page]:
        touched: dict[str, _Touched] = {}
        strays: list[Stored] = []
        for row in rows:
            stored = number_of(row), digest_of(row)
            if self.place.is_done(*stored):
                continue
            head = head_of(row)
            if head is None:
                strays.append(stored)
                continue
            trace = touched.setdefault(head.trace_id, _Touched(trace_id=head.trace_id))
            trace.rows.append(row)
            trace.stored.append(stored)
        self.place = self.place.done(strays)
        async for page in self._given(list(touched.values())):
            yield page
        final = self.place.final(now=self.now, overlap=self._overlap)
        passed = [row for row in rows if number_of(row) <= final]
        if passed:
            last = passed[-1]
            self.place = self.place.raised(
                Anchor(number=number_of(last), key=str(last.get("id")), digest=digest_of(last))
            )

    async def _due(self) -> AsyncIterator[Page]:
        due = [trace_id for trace_id, at in self.place.waiting.items() if at <= self.now]
        async for page in self._given([_Touched(trace_id=trace_id) for trace_id in due]):
            yield page

    async def _given(self, touched: Sequence[_Touched]) -> AsyncIterator[Page]:
        """Pages of those traces that have settled; the others wait."""
        fresh = [
            trace
            for trace in touched
            if not trace.stored or not self._whole.get(trace.trace_id, frozenset()).issuperset(trace.stored)
        ]
        self.place = self.place.done(stored for trace in touched if trace not in fresh for stored in trace.stored)
        partial = [trace for trace in fresh if not self._tells_all(trace)]
        for at in range(0, len(partial), self.page):
            whole = await self.spans.of_traces(trace.trace_id for trace in partial[at : at + self.page])
            for trace in partial[at : at + self.page]:
                trace.rows = whole.get(trace.trace_id, [])
        ready: list[tuple[datetime, _Touched, Trace]] = []
        for trace in fresh:
            head = trace_of(trace.rows, project=self.project) if trace.rows else None
            stands = None if head is None else ended_at(head)
            if head is None or stands is None or stands < (self.place.begin or stands):
                self._let_go(trace)
            elif (due := self._due_at(head)) > self.now:
                self._let_go(trace, until=due)
            else:
                ready.append((stands, trace, head))
        ready.sort(key=lambda one: (one[0], one[1].trace_id))
        for at in range(0, len(ready), self.page):
            yield await self._page(ready[at : at + self.page])

    async def _page(self, ready: Sequence[tuple[datetime, _Touched, Trace]]) -> Page:
        chosen = [trace.trace_id for _, trace, head in ready if self.wanted is None or self.wanted(head)]
        whole = await self.spans.of_traces(chosen)
        traces = []
        for _, touched, _ in ready:
            self._let_go(touched)
            rows = whole.get(touched.trace_id)
            if rows and (trace := trace_of(rows, project=self.project)) is not None:
                traces.append(trace)
                self._whole[touched.trace_id] = frozenset((number_of(row), digest_of(row)) for row in rows)
        return Page(traces=tuple(traces), cursor=self.place.as_cursor(), seen=len(ready))

    def _let_go(self, trace: _Touched, *, until: datetime | None = None) -> None:
        """Its spans are dealt with; it is looked at again at `until`, or when more of it is stored."""
        waiting = {key: at for key, at in self.place.waiting.items() if key != trace.trace_id}
        if until is not None:
            waiting[trace.trace_id] = until
        self.place = replace(self.place.done(trace.stored), waiting=waiting)

    def _tells_all(self, trace: _Touched) -> bool:
        """Whether the new spans alone tell the trace's head: its root is among them, and nothing came earlier."""
        return trace.trace_id not in self.place.waiting and any(
            head.parent_id is None for row in trace.rows if (head := head_of(row)) is not None
        )

    def _due_at(self, trace: Trace) -> datetime:
        root = trace.root
        last = max(span.end_time or span.start_time for span in trace.spans)
        ended = root is not None and root.parent_id is None and root.end_time is not None
        return last + (self._settle if ended else self._rootless)
