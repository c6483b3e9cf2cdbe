"""Traces read from a Phoenix project: what is new, what came late, and its history."""

from collections.abc import AsyncIterator, Mapping, Sequence

from pydantic import JsonValue

from groundwire.connectors.base import Finding, Origin, Page, Wanted, Window
from groundwire.connectors.given import not_found
from groundwire.connectors.phoenix.check import ORDERED_SINCE, findings
from groundwire.connectors.phoenix.feed import Feed
from groundwire.connectors.phoenix.history import History
from groundwire.connectors.phoenix.mapping import trace_of
from groundwire.connectors.phoenix.place import Place
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.spans import Spans
from groundwire.connectors.phoenix.wire import Wire
from groundwire.connectors.trace import Trace

__all__ = ["PhoenixSource"]


class PhoenixSource:
    """Where traces of a Phoenix project come from. Its repr shows the host alone."""

    def __init__(self, settings: PhoenixSettings, *, wire: Wire | None = None, page: int = 200) -> None:
        """`page` is the most traces of one page."""
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._spans = Spans(self._wire)
        self._page = page

    def __repr__(self) -> str:
        return f"PhoenixSource(host={self._settings.host!r})"

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """See `Source.pull`.

        An open window is read in the order in which the server stored its spans, so that nothing is too late; a
        closed one, one that goes back, and any on a server older than 20.16, by the ends of roots.
        """
        project, _ = await self._wire.project()
        version = self._wire.version
        is_open = window.end is None and not window.newest_first
        look = (Feed if is_open and version is not None and version >= ORDERED_SINCE else History)(
            spans=self._spans,
            settings=self._settings,
            project=project,
            window=window,
            place=Place.of(cursor),
            wanted=wanted,
            now=self._wire.now(),
            page=self._page,
        )
        async for page in look.run():
            yield page

    async def fetch(self, origin: Origin) -> Trace:
        """See `Source.fetch`."""
        project, _ = await self._wire.project()
        rows = (await self._spans.of_traces([origin.trace_id])).get(origin.trace_id)
        trace = trace_of(rows, project=project) if rows else None
        if trace is None:
            raise not_found(origin, platform="Phoenix", now=self._wire.now())
        return trace

    async def fetch_session(self, session_id: str) -> tuple[Trace, ...]:
        """The traces of a session as they stand now, in time order; none where there is no such session.

        Raises as `fetch` does.
        """
        project, _ = await self._wire.project()
        found = await self._spans.of_traces(await self._spans.of_session(session_id))
        traces = [trace for rows in found.values() if (trace := trace_of(rows, project=project)) is not None]
        return tuple(sorted(traces, key=lambda trace: (trace.spans[0].start_time, trace.trace_id)))

    async def check(self) -> Sequence[Finding]:
        """See `Source.check`."""
        return await findings(self._wire, writes=False)

    async def close(self) -> None:
        """See `Source.close`."""
        await self._wire.close()
