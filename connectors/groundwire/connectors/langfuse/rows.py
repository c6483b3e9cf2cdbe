"""Observation rows by `/v2/observations`: whole windows, page by page, each row once in its newest state."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.http import Answer, as_error
from groundwire.connectors.langfuse.generation import Server, is_missing_route
from groundwire.connectors.langfuse.wire import PLATFORM, Wire, iso
from groundwire.scorer import RetryLater, SkipThis

__all__ = ["TOO_LARGE", "Condition", "PageSize", "Row", "Rows", "between", "folded", "is_root", "stamp"]

Row = Mapping[str, Any]
Condition = Mapping[str, Any]

HEAD_FIELDS = "core,basic,time,model,metadata,trace_context"
BODY_FIELDS = "core,basic,time,io,metadata,model,usage,prompt,trace_context"
TOO_LARGE = "groundwireTooLarge"
"""Marks a row whose input and output the server could not send."""
_TOO_MUCH = frozenset({413, 422})
_MOST = 1000
_GOAL = 3_000_000
"""Bytes of a page that is aimed at; Langfuse Cloud refuses to send 5 MB."""
_FEW = 25
"""A page this small that is still too much means that the stretch of time is, not the page."""
_SHORTEST = timedelta(seconds=2)
_UP = timedelta(microseconds=999)
"""Langfuse counts in milliseconds: an end within one takes all of it."""


@dataclass(kw_only=True)
class PageSize:
    """How many rows to ask for: halved where that was too much, grown again by what rows were found to weigh."""

    rows: int = 100
    most: int = _MOST
    learned: bool = False

    def halve(self) -> None:
        """The server could not send that many."""
        self.rows = max(self.rows // 2, 1)

    def learn(self, rows: int, size: int) -> None:
        """A page of so many rows had so many bytes."""
        if rows:
            self.learned = True
            fitting = int(_GOAL / max(size / rows, 1))
            self.rows = max(1, min(self.rows * 2, fitting, self.most))


@dataclass(kw_only=True)
class _Sizes:
    heads: PageSize = field(default_factory=lambda: PageSize(rows=_MOST))
    bodies: PageSize = field(default_factory=PageSize)


class Rows:
    """Reads the observation rows of one project."""

    def __init__(self, wire: Wire, server: Server, *, expand: Sequence[str] = ()) -> None:
        """`expand` names metadata keys whose values are wanted beyond their first 200 characters."""
        self._wire = wire
        self._server = server
        self._expand = ",".join(expand)
        self._sizes = _Sizes()

    @property
    def a_page(self) -> int:
        """Rows with bodies that one request brings, once the page has grown."""
        return self._sizes.bodies.rows if self._sizes.bodies.learned else _MOST

    async def started(
        self, start: datetime, end: datetime, *, bodies: bool, most: int | None = None
    ) -> list[Row] | None:
        """All rows that started in `[start, end)`, newest first, each once; without bodies: no input, no output.

        A stretch that is too much for the server is cut in two. None where there are more than `most`.
        """
        try:
            return await self._read(between("startTime", start, end), bodies=bodies, most=most)
        except _TooMuch:
            middle = start + (end - start) / 2
            early = await self.started(start, middle, bodies=bodies, most=most)
            late = None if early is None else await self.started(middle, end, bodies=bodies, most=most)
            return None if early is None or late is None else folded([*late, *early])

    async def roots(
        self, start: datetime, end: datetime, *, longest: timedelta, most: int | None = None
    ) -> list[Row] | None:
        """Root rows that ended in `[start, end)` and lasted at most `longest`, without bodies.

        None where there are more than `most`; reading stops there.
        """
        conditions = [
            *between("endTime", start, end),
            *between("startTime", start - longest, end),
            {"type": "boolean", "column": "isRootObservation", "operator": "=", "value": True},
        ]
        return await self._read(conditions, bodies=False, most=most)

    async def of_trace(self, trace_id: str, *, around: tuple[datetime, datetime] | None) -> list[Row]:
        """All rows of a trace, with bodies; `around` bounds their start, which spares the server a search."""
        bounds = between("startTime", *around) if around is not None else []
        found = await self._read([*bounds, _equals("traceId", trace_id)], bodies=True) or []
        return [row for row in found if row.get("traceId") == trace_id]

    async def of_session(self, session_id: str) -> list[Row]:
        """All rows that bear the session's id, with bodies."""
        return await self._read([_equals("sessionId", session_id)], bodies=True) or []

    async def _read(
        self, conditions: Sequence[Condition], *, bodies: bool, most: int | None = None
    ) -> list[Row] | None:
        found: list[Row] = []
        async for rows in self._pages(conditions, bodies=bodies):
            found += rows
            if most is not None and len(found) > most:
                return None
        return folded(found)

    async def _pages(self, conditions: Sequence[Condition], *, bodies: bool) -> AsyncIterator[list[Row]]:
        size = self._sizes.bodies if bodies else self._sizes.heads
        cursor: str | None = None
        while True:
            asked = size.rows
            answer = await self._ask(conditions, bodies=bodies, limit=asked, cursor=cursor)
            if answer.status in _TOO_MUCH:
                if asked <= _FEW and _stretch(conditions) > _SHORTEST:
                    raise _TooMuch(str(as_error(answer, platform=PLATFORM, what="rows", now=self._wire.now())))
                if asked > 1:
                    size.halve()
                    continue
                answer = await self._without_body(conditions, cursor)
            rows, cursor = _data(answer)
            size.learn(len(rows), answer.size)
            yield rows
            if cursor is None or not rows:
                return

    async def _without_body(self, conditions: Sequence[Condition], cursor: str | None) -> Answer:
        """The one row that can't be sent whole, as far as it can."""
        answer = await self._ask(conditions, bodies=False, limit=1, cursor=cursor)
        if answer.status in _TOO_MUCH:
            raise RetryLater("Langfuse can't send a single row; look at its database's load", after=60)
        rows, _ = _data(answer)
        body = {**answer.body, "data": [{**row, TOO_LARGE: True} for row in rows]}
        return Answer(status=answer.status, headers=answer.headers, body=body)

    async def _ask(self, conditions: Sequence[Condition], *, bodies: bool, limit: int, cursor: str | None) -> Answer:
        params: dict[str, str | int] = {
            "fields": BODY_FIELDS if bodies else HEAD_FIELDS,
            "limit": limit,
            "filter": json.dumps(list(conditions), separators=(",", ":")),
        }
        if self._expand:
            params["expandMetadata"] = self._expand
        if cursor is not None:
            params["cursor"] = cursor
        answer = await self._wire.get(
            "/v2/observations", params, what="its observations", accept=_TOO_MUCH | {404, 410}
        )
        if is_missing_route(answer):
            self._server.forget()
            raise RetryLater("Langfuse no longer offers v2 observations; asking it again what it offers", after=1)
        if answer.status in (404, 410):
            raise SkipThis("Langfuse has no such observations")
        return answer


