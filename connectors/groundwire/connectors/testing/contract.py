"""What every connector must do, as tests: subclass `ConnectorContract` and give it a platform.

The tests are coroutines: run them with pytest-asyncio in its auto mode, or with anyio's plugin.
"""

import json
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol
from uuid import NAMESPACE_URL, uuid5
from weakref import WeakKeyDictionary

from pydantic import JsonValue, TypeAdapter

from groundwire.connectors.base import Origin, Page, Sink, Source, Wanted, Window
from groundwire.connectors.score import Score, Target
from groundwire.connectors.testing.traces import make_sample
from groundwire.connectors.trace import Trace
from groundwire.scorer import GiveUp, GroundwireError, Message, RetryLater, SkipThis, Span, TextPart

__all__ = ["ConnectorContract", "ContractPlatform", "Shown"]

_TRACES = TypeAdapter(Trace)
_SECRET_AT_LEAST = 6
"""Shorter secrets would be found in any text."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A score as a person sees it on the platform."""

    score_id: str
    name: str
    value: float | str
    comment: str


class ContractPlatform(Protocol):
    """The platform under test: a real one, a server that imitates it, or a folder.

    Whatever is put is to be seen at once, and the sources built here look back at least ten minutes for what is late.
    """

    secrets: Sequence[str]
    """Every key and password that the source and the sink were built with; none may ever be shown."""
    speaks_http: bool
    """False where there are no status codes to answer with: the tests of those are skipped."""

    def now(self) -> datetime:
        """The platform's time, UTC."""
        ...

    def put(self, trace: Trace) -> None:
        """Store a trace as an application would send it, or more spans of it; a span with a known id is replaced.

        What a span holds in `attributes` is sent as fields that nobody has heard of.
        """
        ...

    def source(self, *, page_size: int) -> Source:
        """A new source that gives at most about that many traces a page."""
        ...

    def sink(self) -> Sink:
        """A new sink."""
        ...

    def scores(self) -> Sequence[Shown]:
        """Every score there is, duplicates too."""
        ...

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        """Answer the next request with that status, and a Retry-After header of that many seconds."""
        ...


