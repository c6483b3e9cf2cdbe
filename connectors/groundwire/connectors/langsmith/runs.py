"""Runs as the server lists them, by either generation of its API: whole stretches of time, traces, threads."""

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.http import Answer, as_error
from groundwire.connectors.langsmith.server import NO_ROUTE, Server
from groundwire.connectors.langsmith.wire import PLATFORM, Wire, iso
from groundwire.scorer import RetryLater

__all__ = ["TOO_LARGE", "PageSize", "Run", "Runs", "conjoined"]

Run = Mapping[str, Any]

TOO_LARGE = "groundwireTooLarge"
"""Marks a run whose inputs and outputs the server could not send."""
# fmt: off
_HEAD = (
    "ID", "TRACE_ID", "PROJECT_ID", "NAME", "RUN_TYPE", "STATUS", "START_TIME", "END_TIME", "PARENT_RUN_IDS",
    "DOTTED_ORDER", "TAGS", "METADATA", "THREAD_ID", "ERROR_PREVIEW", "OUTPUTS_PREVIEW",
)
_BODY = (
    *_HEAD, "INPUTS", "OUTPUTS", "ERROR", "EXTRA", "PROMPT_TOKENS", "COMPLETION_TOKENS", "TOTAL_TOKENS", "TOTAL_COST",
    "PROMPT_TOKEN_DETAILS", "COMPLETION_TOKEN_DETAILS", "FEEDBACK_STATS",
)
_HEAD_V1 = (
    "id", "trace_id", "session_id", "name", "run_type", "status", "start_time", "end_time", "parent_run_id",
    "parent_run_ids", "dotted_order", "tags", "extra", "error", "outputs_preview",
)
_BODY_V1 = (
    *_HEAD_V1, "inputs", "outputs", "inputs_s3_urls", "outputs_s3_urls", "prompt_tokens", "completion_tokens",
    "total_tokens", "total_cost", "feedback_stats",
)
# fmt: on
_DOUBTFUL = frozenset({"inputs_s3_urls", "outputs_s3_urls", "outputs_preview", "feedback_stats"})
"""Of the older generation's fields, those that a server may refuse to be asked for."""
_THREAD_KEYS = ("session_id", "conversation_id", "thread_id")
_MOST = {"v2": 1000, "v1": 100}
"""Runs in a page."""
_GOAL = 8_000_000
"""Bytes of a page that is aimed at."""
_TICK = timedelta(milliseconds=1)
"""Whether a bound takes in its own moment isn't documented: more is asked for, and what is beyond is left out here."""
_REFUSED = NO_ROUTE | {400, 413, 422}


@dataclass(kw_only=True)
class PageSize:
    """How many runs to ask for: fewer where that was too much, more where runs were found to weigh little."""

    rows: int
    most: int

    def learn(self, rows: int, size: int) -> None:
        """A page of so many runs had so many bytes."""
        if rows >= self.rows:
            fitting = int(_GOAL * rows / max(size, 1))
            self.rows = max(min(fitting, self.rows * 4, self.most), 1)

    def cap(self, most: int) -> None:
        """The server sends no more than that."""
        self.most = max(most, 1)
        self.rows = min(self.rows, self.most)


@dataclass(kw_only=True)
class _Sizes:
    heads: PageSize = field(default_factory=lambda: PageSize(rows=1000, most=1000))
    bodies: PageSize = field(default_factory=lambda: PageSize(rows=200, most=1000))


