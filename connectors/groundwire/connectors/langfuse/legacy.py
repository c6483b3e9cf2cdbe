"""Servers without v2 observations (Langfuse 3, and 4 in its legacy mode): traces by `/traces`, each read whole."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from groundwire.connectors.base import Wanted
from groundwire.connectors.cursor import Mark, Progress
from groundwire.connectors.formats.langfuse import rows_of
from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.given import Given
from groundwire.connectors.http import Answer
from groundwire.connectors.langfuse.generation import Server, is_missing_route
from groundwire.connectors.langfuse.groups import by_trace
from groundwire.connectors.langfuse.mapping import problems_of, trace_of
from groundwire.connectors.langfuse.rows import TOO_LARGE, Row, stamp
from groundwire.connectors.langfuse.wire import Wire, iso
from groundwire.connectors.trace import Trace
from groundwire.scorer import RetryLater

__all__ = ["LegacyTraces"]

_PAGE = 100
_TOO_MUCH = frozenset({413, 422})
"""An answer would be larger than the server sends."""


class LegacyTraces:
    """Reads traces that are listed by their start, because these servers know no end of a trace."""

    def __init__(self, wire: Wire, server: Server, *, project: str) -> None:
        self._wire = wire
        self._server = server
        self._project = project

    async def read(
        self,
        start: datetime,
        end: datetime,
        *,
        open_until: datetime,
        wanted: Wanted | None,
        progress: Progress,
        page: int,
        newest_first: bool = False,
    ) -> AsyncIterator[list[Given]]:
        """Traces that started in `[start, end)` and were not given as they are, `page` at a time.

        One whose root hasn't ended is passed over, to be looked at again, unless it started before `open_until`.
        """
        listed = await self._listed(start, end, newest_first=newest_first)
        fresh = [(key, item) for key, item in listed.items() if not progress.knows(key, stamp(item))]
        for at in range(0, len(fresh), page):
            some = fresh[at : at + page]
            asked = [key for key, item in some if self._wants(item, wanted)]
            bodies = await asyncio.gather(*(self.rows(key, at=moment(listed[key].get("timestamp"))) for key in asked))
            read = dict(zip(asked, bodies, strict=True))
            given = []
            for key, item in some:
                began = moment(item.get("timestamp"))
                rows = read.get(key)
                if began is None or (rows and not _has_ended(rows) and began >= open_until):
                    continue
                given.append(
                    Given(
                        trace_id=key,
                        at=began,
                        mark=Mark(trace_id=key, at=began, version=stamp(item)),
                        trace=trace_of(rows, origin=self._project) if rows else None,
                        problems=problems_of(rows or ()),
                    )
                )
            yield given

    async def _listed(self, start: datetime, end: datetime, *, newest_first: bool) -> dict[str, Row]:
        """The traces that started in `[start, end)` by id; where a page is too large to be sent, without their text."""
        listed: dict[str, Row] = {}
        number, pages, fields = 1, 1, "core,io"
        while number <= pages:
            answer = await self._get(
                "/traces",
                {
                    "page": number,
                    "limit": _PAGE,
                    "fields": fields,
                    "fromTimestamp": iso(start),
                    "toTimestamp": iso(end),
                    "orderBy": f"timestamp.{'desc' if newest_first else 'asc'}",
                },
                accept=frozenset() if fields == "core" else _TOO_MUCH,
            )
            if answer.status in _TOO_MUCH:
                fields = "core"
                continue
            body = answer.body if isinstance(answer.body, Mapping) else {}
            for item in body.get("data") or []:
                if isinstance(item, Mapping) and (key := nonempty(item.get("id"))) and moment(item.get("timestamp")):
                    listed[key] = item
            meta = body.get("meta")
            pages = int(meta.get("totalPages") or 1) if isinstance(meta, Mapping) else 1
            number, fields = number + 1, "core,io"
        return listed

    async def rows(self, trace_id: str, *, at: datetime | None = None) -> list[Row]:
        """The observations of a trace as rows, with the trace's own fields; none where it isn't there.

        One that is too large to be sent is a single row that says so, at the time given.
        """
        answer = await self._get(f"/traces/{quote(trace_id, safe='')}", None, accept=_TOO_MUCH)
        if answer.status in _TOO_MUCH:
            time = iso(at or self._wire.now())
            whole = {"id": trace_id, "traceId": trace_id, "type": "SPAN", "name": "the whole trace", TOO_LARGE: True}
            return [{**whole, "startTime": time, "endTime": time, "parentObservationId": None}]
        return (
            []
            if answer.status == 404 or not isinstance(answer.body, Mapping)
            else [_with_trace(row, trace_id) for _, row in rows_of(answer.body)]
        )

    async def of_session(self, session_id: str) -> list[str]:
        """The ids of a session's traces; none where it isn't there."""
        answer = await self._get(f"/sessions/{quote(session_id, safe='')}", None)
        held = answer.body.get("traces") if isinstance(answer.body, Mapping) else None
        return [key for item in held or [] if isinstance(item, Mapping) and (key := nonempty(item.get("id")))]

    def _wants(self, item: Row, wanted: Wanted | None) -> bool:
        if wanted is None:
            return True
        return wanted(_head(item, self._project))

    async def _get(
        self, path: str, params: Mapping[str, str | int] | None, *, accept: frozenset[int] = frozenset()
    ) -> Answer:
        accepted = accept | {404, 410}
        answer = await self._wire.get(path, params, what="its traces", bucket="legacy", accept=accepted)
        if is_missing_route(answer):
            self._server.forget()
            raise RetryLater("Langfuse no longer offers its older endpoints; asking it again what it offers", after=1)
        return answer


def _head(item: Row, project: str) -> Trace:
    """A listed trace without spans."""
    tags = item.get("tags")
    metadata = item.get("metadata")
    return Trace(
        trace_id=str(item["id"]),
        spans=(),
        source="langfuse",
        origin=project,
        session_id=nonempty(item.get("sessionId")),
        name=nonempty(item.get("name")) or "",
        environment=nonempty(item.get("environment")),
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, Sequence) and not isinstance(tags, str) else (),
        user_id=nonempty(item.get("userId")),
        release=nonempty(item.get("release")),
        version=nonempty(item.get("version")),
        metadata=dict(metadata) if isinstance(metadata, Mapping) else {},
    )


def _has_ended(rows: Sequence[Row]) -> bool:
    groups = by_trace(rows)
    return any(group.root is not None for group in groups.values())


def _with_trace(row: Any, trace_id: str) -> Row:
    return row if nonempty(row.get("traceId")) else {**row, "traceId": trace_id}


LOOK_BACK = timedelta(hours=1)
"""How long after its start a trace of such a server is looked at again."""