class ConnectorContract:
    """Subclass it as `TestMine` with a fixture `platform` that gives a fresh, empty `ContractPlatform`."""

    # ---- reading ----

    async def test_gives_every_trace_whole(self, platform: ContractPlatform) -> None:
        put = _put(platform, 7)
        given = _latest(await _pull(platform, page_size=3))
        assert sorted(given) == sorted(put), "a trace is missing, or one is given that nobody put"
        for trace_id, trace in put.items():
            assert {span.span_id for span in given[trace_id].spans} == {span.span_id for span in trace.spans}
            assert _answer(trace) in _text(given[trace_id]), "the answer is lost"
            assert [s.kind for s in _by_id(given[trace_id])] == [s.kind for s in _by_id(trace)], "a kind is lost"
            root = given[trace_id].root
            assert root is not None
            assert trace.root is not None
            assert root.span_id == trace.root.span_id, "the tree is lost"

    async def test_gives_nothing_new_the_second_time(self, platform: ContractPlatform) -> None:
        _put(platform, 7)
        first = await _pull(platform, page_size=3)
        again = await _pull(platform, page_size=3, cursor=first[-1].cursor)
        known = {_content(trace) for page in first for trace in page.traces}
        assert all(_content(trace) in known for page in again for trace in page.traces), "something new out of nothing"
        third = await _pull(platform, page_size=3, cursor=again[-1].cursor)
        assert all(_content(trace) in known for page in third for trace in page.traces), "something new out of nothing"

    async def test_goes_on_after_the_cursor(self, platform: ContractPlatform) -> None:
        _put(platform, 4)
        first = await _pull(platform, page_size=3)
        later = _put(platform, 3, first=4)
        given = _latest(await _pull(platform, page_size=3, cursor=first[-1].cursor))
        assert set(later) <= set(given), "what came after the cursor is lost"

    async def test_loses_no_ties(self, platform: ContractPlatform) -> None:
        put = _put(platform, 7, apart=0.0)
        given: dict[str, Trace] = {}
        cursor: Mapping[str, JsonValue] | None = None
        for _ in range(30):
            pages = await _pull(platform, page_size=2, cursor=cursor, most=1)
            if not _latest(pages):
                break
            given |= _latest(pages)
            cursor = _through_json(pages[-1].cursor)
        assert sorted(given) == sorted(put), "a trace that ended at the same moment as another is lost"
        late = _put(platform, 2, first=7, apart=0.0)
        given = _latest(await _pull(platform, page_size=2, cursor=cursor))
        assert set(late) <= set(given), "a late trace that ended at the cursor's moment is lost"

    async def test_gives_the_same_however_pages_are_split(self, platform: ContractPlatform) -> None:
        _put(platform, 7, apart=0.4)
        whole = {key: _content(trace) for key, trace in _latest(await _pull(platform, page_size=100)).items()}
        assert len(whole) == 7
        for page_size in (1, 2, 3, 5):
            split = _latest(await _pull(platform, page_size=page_size))
            assert {key: _content(trace) for key, trace in split.items()} == whole, f"pages of {page_size} differ"

    async def test_loses_nothing_when_killed_before_the_cursor_is_kept(self, platform: ContractPlatform) -> None:
        put = _put(platform, 6)
        kept: Mapping[str, JsonValue] | None = None
        given: dict[str, Trace] = {}
        for _ in range(30):
            await _pull(platform, page_size=2, cursor=kept, most=1)  # this page's cursor is never kept
            pages = await _pull(platform, page_size=2, cursor=kept, most=1)
            if not _latest(pages):
                break
            given |= _latest(pages)
            kept = _through_json(pages[-1].cursor)
        assert sorted(given) == sorted(put), "a page whose cursor was lost is never given again"

    async def test_gives_a_late_trace(self, platform: ContractPlatform) -> None:
        _put(platform, 5, apart=10.0)
        first = await _pull(platform, page_size=3)
        late = make_sample(90, end=_first_end(platform) + timedelta(seconds=15)).trace
        platform.put(late)
        given = _latest(await _pull(platform, page_size=3, cursor=first[-1].cursor))
        assert late.trace_id in given, "a trace that ended before the cursor and arrived after it is lost"

    async def test_gives_a_trace_again_when_a_span_is_late(self, platform: ContractPlatform) -> None:
        put = _put(platform, 4)
        first = await _pull(platform, page_size=3)
        chosen = list(put.values())[1]
        span = chosen.spans[1].model_copy(update={"span_id": "feedfacefeedface", "name": "came-late"})
        platform.put(replace(chosen, spans=(span,)))
        given = _latest(await _pull(platform, page_size=3, cursor=first[-1].cursor))
        assert chosen.trace_id in given, "a trace that got a span isn't given again"
        ids = {span.span_id for span in given[chosen.trace_id].spans}
        assert ids == {span.span_id for span in (*chosen.spans, span)}, "not all of its spans are given"

    async def test_gives_a_trace_again_when_a_span_changes(self, platform: ContractPlatform) -> None:
        put = _put(platform, 4)
        first = await _pull(platform, page_size=3)
        chosen = list(put.values())[2]
        root = chosen.root
        assert root is not None
        said = Message(role="assistant", parts=(TextPart(content="On second thoughts: nothing is known."),))
        platform.put(replace(chosen, spans=(root.model_copy(update={"output_messages": (said,)}),)))
        given = _latest(await _pull(platform, page_size=3, cursor=first[-1].cursor))
        assert chosen.trace_id in given, "a trace whose span changed isn't given again"
        changed = given[chosen.trace_id]
        assert "On second thoughts" in _text(changed), "the older state is given"
        assert len(changed.spans) == len(chosen.spans), "its other spans are lost, or the old one stays"

    async def test_keeps_to_the_window(self, platform: ContractPlatform) -> None:
        put = list(_put(platform, 6, apart=10.0))
        start = _first_end(platform) + timedelta(seconds=20)
        window = Window(start=start, end=start + timedelta(seconds=20))
        given = _latest(await _pull(platform, page_size=3, window=window))
        assert sorted(given) == sorted(put[2:4]), "the window is from its start, up to and without its end"

    async def test_goes_back_in_time(self, platform: ContractPlatform) -> None:
        put = list(_put(platform, 6, apart=10.0))
        window = Window(start=_first_end(platform), end=_first_end(platform) + timedelta(seconds=50), newest_first=True)
        cursor: Mapping[str, JsonValue] | None = None
        order: list[str] = []
        for _ in range(30):
            pages = await _pull(platform, page_size=2, window=window, cursor=cursor, most=1)
            if not _latest(pages):
                break
            order += [trace_id for trace_id in _latest(pages) if trace_id not in order]
            cursor = _through_json(pages[-1].cursor)
        assert order == put[4::-1], "newest first, each once, without the one that ended at the window's end"

    async def test_loses_no_ties_on_the_way_back(self, platform: ContractPlatform) -> None:
        put = _put(platform, 5, apart=0.0)
        end = _first_end(platform) + timedelta(seconds=1)
        window = Window(start=end - timedelta(seconds=10), end=end, newest_first=True)
        cursor: Mapping[str, JsonValue] | None = None
        given: dict[str, Trace] = {}
        for _ in range(30):
            pages = await _pull(platform, page_size=2, window=window, cursor=cursor, most=1)
            if not _latest(pages):
                break
            given |= _latest(pages)
            cursor = _through_json(pages[-1].cursor)
        assert sorted(given) == sorted(put), "a trace that ended at the same moment as another is lost"

    async def test_spares_what_is_not_wanted(self, platform: ContractPlatform) -> None:
        put = _put(platform, 5)
        left_out = list(put)[3]
        asked: list[str] = []

        def wanted(head: Trace) -> bool:
            asked.append(head.trace_id)
            return head.trace_id != left_out

        pages = await _pull(platform, page_size=2, wanted=wanted)
        assert sorted(_latest(pages)) == sorted(set(put) - {left_out})
        assert set(asked) == set(put), "each trace is asked about"
        assert sum(page.seen for page in pages) == 5, "what isn't wanted was seen all the same"

    async def test_keeps_fields_that_nobody_knows(self, platform: ContractPlatform) -> None:
        trace = make_sample(0, end=_first_end(platform)).trace
        span = trace.spans[0]
        marked = span.model_copy(update={"attributes": {**span.attributes, "zz_new_field": "kept-7f3a91"}})
        platform.put(replace(trace, spans=(marked, *trace.spans[1:])))
        given = _latest(await _pull(platform, page_size=3))
        assert "kept-7f3a91" in _text(given[trace.trace_id]), "a field that nobody knows is lost"

    async def test_fetches_a_trace_as_it_stands(self, platform: ContractPlatform) -> None:
        put = _put(platform, 3)
        given = _latest(await _pull(platform, page_size=3))
        chosen = list(put.values())[1]
        source = platform.source(page_size=3)
        try:
            origin = _origin(given[chosen.trace_id])
            assert _content(await source.fetch(origin)) == _content(given[chosen.trace_id])
            span = chosen.spans[1].model_copy(update={"span_id": "feedfacefeedface", "name": "came-late"})
            platform.put(replace(chosen, spans=(span,)))
            assert len((await source.fetch(origin)).spans) == len(chosen.spans) + 1, "an older state is fetched"
        finally:
            await source.close()

    async def test_says_that_a_trace_is_not_there(self, platform: ContractPlatform) -> None:
        _put(platform, 1)
        known = next(iter(_latest(await _pull(platform, page_size=3)).values()))
        source = platform.source(page_size=3)
        try:
            error = await _error(source.fetch(replace(_origin(known), trace_id="00000000000000000000000000000bad")))
        finally:
            await source.close()
        assert isinstance(error, RetryLater | SkipThis), f"{error!r} says neither to wait nor to pass it over"

    # ---- writing ----

    async def test_shows_a_score(self, platform: ContractPlatform) -> None:
        trace = next(iter(_put(platform, 1).values()))
        score = _score(platform, trace, 0.75, comment="0.75 · 3 of 4 claims grounded")
        assert await _push(platform, [score]) == ["delivered"]
        assert [(s.name, s.value, s.comment) for s in platform.scores()] == [
            ("contract", 0.75, "0.75 · 3 of 4 claims grounded")
        ]

    async def test_leaves_one_score_when_pushed_twice(self, platform: ContractPlatform) -> None:
        trace = next(iter(_put(platform, 1).values()))
        score = _score(platform, trace, 0.75)
        assert await _push(platform, [score]) == ["delivered"]
        assert await _push(platform, [score]) == ["delivered"]
        assert await _push(platform, [score, score]) == ["delivered", "delivered"]
        assert [s.value for s in platform.scores()] == [0.75], "pushing again adds a score"

    async def test_replaces_a_score(self, platform: ContractPlatform) -> None:
        trace = next(iter(_put(platform, 1).values()))
        await _push(platform, [_score(platform, trace, 0.75, comment="before")])
        await _push(platform, [_score(platform, trace, 0.25, comment="re-scored")])
        assert [(s.value, s.comment) for s in platform.scores()] == [(0.25, "re-scored")]

    async def test_withdraws_a_score(self, platform: ContractPlatform) -> None:
        first, second = _put(platform, 2).values()
        await _push(platform, [_score(platform, first, 0.75), _score(platform, second, 0.5)])
        assert await _push(platform, [_score(platform, first, None)]) == ["delivered"]
        assert [s.value for s in platform.scores()] == [0.5], "the score that was withdrawn stays, or another went"
        assert await _push(platform, [_score(platform, first, None)]) == ["delivered"], "a second time is nothing"

    async def test_answers_for_each_score_in_order(self, platform: ContractPlatform) -> None:
        traces = list(_put(platform, 5).values())
        scores = [
            _score(platform, trace, None if at in (1, 4) else at / 4, name="contract")
            for at, trace in enumerate(traces)
        ]
        sink = platform.sink()
        try:
            deliveries = await sink.push(scores)
            assert await sink.push([]) == []
        finally:
            await sink.close()
        assert [d.score_id for d in deliveries] == [s.score_id for s in scores]
        assert [d.state for d in deliveries] == ["delivered"] * 5
        assert sorted(float(s.value) for s in platform.scores()) == [0.0, 0.5, 0.75]

    # ---- what goes wrong ----

    async def test_waits_as_long_as_it_is_told(self, platform: ContractPlatform) -> None:
        trace = await _with_http(platform)
        for error in await _errors(platform, trace, 429, retry_after=7.0):
            assert isinstance(error, RetryLater), f"429 raises {type(error).__name__}"
            assert error.after == 7.0, f"it was told to wait 7 s and waits {error.after}"

    async def test_waits_for_a_platform_that_is_down(self, platform: ContractPlatform) -> None:
        trace = await _with_http(platform)
        for error in await _errors(platform, trace, 503):
            assert isinstance(error, RetryLater), f"503 raises {type(error).__name__}"

    async def test_gives_up_where_the_key_is_refused(self, platform: ContractPlatform) -> None:
        trace = await _with_http(platform)
        for error in await _errors(platform, trace, 401):
            assert isinstance(error, GiveUp), f"401 raises {type(error).__name__}"

    async def test_goes_on_after_a_failure(self, platform: ContractPlatform) -> None:
        trace = await _with_http(platform)
        await _errors(platform, trace, 503)
        assert trace.trace_id in _latest(await _pull(platform, page_size=3))
        assert await _push(platform, [_score(platform, trace, 1.0)]) == ["delivered"]

    async def test_checks_without_raising(self, platform: ContractPlatform) -> None:
        _put(platform, 1)
        for face in (platform.source(page_size=3), platform.sink()):
            try:
                findings = list(await face.check())
                assert findings, "a check says something"
                assert all(finding.state != "failed" for finding in findings), "a healthy platform fails its check"
                if platform.speaks_http:
                    platform.fail(401)
                    assert any(finding.state == "failed" for finding in await face.check()), "a refused key is no news"
            finally:
                await face.close()

    async def test_shows_no_secret(self, platform: ContractPlatform) -> None:
        trace = next(iter(_put(platform, 1).values()))
        texts = [str(error) + repr(error) for error in await _some_errors(platform, trace)]
        for face in (platform.source(page_size=3), platform.sink()):
            try:
                texts += [repr(face), str(face), repr(vars(face)) if hasattr(face, "__dict__") else ""]
                texts += [finding.message for finding in await face.check()]
            finally:
                await face.close()
        for secret in platform.secrets:
            assert len(secret) >= _SECRET_AT_LEAST, "a secret this short can't be told from other text"
            assert not any(secret in text for text in texts), "a secret is shown"


