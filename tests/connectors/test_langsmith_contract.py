"""The contract that every connector keeps, with LangSmith's on the loopback app, in both generations of its API."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue
from tests.connectors.langfuse_app import served
from tests.connectors.langsmith_app import API_KEY, LangsmithApp
from tests.connectors.langsmith_runs import as_uuid, run_of_span, settings_for

from groundwire.connectors import Delivery, Finding, Origin, Page, Score, Sink, Source, Target, Trace, Wanted, Window
from groundwire.connectors.http import Patience
from groundwire.connectors.langsmith import LangsmithSink, LangsmithSource
from groundwire.connectors.langsmith.quota import Quotas
from groundwire.connectors.langsmith.wire import Wire
from groundwire.connectors.testing import ConnectorContract, Shown


class Names:
    """The contract's traces have other platforms' ids and LangSmith has UUIDs: both ways of telling one by the other.

    LangSmith's root run has its trace's id.
    """

    def __init__(self) -> None:
        self.spans: dict[str, str] = {}
        self.traces: dict[str, str] = {}
        self.roots: dict[str, str] = {}

    def learn(self, trace: Trace) -> None:
        self.traces[as_uuid(trace.trace_id)] = trace.trace_id
        root = trace.root
        if trace.trace_id not in self.roots and root is not None and root.parent_id is None:
            self.roots[trace.trace_id] = root.span_id
        self.spans |= {as_uuid(span.span_id): span.span_id for span in trace.spans}

    def back(self, trace: Trace) -> Trace:
        trace_id = self.traces[trace.trace_id]

        def span_id(found: str | None) -> str | None:
            return self.roots[trace_id] if found == trace.trace_id else self.spans.get(found or "")

        spans = [
            span.model_copy(
                update={
                    "trace_id": trace_id,
                    "span_id": span_id(span.span_id),
                    "parent_id": span_id(span.parent_id),
                }
            )
            for span in trace.spans
        ]
        return replace(trace, trace_id=trace_id, spans=tuple(spans))


class NamedSource:
    """The source, its traces under the contract's ids."""

    def __init__(self, source: LangsmithSource, names: Names) -> None:
        self._source, self._names = source, names

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        asked = None if wanted is None else lambda head: wanted(self._names.back(head))
        async for page in self._source.pull(window, cursor, wanted=asked):
            yield replace(page, traces=tuple(self._names.back(trace) for trace in page.traces))

    async def fetch(self, origin: Origin) -> Trace:
        return self._names.back(await self._source.fetch(replace(origin, trace_id=as_uuid(origin.trace_id))))

    async def check(self) -> Sequence[Finding]:
        return await self._source.check()

    async def close(self) -> None:
        await self._source.close()


class NamedSink:
    """The sink, its targets under LangSmith's ids."""

    def __init__(self, sink: LangsmithSink) -> None:
        self._sink = sink

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        return await self._sink.push([replace(score, target=self._named(score)) for score in scores])

    @staticmethod
    def _named(score: Score) -> Target:
        target = score.target
        return replace(
            target,
            trace_id=as_uuid(target.trace_id),
            root_span_id=None,
            span_id=None if target.span_id is None else as_uuid(target.span_id),
        )

    async def check(self) -> Sequence[Finding]:
        return await self._sink.check()

    async def close(self) -> None:
        await self._sink.close()


class LoopbackPlatform:
    """The loopback app as a platform under test."""

    secrets: Sequence[str] = (API_KEY,)
    speaks_http = True

    def __init__(self, app: LangsmithApp, url: str) -> None:
        self._app = app
        self._names = Names()
        # a retry is the contract's own to see; ten minutes back is what it asks of lateness
        self._settings = settings_for(url, lateness=600, settle=0, create_config=False)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def put(self, trace: Trace) -> None:
        self._names.learn(trace)
        about = {"metadata": dict(trace.metadata) | {"thread_id": trace.session_id, "user_id": trace.user_id}}
        for span in trace.spans:
            run = run_of_span(span, root_id=self._names.roots.get(trace.trace_id))
            run["extra"]["metadata"] |= about["metadata"]
            self._app.put(run | {"tags": list(trace.tags)})

    def source(self, *, page_size: int) -> Source:
        return NamedSource(LangsmithSource(self._settings, wire=self._wire(), page=page_size), self._names)

    def sink(self) -> Sink:
        return NamedSink(LangsmithSink(self._settings, wire=self._wire()))

    def _wire(self) -> Wire:
        async def at_once(_: float) -> None:
            """After a 429 the key's bucket is closed for seconds that nobody needs to wait for here."""

        return Wire(self._settings, quotas=Quotas(), patience=Patience(attempts=1), sleep=at_once)

    def scores(self) -> Sequence[Shown]:
        return [
            Shown(
                score_id=one["id"],
                name=one["key"],
                value=one["score"] if one.get("score") is not None else one["value"],
                comment=one["comment"] or "",
            )
            for one in self._app.shown()
        ]

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        self._app.fail(status, headers=headers)


class TestLangsmith(ConnectorContract):
    """Against servers of either generation, with their habits turned either way."""

    @pytest.fixture(params=["v2", "v1"])
    def platform(self, request: pytest.FixtureRequest) -> Iterator[LoopbackPlatform]:
        # the contract makes more requests at once than a key has: the limits have tests of their own
        limits = {"query": (10_000, 10.0), "other": (10_000, 10.0), "feedback": (10_000, 10.0)}
        if request.param == "v2":
            app = LangsmithApp(limits=limits, order="shuffled", exclusive=True, post_again="double")
        else:
            flags = {"ch_query_enabled": True}
            app = LangsmithApp(limits=limits, version="0.12.0", flags=flags, v2=False, post_again="upsert", order="asc")
        with served(app) as url:
            yield LoopbackPlatform(app, url)
