"""One pull by time: traces in the order in which their roots ended, forwards or back."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from groundwire.connectors.base import Page, Wanted, Window
from groundwire.connectors.cursor import Mark
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Place
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.spans import Head, Spans

__all__ = ["History"]

_LONGEST_STRETCH = timedelta(hours=6)
_GOAL = 2_000
"""Traces of a stretch; the heads of their spans are held at once."""


@dataclass(kw_only=True)
class History:
    """What one pull gives of a window, by the ends of roots."""

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
        self._settled = self.now - timedelta(seconds=self.settings.settle)
        self._lateness = timedelta(seconds=self.settings.settle + self.settings.lateness)
        self._longest = timedelta(seconds=self.settings.longest_trace)
        self._held: dict[str, list[Head]] = {}
        self._covered: tuple[datetime, datetime] | None = None

    async def run(self) -> AsyncIterator[Page]:
        """The pages; a last one without traces holds the cursor of the whole look."""
        start, end = self.place.progress.stretch(self.window, now=self._settled, lateness=self._lateness)
        end = min(end, self._settled)
        at, until = start, end
        length = timedelta(minutes=10)
        while at < until:
            back = self.window.newest_first
            begin, finish = (max(until - length, at), until) if back else (at, min(at + length, until))
            ended = await self._ended(begin, finish)
            for place in range(0, len(ended), self.page):
                yield await self._given(ended[place : place + self.page])
            length *= 4.0 if len(ended) * 4 <= _GOAL else max(_GOAL / len(ended), 0.1)
            length = min(max(length, timedelta(seconds=1)), _LONGEST_STRETCH)
            at, until = (at, begin) if back else (finish, until)
        progress = self.place.progress.after((), self.window, looked_at=self.now, lateness=self._lateness)
        self.place = replace(self.place, progress=progress)
        yield Page(traces=(), cursor=self.place.as_cursor(), reached=max(start, end))

    async def _ended(self, start: datetime, end: datetime) -> list[Mark]:
        """The traces that stand in the stretch and weren't given as they are, in the order in which they are given."""
        await self._cover(start - self._longest, end)
        standing = {trace_id: _stands(heads) for trace_id, heads in self._held.items()}
        found = [
            Mark(trace_id=trace_id, at=at, version=_version(self._held[trace_id]))
            for trace_id, at in standing.items()
            if start <= at < end
        ]
        back = self.window.newest_first
        for trace_id, at in standing.items():
            if at >= start if back else at < end:
                del self._held[trace_id]
        fresh = [mark for mark in found if not self.place.progress.knows(mark.trace_id, mark.version)]
        return sorted(fresh, key=lambda mark: (mark.at, mark.trace_id), reverse=back)

    async def _cover(self, start: datetime, end: datetime) -> None:
        """Hold the heads of the traces that started in the stretch; each moment is asked for once."""
        known = self._covered
        if known is None:
            asked = [(start, end)]
        else:
            asked = [(start, known[0])] if start < known[0] else []
            asked += [(known[1], end)] if end > known[1] else []
        for begin, finish in asked:
            self._held |= await self.spans.heads(begin, finish)
        self._covered = (start, end) if known is None else (min(start, known[0]), max(end, known[1]))

    async def _given(self, marks: Sequence[Mark]) -> Page:
        whole = await self.spans.of_traces(mark.trace_id for mark in marks)
        traces = [
            trace
            for mark in marks
            if (rows := whole.get(mark.trace_id)) and (trace := trace_of(rows, project=self.project)) is not None
        ]
        wanted = self.wanted
        progress = self.place.progress.after(marks, self.window, looked_at=self.now, lateness=self._lateness)
        self.place = replace(self.place, progress=progress)
        return Page(
            traces=tuple(trace for trace in traces if wanted is None or wanted(trace)),
            cursor=self.place.as_cursor(),
            reached=None if self.window.newest_first else marks[-1].at,
            seen=len(marks),
        )


def _stands(heads: Sequence[Head]) -> datetime:
    """Where a trace stands in time: its root's end; without a root, the last moment any span shows."""
    known = {head.span_id for head in heads}
    ordered = sorted(heads, key=lambda head: (head.start, head.end or head.start, head.span_id))
    root = next((head for head in ordered if head.parent_id is None or head.parent_id not in known), ordered[0])
    return root.end or max(head.end or head.start for head in heads)


def _version(heads: Sequence[Head]) -> str:
    """A digest that differs once a span was added or stored anew."""
    states = sorted(f"{head.number}:{head.span_id}" for head in heads)
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:16]