_FIRST_ENDS: "WeakKeyDictionary[ContractPlatform, datetime]" = WeakKeyDictionary()


def _first_end(platform: ContractPlatform) -> datetime:
    """Five minutes before the test began: settled, not long enough ago to be forgotten, and the same all through it."""
    if platform not in _FIRST_ENDS:
        _FIRST_ENDS[platform] = platform.now().replace(microsecond=0) - timedelta(seconds=300)
    return _FIRST_ENDS[platform]


def _put(platform: ContractPlatform, count: int, *, first: int = 0, apart: float = 1.0) -> dict[str, Trace]:
    """Put traces whose roots end `apart` seconds from one another, the first five minutes ago."""
    end = _first_end(platform)
    traces = [make_sample(at, end=end + timedelta(seconds=at * apart)).trace for at in range(first, first + count)]
    for trace in traces:
        platform.put(trace)
    return {trace.trace_id: trace for trace in traces}


async def _pull(
    platform: ContractPlatform,
    *,
    page_size: int,
    cursor: Mapping[str, JsonValue] | None = None,
    window: Window | None = None,
    wanted: Wanted | None = None,
    most: int | None = None,
) -> list[Page]:
    """The pages that a new source gives, at most `most` with traces; the cursor goes through JSON, as in a database."""
    source = platform.source(page_size=page_size)
    window = window or Window(start=platform.now() - timedelta(hours=1))
    pages: list[Page] = []
    try:
        async with aclosing(  # type: ignore[type-var]
            source.pull(window, None if cursor is None else _through_json(cursor), wanted=wanted)
        ) as given:
            async for page in given:
                pages.append(page)
                if most is not None and sum(bool(page.traces) for page in pages) == most:
                    break
    finally:
        await source.close()
    return pages


