"""What is new on a real Phoenix, in the order of storing: late, open, deleted and numbered anew; and an old server."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import JsonValue
from tests.phoenix.server import Phoenix, span_of

from groundwire.connectors import Origin, Page, Trace, Window
from groundwire.connectors.http import Patience
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSource, feed, place, spans
from groundwire.connectors.phoenix.wire import Wire
from groundwire.connectors.testing import make_sample
from groundwire.scorer import RetryLater, SkipThis

pytestmark = pytest.mark.phoenix

Cursor = Mapping[str, JsonValue]


class Reader:
    """Looks again and again, each time with a source of its own and the last look's cursor."""

    def __init__(self, phoenix: Phoenix, project: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.settings = PhoenixSettings(host=phoenix.url, project=project, settle=30, rootless_after=300, overlap=60)
        self.ahead = timedelta(0)
        self.cursor: Cursor | None = None
        self.window = Window(start=datetime.now(UTC) - timedelta(days=10))
        self.problems: list[str] = []
        self._transport = transport

    async def source(self) -> PhoenixSource:
        wire = Wire(
            self.settings,
            patience=Patience(attempts=1),
            now=lambda: datetime.now(UTC) + self.ahead,
            transport=self._transport,
        )
        return PhoenixSource(self.settings, wire=wire, page=3)

    async def look(self) -> dict[str, Trace]:
        found: dict[str, Trace] = {}
        source = await self.source()
        try:
            async for page in source.pull(self.window, self.cursor):
                self.cursor = page.cursor
                found |= {trace.trace_id: trace for trace in page.traces}
        finally:
            await source.close()
        return found


@pytest.fixture
def reader(phoenix: Phoenix, project: str) -> Reader:
    return Reader(phoenix, project)


def ended(index: int, **ago: float) -> Trace:
    return make_sample(index, end=datetime.now(UTC) - timedelta(**ago)).trace


def without_root(trace: Trace) -> Trace:
    return replace(trace, spans=trace.spans[1:])


async def test_a_span_that_is_a_week_late_brings_its_trace_again(
    phoenix: Phoenix, project: str, reader: Reader
) -> None:
    old = ended(1, days=8)
    phoenix.put(project, old)
    assert set(await reader.look()) == {old.trace_id}
    for minute in (2, 4, 6):  # what was given is forgotten
        reader.ahead = timedelta(minutes=minute)
        assert await reader.look() == {}
    tool = next(span for span in old.spans if span.kind == "TOOL")
    phoenix.send(project, [span_of(tool.model_copy(update={"span_id": "f" * 16}))])
    found = await reader.look()
    assert [len(trace.spans) for trace in found.values()] == [len(old.spans) + 1]
    assert await reader.look() == {}


async def test_a_trace_is_given_once_it_has_settled(phoenix: Phoenix, project: str, reader: Reader) -> None:
    fresh = ended(1, seconds=5)
    phoenix.put(project, fresh)
    assert await reader.look() == {}
    reader.ahead = timedelta(seconds=20)
    assert await reader.look() == {}
    reader.ahead = timedelta(seconds=40)
    assert set(await reader.look()) == {fresh.trace_id}
    reader.ahead = timedelta(minutes=5)
    assert await reader.look() == {}


async def test_a_trace_without_a_root_is_given_after_a_while_and_again_with_it(
    phoenix: Phoenix, project: str, reader: Reader
) -> None:
    whole = ended(1, seconds=60)
    phoenix.put(project, without_root(whole))
    assert await reader.look() == {}
    reader.ahead = timedelta(minutes=6)
    assert [len(trace.spans) for trace in (await reader.look()).values()] == [len(whole.spans) - 1]
    reader.ahead = timedelta(minutes=8)
    assert await reader.look() == {}
    phoenix.put(project, replace(whole, spans=whole.spans[:1]))
    [given] = (await reader.look()).values()
    assert given.root == given.spans[0]
    assert len(given.spans) == len(whole.spans)


async def test_a_root_that_comes_while_its_trace_is_waited_for_gives_it_whole(
    phoenix: Phoenix, project: str, reader: Reader
) -> None:
    whole = ended(1, seconds=60)
    phoenix.put(project, without_root(whole))
    assert await reader.look() == {}
    phoenix.put(project, replace(whole, spans=whole.spans[:1]))
    assert [len(trace.spans) for trace in (await reader.look()).values()] == [len(whole.spans)]
    reader.ahead = timedelta(minutes=10)
    assert await reader.look() == {}, "it isn't waited for any longer"


async def test_numbers_that_are_used_again_hide_nothing(phoenix: Phoenix, project: str, reader: Reader) -> None:
    first, second, third = (ended(index, minutes=5) for index in range(3))
    phoenix.put(project, first)
    phoenix.put(project, second)
    assert set(await reader.look()) == {first.trace_id, second.trace_id}
    reader.ahead = timedelta(minutes=2)
    assert await reader.look() == {}
    numbers = {row["id"] for row in phoenix.spans(project, trace_id=[second.trace_id])}
    phoenix.http.delete(f"/v1/traces/{second.trace_id}").raise_for_status()
    phoenix.put(project, third)
    assert numbers & {row["id"] for row in phoenix.spans(project)}, "SQLite gives out the last numbers again"
    assert third.trace_id in await reader.look()
    assert await reader.look() == {}


async def test_a_project_that_was_deleted_and_made_again_is_read_on(
    phoenix: Phoenix, project: str, reader: Reader
) -> None:
    phoenix.put(project, ended(1, minutes=5))
    assert len(await reader.look()) == 1
    reader.ahead = timedelta(minutes=2)
    await reader.look()
    phoenix.delete_project(project)
    with pytest.raises(RetryLater, match=f'no project "{project}" yet'):
        await reader.look()
    again = ended(2, minutes=3)
    phoenix.put(project, again)
    assert set(await reader.look()) == {again.trace_id}


async def test_a_backlog_of_many_chunks_is_given_whole_and_once(
    phoenix: Phoenix, project: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "_A_CHUNK", 40)
    monkeypatch.setattr(spans, "_FIRST", 20)
    monkeypatch.setattr(spans, "_MOST", 30)
    monkeypatch.setattr(place, "_IN_FLIGHT", 50)
    traces = [ended(index, minutes=5) for index in range(40)]
    sent = [span_of(span) for trace in traces for span in trace.spans]
    phoenix.send(project, [*sent[1::2], *sent[::2]])  # every trace lies across the chunks
    whole = {trace.trace_id: len(trace.spans) for trace in traces}
    source = await reader.source()
    given: list[str] = []
    async for page in source.pull(reader.window, None):
        given += [trace.trace_id for trace in page.traces]
        assert all(len(trace.spans) == whole[trace.trace_id] for trace in page.traces)
        reader.cursor = page.cursor
    await source.close()
    assert len(given) == len(set(given)) == 40
    assert reader.cursor is not None
    assert reader.cursor["floor"] is not None
    assert len(str(reader.cursor["seen"])) < 2_000
    assert await reader.look() == {}


class OldServer(httpx.AsyncBaseTransport):
    """The server as it was before it could list spans in order: what it doesn't know is passed over."""

    def __init__(self) -> None:
        self._way = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/spans"):
            request.url = request.url.copy_remove_param("sort").copy_remove_param("order")
        answer = await self._way.handle_async_request(request)
        answer.headers["x-phoenix-server-version"] = "20.15.3"
        return answer

    async def aclose(self) -> None:
        """Left open for the next look."""

    async def end(self) -> None:
        await self._way.aclose()


@pytest.fixture
async def old_server() -> AsyncIterator[OldServer]:
    server = OldServer()
    yield server
    await server.end()


async def test_a_server_without_the_order_of_storing_is_read_by_time(
    phoenix: Phoenix, project: str, old_server: OldServer
) -> None:
    reader = Reader(phoenix, project, transport=old_server)
    traces = [ended(index, minutes=5 - index) for index in range(3)]
    for trace in traces:
        phoenix.put(project, trace)
    found = await reader.look()
    assert {key: len(trace.spans) for key, trace in found.items()} == {
        trace.trace_id: len(trace.spans) for trace in traces
    }
    assert await reader.look() == {}
    tool = next(span for span in traces[0].spans if span.kind == "TOOL")
    phoenix.send(project, [span_of(tool.model_copy(update={"span_id": "f" * 16}))])
    assert set(await reader.look()) == {traces[0].trace_id}
    source = await reader.source()
    late = [one for one in await source.check() if one.state == "warning"]
    assert [one.what for one in late] == ["host"]
    assert "upgrade it to 20.16" in late[0].message


async def test_a_session_is_fetched_in_the_order_of_its_turns(phoenix: Phoenix, project: str, reader: Reader) -> None:
    turns = [replace(ended(index, minutes=10 - index), session_id="chat-1") for index in range(3)]
    for trace in (*reversed(turns), replace(ended(9, minutes=1), session_id="chat-2")):
        phoenix.put(project, trace)
    source = await reader.source()
    session = await source.fetch_session("chat-1")
    assert [trace.trace_id for trace in session] == [trace.trace_id for trace in turns]
    assert [trace.session_id for trace in session] == ["chat-1"] * 3
    assert await source.fetch_session("nobody") == ()
    await source.close()


async def test_a_trace_says_who_asked_what_and_when(phoenix: Phoenix, project: str, reader: Reader) -> None:
    sent = replace(ended(1, minutes=5), metadata={"plan": "gold", "deep": {"x.y": [1, 2]}, "index": 3})
    phoenix.put(project, sent)
    [given] = (await reader.look()).values()
    assert (given.name, given.user_id, given.session_id, given.tags) == (
        sent.name,
        sent.user_id,
        sent.session_id,
        sent.tags,
    )
    assert given.metadata["plan"] == "gold"
    assert given.metadata["index"] == 3
    assert (given.start_time, given.end_time) == (sent.start_time, sent.end_time)
    assert given.models == ("made-up-1",)
    assert given.source == "openinference"


async def test_a_trace_that_is_not_there_is_waited_for_and_then_gone(reader: Reader) -> None:
    source = await reader.source()
    with pytest.raises(RetryLater):
        await source.fetch(Origin(trace_id="a" * 32, end_time=datetime.now(UTC)))
    with pytest.raises(SkipThis, match="is gone from Phoenix"):
        await source.fetch(Origin(trace_id="a" * 32, end_time=datetime.now(UTC) - timedelta(days=1)))
    await source.close()


async def test_history_is_given_in_the_order_of_ends_either_way(phoenix: Phoenix, project: str, reader: Reader) -> None:
    traces = [ended(index, hours=30 - 7 * index) for index in range(5)]
    for trace in (*traces[::2], *traces[1::2]):
        phoenix.put(project, trace)

    async def order(*, newest_first: bool) -> list[str]:
        source = await reader.source()
        window = Window(start=datetime.now(UTC) - timedelta(days=2), end=datetime.now(UTC), newest_first=newest_first)
        pages: list[Page] = [page async for page in source.pull(window, None)]
        await source.close()
        return [trace.trace_id for page in pages for trace in page.traces]

    assert await order(newest_first=False) == [trace.trace_id for trace in traces]
    assert await order(newest_first=True) == [trace.trace_id for trace in reversed(traces)]
