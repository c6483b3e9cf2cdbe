"""Traces read from a LangSmith project: what is new, what came late or changed, and its history."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta

from pydantic import JsonValue

from groundwire.connectors.base import Finding, Origin, Page, Wanted, Window
from groundwire.connectors.given import not_found
from groundwire.connectors.langsmith.bodies import Bodies
from groundwire.connectors.langsmith.check import findings
from groundwire.connectors.langsmith.look import Look
from groundwire.connectors.langsmith.mapping import trace_of
from groundwire.connectors.langsmith.payloads import Payloads
from groundwire.connectors.langsmith.place import Place
from groundwire.connectors.langsmith.runs import Runs
from groundwire.connectors.langsmith.server import Server
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.wire import Wire
from groundwire.connectors.trace import Trace
from groundwire.scorer import SkipThis

__all__ = ["LangsmithSource"]

_AN_HOUR = timedelta(hours=1)


class LangsmithSource:
    """Where traces of a LangSmith project come from. Its repr shows the host alone."""

    def __init__(
        self,
        settings: LangsmithSettings,
        *,
        wire: Wire | None = None,
        payloads: Payloads | None = None,
        page: int = 250,
    ) -> None:
        """`page` is the most traces of one page."""
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._server = Server(self._wire)
        self._runs = Runs(self._wire, self._server)
        self._payloads = payloads or Payloads(settings)
        self._page = page

    def __repr__(self) -> str:
        return f"LangsmithSource(host={self._settings.host!r})"

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """See `Source.pull`. With an open end, also what the hourly and the daily sweep find.

        A trace whose root is still pending is given once, some minutes after its start, with no end; and again when
        it has one.
        """
        project = await self._server.project()
        look = Look(
            bodies=Bodies(
                self._runs,
                self._payloads,
                project=project,
                now=self._wire.now,
                backwards=window.newest_first,
            ),
            settings=self._settings,
            window=window,
            place=Place.of(cursor),
            wanted=wanted,
            now=self._wire.now(),
            page=self._page,
        )
        async for page in look.run():
            yield page

    async def fetch(self, origin: Origin) -> Trace:
        """See `Source.fetch`. A trace that its hint says is another project's is skipped."""
        project = await self._server.project()
        if origin.hints.get("project") not in (None, project.project_id):
            raise SkipThis(f"trace {origin.trace_id} is of another project")
        now = self._wire.now()
        start = origin.start_time
        around = None if start is None else (start - _AN_HOUR, max(now, origin.end_time or start) + _AN_HOUR)
        runs = await self._payloads.filled(await self._runs.of_trace(origin.trace_id, around=around))
        if runs:
            trace = trace_of(runs, project=project.project_id, name=project.name)
            if trace is None:
                raise SkipThis(f"trace {origin.trace_id} has no run that can be read")
            return trace
        raise not_found(origin, platform="LangSmith", now=now)

    async def fetch_session(self, session_id: str) -> tuple[Trace, ...]:
        """The traces of a thread as they stand now, in time order; none where there is no such thread.

        Raises as `fetch` does.
        """
        project = await self._server.project()
        traces = []
        for trace_id in await self._runs.traces_of_thread(session_id):
            runs = await self._payloads.filled(await self._runs.of_trace(trace_id, around=None))
            trace = trace_of(runs, project=project.project_id, name=project.name)
            if trace is not None:
                traces.append(trace)
        return tuple(sorted(traces, key=lambda trace: (trace.spans[0].start_time, trace.trace_id)))

    async def check(self) -> Sequence[Finding]:
        """See `Source.check`."""
        return await findings(self._wire, self._server, writes=False)

    async def close(self) -> None:
        """See `Source.close`."""
        await self._payloads.close()
        await self._wire.close()