async def _push(platform: ContractPlatform, scores: Sequence[Score]) -> list[str]:
    sink = platform.sink()
    try:
        return [delivery.state for delivery in await sink.push(scores)]
    finally:
        await sink.close()


async def _with_http(platform: ContractPlatform) -> Trace:
    """One trace on a platform that has status codes to answer with; the test is skipped on another."""
    import pytest

    if not platform.speaks_http:
        pytest.skip("this platform answers with no status codes")
    return next(iter(_put(platform, 1).values()))


async def _errors(
    platform: ContractPlatform, trace: Trace, status: int, *, retry_after: float | None = None
) -> list[BaseException]:
    """What a pull, a fetch and a push raise when the platform answers so."""
    source, sink = platform.source(page_size=3), platform.sink()
    try:
        platform.fail(status, retry_after=retry_after)
        errors = [await _error(_first_page(source, Window(start=platform.now() - timedelta(hours=1))))]
        platform.fail(status, retry_after=retry_after)
        errors.append(await _error(source.fetch(_origin(trace))))
        platform.fail(status, retry_after=retry_after)
        errors.append(await _error(sink.push([_score(platform, trace, 0.5)])))
    finally:
        await source.close()
        await sink.close()
    return errors


async def _some_errors(platform: ContractPlatform, trace: Trace) -> list[BaseException]:
    if not platform.speaks_http:
        return []
    return [error for status in (401, 403, 429, 500) for error in await _errors(platform, trace, status)]


