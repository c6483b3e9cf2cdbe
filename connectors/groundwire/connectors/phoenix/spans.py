"""Spans as the server lists them: in the order they were stored, of some traces, or their heads by time."""

import base64
import binascii
import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.http import Answer
from groundwire.connectors.phoenix.wire import Wire, iso

__all__ = ["Head", "Row", "Spans", "Stored", "digest_of", "number_of", "stored"]

Row = Mapping[str, Any]
"""A span as the REST API gives it."""

_MOST = 1_000
"""Rows that the server gives in a page."""
_FIRST = 50
_GOAL = 8_000_000
"""Bytes of a page that is aimed at."""
_TRACES = 50
"""Traces asked for in one request; their ids stand in its address."""
_GONE = frozenset({404})


@dataclass(frozen=True, kw_only=True)
class Head:
    """What is known of a span without its attributes."""

    number: int
    """Its place in the order in which the server's spans were stored, ≥ 1."""
    trace_id: str
    span_id: str
    parent_id: str | None
    start: datetime
    end: datetime | None


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A span as it was found in the order of storing."""

    number: int
    key: str
    """Its global id, which is also the place of a page that begins with it."""
    digest: str
    """Eight hex digits that differ once the span under that number is another: SQLite uses numbers again."""
    trace_id: str
    """Empty where it can't be read."""


class Spans:
    """Reads the spans of one project."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rows = _FIRST

    async def newest(self) -> int:
        """The number of the span that was stored last; 0 where there is none."""
        answer = await self._ask({"sort": "id", "order": "desc", "limit": 1})
        rows, _ = _listed(answer)
        return number_of(rows[0]) if rows else 0

    async def at(self, key: str) -> Stored | None:
        """The first span from that id on; None where there is none."""
        answer = await self._ask({"sort": "id", "order": "asc", "cursor": key, "limit": 1})
        rows, _ = _listed(answer)
        return stored(rows[0]) if rows else None

    async def stored(self, *, since: datetime | None, at: str | None) -> AsyncIterator[list[Stored]]:
        """Pages of spans in the order they were stored, from the one with the id `at` on, itself included.

        Without `at`, from the first one that started at `since` or later.
        """
        params: dict[str, str | int] = {"sort": "id", "order": "asc"}
        if at is None and since is not None:
            params["start_time"] = iso(since)
        cursor = at
        while True:
            rows, cursor = await self._page({**params, **({"cursor": cursor} if cursor else {})})
            yield [stored(row) for row in rows]
            if cursor is None:
                return

    async def of_traces(self, trace_ids: Iterable[str]) -> dict[str, list[Row]]:
        """All spans of these traces, by trace id. A trace that is gone is left out."""
        asked = list(dict.fromkeys(trace_ids))
        found: dict[str, list[Row]] = {}
        for at in range(0, len(asked), _TRACES):
            cursor: str | None = None
            while True:
                params: dict[str, Any] = {"trace_id": asked[at : at + _TRACES]}
                rows, cursor = await self._page({**params, **({"cursor": cursor} if cursor else {})})
                for row in rows:
                    found.setdefault(_trace_of(row), []).append(row)
                if cursor is None:
                    break
        return found

    async def heads(self, start: datetime, end: datetime) -> dict[str, list[Head]]:
        """The heads of all spans of the traces that started in `[start, end)`, by trace id."""
        return await self._traces({"start_time": iso(start), "end_time": iso(end)})

    async def of_session(self, session_id: str) -> list[str]:
        """The ids of the traces of a session."""
        return list(await self._traces({"session_identifier": session_id}))

    async def _traces(self, which: Mapping[str, str]) -> dict[str, list[Head]]:
        params: dict[str, str | int] = {
            **which, "sort": "start_time", "order": "asc", "include_spans": "true", "limit": _MOST,
        }  # fmt: skip
        found: dict[str, list[Head]] = {}
        while True:
            answer = await self._ask(params, below="traces")
            rows, cursor = _listed(answer)
            for row in rows:
                trace_id = str(row.get("trace_id"))
                spans = row.get("spans")
                heads = [
                    head
                    for span in (spans if isinstance(spans, list) else ())
                    if (head := _head(span, trace_id=trace_id, span_id=span.get("span_id"))) is not None
                ]
                if heads:
                    found[trace_id] = heads
            if cursor is None:
                return found
            params["cursor"] = cursor

    async def _page(self, params: Mapping[str, Any]) -> tuple[list[Row], str | None]:
        asked = self._rows
        answer = await self._ask({**params, "limit": asked})
        rows, cursor = _listed(answer)
        if len(rows) >= asked:
            self._rows = max(min(int(_GOAL * len(rows) / max(answer.size, 1)), asked * 4, _MOST), 1)
        return rows, cursor

    async def _ask(self, params: Mapping[str, Any], *, below: str = "spans") -> Answer:
        """A listing below the project; empty where the project was deleted a moment ago."""
        path = await self._wire.project_path(below)
        answer = await self._wire.get(path, params, what=f"its {below}", accept=_GONE)
        if not answer.ok:
            self._wire.forget_project()
            await self._wire.project()  # says so, unless it was made again: then the next look sees it
        return answer


def number_of(row: Row) -> int:
    """A span's place in the order of storing, from its global id: base64 of `Span:NUMBER`. 0 where it has none."""
    try:
        return int(base64.b64decode(str(row.get("id")), validate=True).decode().partition(":")[2])
    except (binascii.Error, ValueError):
        return 0


def digest_of(row: Row) -> str:
    """Eight hex digits that differ once the span under that number is another."""
    told = {key: value for key, value in row.items() if key != "events"}  # an event without a time is given the present
    content = json.dumps(told, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def stored(row: Row) -> Stored:
    """What is remembered of a span in the order of storing."""
    return Stored(number=number_of(row), key=str(row.get("id")), digest=digest_of(row), trace_id=_trace_of(row))


def _head(row: Any, *, trace_id: str, span_id: Any) -> Head | None:
    start = moment(row.get("start_time"))
    named = nonempty(span_id)
    if start is None or named is None or not trace_id:
        return None
    return Head(
        number=number_of(row),
        trace_id=trace_id,
        span_id=named,
        parent_id=nonempty(row.get("parent_id")),
        start=start,
        end=moment(row.get("end_time")),
    )


def _trace_of(row: Row) -> str:
    context = row.get("context")
    return str(context.get("trace_id") or "") if isinstance(context, Mapping) else ""


def _listed(answer: Answer) -> tuple[list[Row], str | None]:
    body = answer.body if answer.ok and isinstance(answer.body, Mapping) else {}
    listed: Sequence[Any] = body["data"] if isinstance(body.get("data"), list) else []
    cursor = body.get("next_cursor")
    return [row for row in listed if isinstance(row, Mapping)], cursor if isinstance(cursor, str) and cursor else None