class Runs:
    """Reads the runs of one project."""

    def __init__(self, wire: Wire, server: Server) -> None:
        self._wire = wire
        self._server = server
        self._sizes = _Sizes()
        self._left_out: frozenset[str] = frozenset()

    @property
    def a_page(self) -> int:
        """Runs with bodies that one request brings at most, as far as is known."""
        return self._sizes.bodies.rows

    async def started(self, start: datetime, end: datetime, *, roots: bool, bodies: bool) -> list[Run]:
        """All runs that started in `[start, end)` of the traces that the filters let in, each once, in no order.

        `roots`: only the root runs. Without `bodies` they come without inputs and outputs.
        """
        found: dict[str, Run] = {}
        async for rows in self._pages(_Question(start=start, end=end, roots=roots), bodies=bodies):
            for row in rows:
                at, run_id = moment(row.get("start_time")), nonempty(row.get("id"))
                if run_id is not None and at is not None and start <= at < end:
                    found[run_id] = _newer(found.get(run_id), row)
        return list(found.values())

    async def of_trace(
        self, trace_id: str, *, around: tuple[datetime, datetime] | None, bodies: bool = True
    ) -> list[Run]:
        """All runs of a trace; `around` bounds their start, which spares the server a search. None: no such trace."""
        if (await self._server.generation()).reads == "v1":
            start, end = around if around is not None else (None, None)
            question = _Question(start=start, end=end, trace_id=trace_id, filtered=False)
            pages = [rows async for rows in self._pages(question, bodies=bodies)]
            return [row for rows in pages for row in rows if row.get("trace_id") == trace_id]
        params: dict[str, Any] = {
            "project_id": (await self._server.project()).project_id,
            "selects": list(_BODY if bodies else _HEAD),
        }
        if around is not None:
            params |= {"min_start_time": iso(around[0]), "max_start_time": iso(around[1])}
        answer = await self._wire.get(
            f"/api/v2/traces/{quote(trace_id, safe='')}/runs",
            params,
            what="a trace",
            accept=frozenset({404, 410, 422}),
        )
        rows = answer.body.get("items") if answer.ok and isinstance(answer.body, Mapping) else None
        return [row for row in rows or [] if isinstance(row, Mapping)]

    async def traces_of_thread(self, thread_id: str) -> list[str]:
        """The ids of a thread's traces, in no order."""
        if (await self._server.generation()).reads == "v1":
            keys = json.dumps(list(_THREAD_KEYS))
            one = f"and(in(metadata_key, {keys}), eq(metadata_value, {json.dumps(thread_id)}))"
            question = _Question(roots=True, filtered=False, only=one)
            rows = [row async for page in self._pages(question, bodies=False) for row in page]
            return list(dict.fromkeys(str(row["trace_id"]) for row in rows if nonempty(row.get("trace_id"))))
        found: dict[str, None] = {}
        params: dict[str, Any] = {
            "project_id": (await self._server.project()).project_id,
            "selects": ["TRACE_ID", "START_TIME"],
            "page_size": 100,
        }
        path = f"/api/v2/threads/{quote(thread_id, safe='')}/traces"
        while True:
            answer = await self._wire.get(path, params, what="a thread", accept=frozenset({404}))
            rows, cursor = _data(answer)
            found |= dict.fromkeys(str(row["trace_id"]) for row in rows if nonempty(row.get("trace_id")))
            if cursor is None:
                return list(found)
            params = {**params, "cursor": cursor}

    async def _pages(self, question: "_Question", *, bodies: bool) -> AsyncIterator[list[Run]]:
        size = self._sizes.bodies if bodies else self._sizes.heads
        cursor: str | None = None
        while True:
            asked = size.rows
            answer = await self._ask(question, bodies=bodies, limit=asked, cursor=cursor)
            if answer.status == 413:
                if asked > 1:
                    size.cap(max(asked // 2, 1))
                    continue
                answer = await self._without_body(question, cursor)
            elif answer.status in (400, 422):
                if self._gives_way(answer, size, asked):
                    continue
                raise as_error(answer, platform=PLATFORM, what="its runs", now=self._wire.now())
            rows, cursor = _data(answer)
            size.learn(len(rows), answer.size)
            yield rows
            if cursor is None:
                return

    def _gives_way(self, answer: Answer, size: PageSize, asked: int) -> bool:
        """Whether the question can be put in another way that the server may take."""
        told = re.search(r"maximum allowed value of (\d+)", str(answer.body))
        if told is not None and int(told[1]) < asked:
            size.cap(int(told[1]))
            return True
        doubted = {name for name in _DOUBTFUL - self._left_out if name in str(answer.body)}
        self._left_out |= doubted
        return bool(doubted)

    async def _without_body(self, question: "_Question", cursor: str | None) -> Answer:
        """The one run that can't be sent whole, as far as it can."""
        answer = await self._ask(question, bodies=False, limit=1, cursor=cursor)
        if not answer.ok:
            raise RetryLater("LangSmith can't send a single run", after=60)
        rows, after = _data(answer)
        marked = [{**row, TOO_LARGE: True} for row in rows]
        return Answer(status=200, headers=answer.headers, body={"items": marked, "next_cursor": after})

    async def _ask(self, question: "_Question", *, bodies: bool, limit: int, cursor: str | None) -> Answer:
        generation = await self._server.generation()
        project = (await self._server.project()).project_id
        settings = self._wire.settings
        filters = (settings.filter, settings.trace_filter, settings.tree_filter) if question.filtered else (None,) * 3
        body: dict[str, Any]
        if generation.reads == "v2":
            path = "/api/v2/runs/query"
            body = question.v2(project, *filters)
            body |= {"selects": list(_BODY if bodies else _HEAD), "page_size": min(limit, _MOST["v2"])}
        else:
            path = "/api/v1/runs/query"
            body = question.v1(project, *filters)
            names = [name for name in (_BODY_V1 if bodies else _HEAD_V1) if name not in self._left_out]
            body |= {"select": names, "limit": min(limit, _MOST["v1"])}
        if cursor is not None:
            body["cursor"] = cursor
        answer = await self._wire.post(path, body, what="its runs", bucket="query", accept=_REFUSED)
        if answer.status in NO_ROUTE:
            self._server.forget()
            raise RetryLater("LangSmith no longer offers these run queries; asking it again what it offers", after=1)
        return answer


@dataclass(frozen=True, kw_only=True)
class _Question:
    """Which runs are asked for."""

    start: datetime | None = None
    end: datetime | None = None
    roots: bool = False
    trace_id: str | None = None
    filtered: bool = True
    """Whether the source's own filters count."""
    only: str | None = None
    """A condition on the run itself."""

    def v2(
        self, project: str, of_root: str | None, trace_filter: str | None, tree_filter: str | None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"project_ids": [project], **self._filters(of_root, trace_filter, tree_filter)}
        if self.start is not None:
            body["min_start_time"] = iso(self.start - _TICK)
        if self.end is not None:
            body["max_start_time"] = iso(self.end + _TICK)
        return body

    def v1(
        self, project: str, of_root: str | None, trace_filter: str | None, tree_filter: str | None
    ) -> dict[str, Any]:
        # the older generation's `end_time` bounds the end of runs: the end of the stretch goes into the filter
        before = None if self.end is None else f'lt(start_time, "{iso(self.end + _TICK)}")'
        body: dict[str, Any] = {
            "session": [project],
            **self._filters(of_root, trace_filter, tree_filter, before=before),
        }
        if self.start is not None:
            body["start_time"] = iso(self.start - _TICK)
        if self.trace_id is not None:
            body["trace"] = self.trace_id
        return body

    def _filters(
        self, of_root: str | None, trace_filter: str | None, tree_filter: str | None, *, before: str | None = None
    ) -> dict[str, Any]:
        # a filter is on the root: for its other runs that is a filter on their trace
        on_run = conjoined(of_root if self.roots else None, self.only, before)
        on_trace = conjoined(None if self.roots else of_root, trace_filter)
        named = {"filter": on_run, "trace_filter": on_trace, "tree_filter": tree_filter}
        return {key: value for key, value in named.items() if value} | ({"is_root": True} if self.roots else {})


def conjoined(*filters: str | None) -> str | None:
    """The filters joined by `and(…)`; None where there are none."""
    given = [one for one in filters if one]
    return None if not given else given[0] if len(given) == 1 else f"and({', '.join(given)})"


def _data(answer: Answer) -> tuple[list[Run], str | None]:
    body = answer.body if answer.ok and isinstance(answer.body, Mapping) else {}
    listed = body.get("items", body.get("runs"))
    rows: Sequence[Any] = listed if isinstance(listed, list) else []
    cursors = body.get("cursors")
    cursor = cursors.get("next") if isinstance(cursors, Mapping) else body.get("next_cursor")
    found = [row for row in rows if isinstance(row, Mapping)]
    return found, cursor if isinstance(cursor, str) and cursor else None


def _newer(known: Run | None, row: Run) -> Run:
    """Of two states of a run, the finished one, else the one that came last."""
    return known if known is not None and known.get("end_time") and not row.get("end_time") else row