class _TooMuch(RetryLater):
    """The server can't answer for so long a stretch of time; raised further, it is load that may pass."""

    def __init__(self, message: str) -> None:
        super().__init__(message, after=60)


def _data(answer: Answer) -> tuple[list[Row], str | None]:
    body = answer.body if isinstance(answer.body, Mapping) else {}
    data, meta = body.get("data"), body.get("meta")
    rows = [row for row in data if isinstance(row, Mapping)] if isinstance(data, list) else []
    cursor = meta.get("cursor") if isinstance(meta, Mapping) else None
    return rows, cursor if isinstance(cursor, str) and cursor else None


def between(column: str, start: datetime, end: datetime) -> list[Condition]:
    """`[start, end)` of a time column. Everything stands in `filter`: beside one, query parameters are dropped."""
    return [
        {"type": "datetime", "column": column, "operator": ">=", "value": iso(start)},
        {"type": "datetime", "column": column, "operator": "<", "value": iso(end + _UP)},
    ]


def _equals(column: str, value: str) -> Condition:
    return {"type": "string", "column": column, "operator": "=", "value": value}


def _stretch(conditions: Sequence[Condition]) -> timedelta:
    bounds = [at for one in conditions if one["column"] == "startTime" and (at := moment(one["value"])) is not None]
    return max(bounds) - min(bounds) if len(bounds) > 1 else timedelta(0)


def stamp(row: Row) -> str:
    """When a row was last written, as the server says it: ISO text of one form, which sorts by time; else empty."""
    return max(nonempty(row.get("updatedAt")) or "", nonempty(row.get("createdAt")) or "")


def folded(rows: Iterable[Row]) -> list[Row]:
    """One row for each id within a trace, the one written last; in the order in which each id first came."""
    newest: dict[tuple[str | None, str | None], Row] = {}
    for row in rows:
        key = nonempty(row.get("traceId")), nonempty(row.get("id"))
        known = newest.get(key)
        if known is None or stamp(row) >= stamp(known):
            newest[key] = row
    return list(newest.values())


def is_root(row: Row) -> bool:
    """Whether the application began its trace with this row; its parent may be a row that exists nowhere."""
    flagged = row.get("isRootObservation")
    return flagged if isinstance(flagged, bool) else nonempty(row.get("parentObservationId")) is None
