"""Traces read from a Langfuse project: what is new, what changed, what came late, and its history."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from pydantic import JsonValue

from groundwire.connectors.base import Finding, Origin, Page, Wanted, Window
from groundwire.connectors.given import not_found
from groundwire.connectors.langfuse.check import findings
from groundwire.connectors.langfuse.generation import Server
from groundwire.connectors.langfuse.groups import by_trace, lacks_rows
from groundwire.connectors.langfuse.legacy import LOOK_BACK, LegacyTraces
from groundwire.connectors.langfuse.look import Look
from groundwire.connectors.langfuse.mapping import trace_of
from groundwire.connectors.langfuse.place import Place
from groundwire.connectors.langfuse.reading import Bodies
from groundwire.connectors.langfuse.rows import Rows
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.wire import Wire
from groundwire.connectors.trace import Trace
from groundwire.scorer import SkipThis

__all__ = ["LangfuseSource"]

_HOUR = timedelta(hours=1)


class LangfuseSource:
    """Where traces of a Langfuse project come from. Its repr shows the host alone."""

    def __init__(self, settings: LangfuseSettings, *, wire: Wire | None = None, page: int = 250) -> None:
        """`page` is the most traces of one page."""
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._server = Server(self._wire)
        self._rows = Rows(self._wire, self._server, expand=settings.expand_metadata)
        self._page = page
        self._settle = timedelta(seconds=settings.settle)

    def __repr__(self) -> str:
        return f"LangfuseSource(host={self._settings.host!r})"

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """See `Source.pull`. With an open end, also what the hourly and the daily sweep find."""
        generation = await self._server.generation()
        project = (await self._wire.project()).project_id
        place = Place.of(cursor)
        if generation.reads == "legacy":
            looking = self._legacy(window, place, project, wanted)
        else:
            looking = Look(
                bodies=Bodies(self._rows, project=project, now=self._wire.now),
                settings=self._settings,
                window=window,
                place=place,
                wanted=wanted,
                now=self._wire.now(),
                page=self._page,
            ).run()
        async for page in looking:
            yield page

    async def fetch(self, origin: Origin) -> Trace:
        """See `Source.fetch`."""
        project = (await self._wire.project()).project_id
        now = self._wire.now()
        if (await self._server.generation()).reads == "legacy":
            rows = await LegacyTraces(self._wire, self._server, project=project).rows(
                origin.trace_id, at=origin.start_time
            )
        else:
            start = origin.start_time
            around = None if start is None else (start - _HOUR, max(now, origin.end_time or start) + _HOUR)
            rows = await self._rows.of_trace(origin.trace_id, around=around)
        if rows:
            trace = trace_of(rows, origin=project)
            if trace is None:
                raise SkipThis(f"trace {origin.trace_id} has no observation that can be read")
            return trace
        raise not_found(origin, platform="Langfuse", now=now)

    async def fetch_session(self, session_id: str) -> tuple[Trace, ...]:
        """The traces of a session as they stand now, in time order; none where there is no such session.

        Raises as `fetch` does.
        """
        project = (await self._wire.project()).project_id
        if (await self._server.generation()).reads == "legacy":
            older = LegacyTraces(self._wire, self._server, project=project)
            read = [await older.rows(trace_id) for trace_id in await older.of_session(session_id)]
        else:
            bodies = Bodies(self._rows, project=project, now=self._wire.now)
            groups = by_trace(await self._rows.of_session(session_id))
            # applications put the session on all rows of a trace, or on the root alone
            bare = [group for group in groups.values() if len(group.rows) == 1 or lacks_rows(group.rows)]
            whole = {key: group.rows for key, group in groups.items()} | await bodies.singly(bare)
            read = list(whole.values())
        traces = [trace for rows in read if (trace := trace_of(rows, origin=project)) is not None]
        return tuple(sorted(traces, key=lambda trace: (trace.spans[0].start_time, trace.trace_id)))

    async def check(self) -> Sequence[Finding]:
        """See `Source.check`."""
        return await findings(self._wire, self._server, writes=False)

    async def close(self) -> None:
        """See `Source.close`."""
        await self._wire.close()

    async def _legacy(self, window: Window, place: Place, project: str, wanted: Wanted | None) -> AsyncIterator[Page]:
        now = self._wire.now()
        lateness = LOOK_BACK + self._settle
        progress = place.progress
        start, end = progress.stretch(window, now=now - self._settle, lateness=lateness)
        end = min(end, now - self._settle)
        reached = max(start, end)
        older = LegacyTraces(self._wire, self._server, project=project)
        if start < end:
            batches = older.read(
                start,
                end,
                open_until=now - LOOK_BACK,
                wanted=wanted,
                progress=progress,
                page=self._page,
                newest_first=window.newest_first,
            )
            async for batch in batches:
                marks = [given.mark for given in batch if given.mark is not None]
                progress = progress.after(marks, window, looked_at=now, lateness=lateness)
                yield Page(
                    traces=tuple(given.trace for given in batch if given.trace is not None),
                    cursor=replace(place, progress=progress).as_cursor(),
                    seen=len(batch),
                )
        progress = progress.after((), window, looked_at=now, lateness=lateness)
        yield Page(traces=(), cursor=replace(place, progress=progress).as_cursor(), reached=reached)