async def _first_page(source: Source, window: Window) -> Page | None:
    async for page in source.pull(window, None):
        return page
    return None


async def _error(doing: Awaitable[object]) -> BaseException:
    try:
        await doing
    except GroundwireError as error:
        return error
    raise AssertionError("the platform refused, and nothing was raised")


def _latest(pages: Sequence[Page]) -> dict[str, Trace]:
    """The last state given of each trace."""
    return {trace.trace_id: trace for page in pages for trace in page.traces}


def _by_id(trace: Trace) -> list[Span]:
    return sorted(trace.spans, key=lambda span: span.span_id)


def _text(trace: Trace) -> str:
    return json.dumps(_TRACES.dump_python(trace, mode="json"), ensure_ascii=False)


def _content(trace: Trace) -> str:
    """All that a trace says, whatever the order of its spans."""
    state = _TRACES.dump_python(replace(trace, spans=tuple(_by_id(trace)), origin=""), mode="json")
    return json.dumps(state, sort_keys=True)


def _answer(trace: Trace) -> str:
    root = trace.root
    return root.output_messages[-1].text if root is not None else ""


def _origin(trace: Trace) -> Origin:
    return Origin(
        trace_id=trace.trace_id,
        start_time=trace.start_time,
        end_time=trace.end_time,
        hints={"origin": trace.origin},
    )


def _score(
    platform: ContractPlatform, trace: Trace, value: float | None, *, comment: str = "", name: str = "contract"
) -> Score:
    root = trace.root
    return Score(
        score_id=str(uuid5(NAMESPACE_URL, f"{trace.trace_id}/{name}")),
        name=name,
        value=value,
        target=Target(
            project="contract",
            trace_id=trace.trace_id,
            root_span_id=None if root is None else root.span_id,
            start_time=trace.start_time or platform.now(),
            environment=trace.environment,
        ),
        comment=comment,
        metadata={"judge": "contract"},
    )


def _through_json(cursor: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    decoded = json.loads(json.dumps(cursor))
    assert isinstance(decoded, dict)
    return decoded
