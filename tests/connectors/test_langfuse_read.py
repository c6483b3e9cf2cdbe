"""Reading a Langfuse project on loopback: what is new, late, changed, rootless, odd or too large."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.langfuse_app import SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import NOON, Clock, agent_trace, row, settings_for, source_for

from groundwire.connectors import Origin, Page, Trace, Window
from groundwire.connectors.langfuse import LangfuseSource
from groundwire.connectors.langfuse.groups import by_trace, is_late, lacks_rows, reach
from groundwire.connectors.langfuse.place import Place
from groundwire.connectors.langfuse.rows import folded
from groundwire.scorer import ConfigError, RetryLater, SkipThis


class Project:
    """A loopback project, its clock, and one source whose cursor is kept."""

    def __init__(self, app: LangfuseApp, url: str, clock: Clock, **more: Any) -> None:
        self.app, self.url, self.clock = app, url, clock
        self.source: LangfuseSource = source_for(url, clock, **more)
        self.opened = [self.source]
        self.cursor: Any = None
        self.start = clock() - timedelta(hours=1)

    def again(self, **more: Any) -> None:
        """Another process goes on with the same cursor."""
        self.source = source_for(self.url, self.clock, **more)
        self.opened.append(self.source)

    async def close(self) -> None:
        for source in self.opened:
            await source.close()

    async def pages(self, window: Window | None = None, *, wanted: Any = None) -> list[Page]:
        pages = []
        async for page in self.source.pull(window or Window(start=self.start), self.cursor, wanted=wanted):
            pages.append(page)
            self.cursor = json.loads(json.dumps(page.cursor))
        return pages

    async def pull(self, window: Window | None = None, *, wanted: Any = None) -> list[Trace]:
        return [trace for page in await self.pages(window, wanted=wanted) for trace in page.traces]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@asynccontextmanager
async def looking(app: LangfuseApp, clock: Clock, **more: Any) -> AsyncIterator[Project]:
    with served(app) as url:
        project = Project(app, url, clock, **more)
        try:
            yield project
        finally:
            await project.close()


@pytest.fixture
async def project(clock: Clock) -> AsyncIterator[Project]:
    async with looking(LangfuseApp(clock=clock, monotonic=clock.monotonic), clock) as project:
        yield project


def ids(traces: list[Trace]) -> list[str]:
    return [trace.trace_id for trace in traces]


def sent(trace: Trace) -> set[str]:
    return {span.name for span in trace.spans}


# ---- time ----


async def test_what_has_not_settled_comes_with_the_next_look(project: Project, clock: Clock) -> None:
    young = agent_trace(project.app, 1, end=clock() - timedelta(seconds=30))
    assert await project.pull() == []
    clock.forward(60)
    assert ids(await project.pull()) == [young]
    clock.forward(60)
    assert await project.pull() == []


async def test_a_root_that_arrives_ten_minutes_late_comes_by_the_hourly_sweep(project: Project, clock: Clock) -> None:
    early = agent_trace(project.app, 1, end=clock() - timedelta(minutes=2))
    assert ids(await project.pull()) == [early]
    clock.forward(300)
    await project.pull()
    late = agent_trace(project.app, 2, end=clock() - timedelta(minutes=10))
    assert await project.pull() == []  # it ended before what is looked at again
    clock.forward(3600)
    assert ids(await project.pull()) == [late]
    clock.forward(3600)
    assert await project.pull() == []  # once


async def test_a_longer_lateness_finds_a_late_root_at_the_next_look(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with looking(app, clock, lateness=1200) as project:
        agent_trace(app, 1, end=clock() - timedelta(minutes=5))
        await project.pull()
        clock.forward(300)
        late = agent_trace(app, 2, end=clock() - timedelta(minutes=10))
        assert ids(await project.pull()) == [late]


async def test_a_span_that_arrives_ten_minutes_after_the_trace_was_read(project: Project, clock: Clock) -> None:
    trace_id = agent_trace(project.app, 1, end=clock() - timedelta(minutes=2))
    assert len((await project.pull())[0].spans) == 3
    clock.forward(600)
    await project.pull()
    root = f"{1:012x}0000"
    project.app.put(row(trace_id, "late", start=clock() - timedelta(minutes=12, seconds=3), parent=root, type="TOOL"))
    clock.forward(3600)
    again = await project.pull()
    assert ids(again) == [trace_id]
    assert len(again[0].spans) == 4


async def test_the_daily_sweep_looks_back_a_week(project: Project, clock: Clock) -> None:
    project.start = clock() - timedelta(days=10)
    await project.pull()
    clock.forward(86_400)
    await project.pull()
    offline = agent_trace(project.app, 7, end=clock() - timedelta(days=3))
    clock.forward(3_600)
    assert await project.pull() == []  # the hourly one sees a day
    clock.forward(86_400)
    assert ids(await project.pull()) == [offline]


async def test_a_trace_over_two_windows_is_given_whole_once(project: Project, clock: Clock) -> None:
    trace_id = f"{9:032x}"
    begin = clock() - timedelta(seconds=240)
    project.app.put(row(trace_id, "tool", start=begin + timedelta(seconds=1), parent="root", type="TOOL"))
    assert await project.pull() == []
    clock.forward(120)
    project.app.put(row(trace_id, "root", start=begin, seconds=330, type="AGENT", input="q", output="a"))
    assert await project.pull() == []  # its end hasn't settled
    clock.forward(60)
    given = await project.pull()
    assert ids(given) == [trace_id]
    assert {span.span_id for span in given[0].spans} == {"root", "tool"}


async def test_a_trace_that_began_hours_before_the_others_is_read_alone(project: Project, clock: Clock) -> None:
    slow = f"{77:032x}"
    project.app.put(row(slow, "slow-tool", start=clock() - timedelta(hours=2), parent="slow-root", type="TOOL"))
    project.app.put(
        row(slow, "slow-root", start=clock() - timedelta(hours=3), seconds=3 * 3600 - 120, type="AGENT", output="x")
    )
    others = [agent_trace(project.app, number, end=clock() - timedelta(seconds=120 + number)) for number in range(9)]
    given = await project.pull()
    assert sorted(ids(given)) == sorted([slow, *others])
    assert {span.span_id for trace in given if trace.trace_id == slow for span in trace.spans} == {
        "slow-root",
        "slow-tool",
    }


async def test_a_never_ended_root_is_given_as_it_is_after_its_time(project: Project, clock: Clock) -> None:
    trace_id = f"{5:032x}"
    begin = clock() - timedelta(minutes=5)
    project.app.put(row(trace_id, "root", start=begin, type="AGENT", output=None) | {"endTime": None})
    project.app.put(row(trace_id, "tool", start=begin, parent="root", type="TOOL"))
    assert await project.pull() == []
    clock.forward(600)
    given = await project.pull()
    assert ids(given) == [trace_id]
    root = given[0].root
    assert root is not None
    assert root.end_time is None
    clock.forward(600)
    assert await project.pull() == []


# ---- roots ----


async def test_traces_without_a_root_come_once_with_their_earliest_row_as_root(project: Project, clock: Clock) -> None:
    trace_id = f"{3:032x}"
    begin = clock() - timedelta(minutes=5)
    for number, name in enumerate(("plan", "tool", "answer")):
        kind = {"tool": "TOOL"}.get(name, "GENERATION")
        project.app.put(
            row(trace_id, name, start=begin + timedelta(seconds=number), parent="elsewhere", type=kind, name=name)
        )
    assert await project.pull() == []
    clock.forward(600)
    given = await project.pull()
    assert ids(given) == [trace_id]
    assert "no_root" in given[0].flags
    assert [(span.name, span.parent_id) for span in given[0].spans] == [
        ("plan", None),
        ("tool", "plan"),
        ("answer", "plan"),
    ]
    for _ in range(3):
        clock.forward(300)
        assert await project.pull() == []


async def test_a_root_that_comes_after_all_replaces_what_was_given_without_it(project: Project, clock: Clock) -> None:
    trace_id = f"{3:032x}"
    begin = clock() - timedelta(minutes=5)
    project.app.put(row(trace_id, "tool", start=begin, parent="root", type="TOOL"))
    await project.pull()
    clock.forward(600)
    assert ids(await project.pull()) == [trace_id]
    project.app.put(row(trace_id, "root", start=begin, seconds=3, type="AGENT", input="q", output="a"))
    clock.forward(3600)
    given = await project.pull()
    assert ids(given) == [trace_id]
    assert given[0].flags == ()
    assert {span.span_id for span in given[0].spans} == {"root", "tool"}


async def test_two_roots_are_told(project: Project, clock: Clock) -> None:
    trace_id = f"{4:032x}"
    begin = clock() - timedelta(minutes=5)
    project.app.put(row(trace_id, "a", start=begin, parent="gone-1", isRootObservation=True, type="AGENT"))
    project.app.put(row(trace_id, "b", start=begin, seconds=2, parent="gone-2", isRootObservation=True, type="AGENT"))
    given = await project.pull()
    assert [(trace.trace_id, trace.flags) for trace in given] == [(trace_id, ("several_roots",))]


async def test_a_parent_that_never_arrives_leaves_its_child_under_the_root(project: Project, clock: Clock) -> None:
    trace_id = agent_trace(project.app, 1, end=clock() - timedelta(minutes=3))
    project.app.put(row(trace_id, "orphan", start=clock() - timedelta(minutes=3), parent="never", type="TOOL"))
    given = await project.pull()
    assert given[0].flags == ("missing_parents",)
    assert {span.span_id: span.parent_id for span in given[0].spans}["orphan"] == f"{1:012x}0000"


# ---- odd rows ----


async def test_odd_rows_are_read_as_far_as_they_can_be(project: Project, clock: Clock) -> None:
    begin = clock() - timedelta(minutes=5)
    odd = "a/b ü%20\u2028"
    project.app.put(row(odd, "r/1 ?#", start=begin, seconds=4, type="AGENT", input="not {json", output=None))
    project.app.put(row(odd, "new", start=begin, parent="r/1 ?#", type="HOLOGRAM", name="n" * 900, input="[1, 2"))
    project.app.put(
        row(odd, "cost", start=begin, parent="r/1 ?#", type="GENERATION", usageDetails={"input": "NaN", "output": 3})
    )
    project.app.put({"id": "", "traceId": odd, "startTime": begin.isoformat(), "parentObservationId": "x"})
    given = await project.pull()
    assert ids(given) == [odd]
    spans = {span.span_id: span for span in given[0].spans}
    assert set(spans) == {"r/1 ?#", "new", "cost"}
    assert (spans["r/1 ?#"].input, spans["r/1 ?#"].output) == ("not {json", None)
    assert (spans["new"].kind, len(spans["new"].name), spans["new"].input) == ("UNKNOWN", 900, "[1, 2")
    assert spans["cost"].usage == {"output": 3}
    again = await project.source.fetch(Origin(trace_id=odd, start_time=begin))
    assert again == given[0]


async def test_rows_that_were_sent_twice_are_one_span_in_its_newest_state(project: Project, clock: Clock) -> None:
    trace_id = agent_trace(project.app, 1, end=clock() - timedelta(minutes=3))
    project.app.put_copy({"traceId": trace_id, "id": f"{1:012x}0000", "output": "A second answer."})
    given = await project.pull()
    assert len(given[0].spans) == 3
    root = given[0].root
    assert root is not None
    assert root.output == "A second answer."


async def test_an_output_too_large_to_send_is_named_and_the_rest_is_read(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with looking(app, clock) as project:
        trace_id = agent_trace(app, 1, end=clock() - timedelta(minutes=3))
        app.put(
            row(
                trace_id, "huge", start=clock() - timedelta(minutes=3, seconds=4), parent=f"{1:012x}0000", type="TOOL",
                name="dump", output="x" * 9_000_000,
            )
        )  # fmt: skip
        other = agent_trace(app, 2, end=clock() - timedelta(minutes=3))
        pages = await project.pages()
    traces = {trace.trace_id: trace for page in pages for trace in page.traces}
    assert set(traces) == {trace_id, other}
    assert "body_too_large" in traces[trace_id].flags
    assert traces[other].flags == ()
    assert {span.name: span.output for span in traces[trace_id].spans}["dump"] is None
    problems = [problem for page in pages for problem in page.problems]
    assert problems == [
        f"trace {trace_id}: Langfuse could not send the input and output of observation huge, "
        "because they are too large"
    ]


async def test_a_stretch_that_the_database_cannot_answer_for_is_cut_in_two(project: Project, clock: Clock) -> None:
    for number in range(40):
        agent_trace(project.app, number, end=clock() - timedelta(minutes=50) + timedelta(seconds=30 * number))
    rows = project.source._rows
    await project.pull(wanted=lambda head: False)
    project.app.fail(422, body={"message": "narrow your request", "error": "Request timed out"}, times=4)
    found = await rows.started(clock() - timedelta(hours=1), clock(), bodies=True)
    assert found is not None
    assert len(found) == 120


async def test_big_bodies_make_small_pages_that_grow_back(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with looking(app, clock) as project:
        for number in range(60):
            agent_trace(app, number, end=clock() - timedelta(minutes=40) + timedelta(seconds=number), size=100_000)
        for number in range(60, 120):
            agent_trace(app, number, end=clock() - timedelta(minutes=30) + timedelta(seconds=number), size=10)
        given = await project.pull()
        assert len(given) == 120
        assert project.source._rows.a_page > 30


# ---- history ----


async def test_history_is_read_by_windows_and_not_trace_by_trace(project: Project, clock: Clock) -> None:
    end = clock() - timedelta(days=2)
    put = [agent_trace(project.app, number, end=end + timedelta(seconds=number)) for number in range(500)]
    before = project.app.calls.total()
    given = await project.pull(Window(start=end - timedelta(days=1), end=end + timedelta(days=1)))
    assert ids(given) == put  # in the order in which they ended
    assert project.app.calls.total() - before <= 20


async def test_history_goes_on_after_a_kill_without_loss(project: Project, clock: Clock) -> None:
    end = clock() - timedelta(days=2)
    put = [agent_trace(project.app, number, end=end + timedelta(seconds=number // 3)) for number in range(60)]
    window = Window(start=end - timedelta(hours=1), end=end + timedelta(hours=1))
    seen: list[str] = []
    for _ in range(20):
        project.again(page=7)
        async for page in project.source.pull(window, project.cursor):
            seen += ids(list(page.traces))
            project.cursor = json.loads(json.dumps(page.cursor))
            if page.traces:
                break  # killed after the page was kept
    assert sorted(set(seen)) == sorted(put)
    assert len(seen) <= len(put) + 20


async def test_history_has_traces_without_a_root_too(project: Project, clock: Clock) -> None:
    end = clock() - timedelta(days=2)
    for number in range(30):
        agent_trace(project.app, number, end=end + timedelta(seconds=60 * number))
    stray = f"{999:032x}"
    project.app.put(row(stray, "s1", start=end + timedelta(minutes=7), parent="gone", type="TOOL"))
    given = await project.pull(Window(start=end - timedelta(hours=1), end=end + timedelta(hours=1)))
    assert len(given) == 31
    assert [trace.flags for trace in given if trace.trace_id == stray] == [("no_root",)]
    assert ids(given).count(stray) == 1


async def test_the_bodies_of_what_nobody_wants_are_not_read(project: Project, clock: Clock) -> None:
    end = clock() - timedelta(minutes=30)
    for number in range(200):
        agent_trace(project.app, number, end=end + timedelta(seconds=number))
    pages = await project.pages(wanted=lambda head: head.trace_id == f"{150:032x}")
    assert [trace.trace_id for page in pages for trace in page.traces] == [f"{150:032x}"]
    assert sum(page.seen for page in pages) == 200
    project.again()
    project.cursor = None
    heads: list[Trace] = []

    def kept(head: Trace) -> bool:
        heads.append(head)
        return False

    await project.pull(wanted=kept)
    assert len(heads) == 200
    assert all(span.output is None and not span.output_messages for head in heads for span in head.spans)
    assert heads[0].session_id is not None
    assert heads[0].environment == "production"


async def test_an_epoch_of_nothing_costs_few_requests(project: Project, clock: Clock) -> None:
    agent_trace(project.app, 1, end=clock() - timedelta(days=400))
    given = await project.pull(Window(start=NOON.replace(year=1971)))
    assert len(given) == 1
    assert project.app.calls.total() < 40


# ---- servers ----


@pytest.mark.parametrize("mode", ["v3", "legacy"])
async def test_a_server_without_v2_observations(clock: Clock, mode: str) -> None:
    app = LangfuseApp(clock=clock, version="3.150.0" if mode == "v3" else "4.16.0", mode=mode)
    async with looking(app, clock) as project:
        project.start = clock() - timedelta(hours=2)
        put = [agent_trace(app, number, end=clock() - timedelta(minutes=30 - number)) for number in range(12)]
        given = await project.pull()
        assert sorted(ids(given)) == sorted(put)
        assert sent(given[0]) == {"support-agent", "find_order", "answer"}
        assert [span.kind for span in given[0].spans] == ["AGENT", "TOOL", "LLM"]
        clock.forward(60)
        assert await project.pull() == []
        app.put(
            row(put[3], "late", start=clock() - timedelta(minutes=20), parent=f"{3:012x}0000", type="TOOL", name="late")
        )
        clock.forward(60)
        again = await project.pull()
        assert ids(again) == [put[3]]
        assert "late" in sent(again[0])
        assert (await project.source.fetch(Origin(trace_id=put[0]))).trace_id == put[0]
        with pytest.raises(RetryLater):
            await project.source.fetch(Origin(trace_id="unknown", start_time=clock()))
        assert [trace.trace_id for trace in await project.source.fetch_session("chat-1")] == put[3:6]


async def test_an_upgraded_server_is_asked_again_what_it_offers(clock: Clock) -> None:
    app = LangfuseApp(clock=clock, version="4.16.0", mode="legacy")
    async with looking(app, clock) as project:
        first = agent_trace(app, 1, end=clock() - timedelta(minutes=20))
        assert ids(await project.pull()) == [first]
        app.mode = "events_only"
        clock.forward(60)
        with pytest.raises(RetryLater):
            await project.pull()
        second = agent_trace(app, 2, end=clock() - timedelta(minutes=2))
        assert second in ids(await project.pull())


async def test_a_trace_that_is_not_there_yet_and_one_that_is_gone(project: Project, clock: Clock) -> None:
    with pytest.raises(RetryLater):
        await project.source.fetch(Origin(trace_id="x", start_time=clock() - timedelta(minutes=2)))
    with pytest.raises(SkipThis):
        await project.source.fetch(Origin(trace_id="x", start_time=clock() - timedelta(hours=2)))


async def test_long_metadata_is_whole_only_where_it_is_named(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    agent_trace(app, 1, end=clock() - timedelta(minutes=3), metadata={"prompt": "p" * 300, "tenant": "acme"})
    async with looking(app, clock) as project:
        cut = await project.pull()
    async with looking(app, clock, expand_metadata=("prompt",)) as project:
        whole = await project.pull()
    assert (len(str(cut[0].metadata["prompt"])), cut[0].metadata["tenant"]) == (200, "acme")
    assert len(str(whole[0].metadata["prompt"])) == 300


async def test_what_check_tells(project: Project, clock: Clock) -> None:
    async def told() -> dict[str, str]:
        source = source_for(project.url, clock)
        found: dict[str, str] = {finding.what: finding.state for finding in await source.check()}
        await source.close()
        return found

    assert (await told())["traffic"] == "warning"
    agent_trace(project.app, 1, end=clock() - timedelta(minutes=3))
    healthy = await told()
    assert healthy == dict.fromkeys(("host", "keys", "server", "traffic", "quota"), "ok") | {"clock": healthy["clock"]}
    project.app.organization_key = True
    assert (await told())["keys"] == "failed"
    project.app.organization_key = False
    project.app.fail(404, body="<!DOCTYPE html>")
    assert await told() == {"host": "failed"}
    clock.forward(86_400 * 365)
    assert (await told())["clock"] == "warning"


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("https://cloud.langfuse.com/", "https://cloud.langfuse.com"),
        ("http://localhost:3000/api/public", "http://localhost:3000"),
        ("https://example.org/langfuse", "https://example.org/langfuse"),
    ],
)
def test_the_host_is_kept_bare(host: str, kept: str) -> None:
    settings = settings_for(host)
    assert settings.host == kept
    assert SECRET_KEY not in repr(settings)
    assert settings.limits == ("hobby" if settings.is_cloud else "self-hosted")


@pytest.mark.parametrize("host", ["cloud.langfuse.com", "ftp://x", "https://pk:sk@cloud.langfuse.com", "https://"])
def test_a_host_that_is_none_is_refused(host: str) -> None:
    from groundwire.connectors import load_connector

    connector = load_connector("langfuse")
    with pytest.raises(ConfigError, match="host"):
        connector.read_settings({"host": host, "public_key": "p", "secret_key": "s"})


# ---- pure parts ----


def test_one_that_began_long_before_the_others_is_read_alone() -> None:
    starts = {"slow": NOON - timedelta(hours=3)} | {f"t{n}": NOON + timedelta(seconds=n) for n in range(20)}
    way = reach(starts, NOON + timedelta(seconds=30), rows_per_second=10, rows_a_request=1000)
    assert (way.start, way.singles) == (NOON, frozenset({"slow"}))


def test_few_among_many_are_read_one_by_one() -> None:
    starts = {"a": NOON, "b": NOON + timedelta(minutes=59)}
    way = reach(starts, NOON + timedelta(hours=1), rows_per_second=10, rows_a_request=1000)
    assert way.singles == {"a", "b"} or (way.start == NOON + timedelta(minutes=59) and way.singles == {"a"})


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 86_400), max_size=30),
    st.floats(0.001, 1000),
    st.integers(1, 1000),
)
def test_every_trace_is_read_by_the_window_or_alone(offsets: dict[str, int], rate: float, a_request: int) -> None:
    starts = {key: NOON + timedelta(seconds=offset) for key, offset in offsets.items()}
    way = reach(starts, NOON + timedelta(days=1), rows_per_second=rate, rows_a_request=a_request)
    for key, start in starts.items():
        assert key in way.singles or (way.start is not None and start >= way.start)


@given(st.permutations([("r1", 1), ("r1", 2), ("r2", 5), ("r1", 3)]))
def test_the_newest_state_wins_in_any_order(order: list[tuple[str, int]]) -> None:
    rows = [
        {
            "traceId": "t",
            "id": key,
            "startTime": "2026-11-30T12:00:00Z",
            "updatedAt": f"2026-11-30T12:00:0{at}Z",
            "n": at,
        }
        for key, at in order
    ]
    assert {one["id"]: one["n"] for one in folded(rows)} == {"r1": 3, "r2": 5}
    group = by_trace(rows)["t"]
    assert group.stamp == "2026-11-30T12:00:05Z"
    assert len(group.rows) == 2


def test_what_is_late() -> None:
    made = row("t", "r", start=NOON, seconds=10) | {"isRootObservation": True}
    after = timedelta(minutes=3)
    on_time = by_trace([made | {"updatedAt": "2026-11-30T12:01:00.000Z"}])["t"]
    too_late = by_trace([made | {"updatedAt": "2026-11-30T12:10:00.000Z"}])["t"]
    assert not is_late(on_time, since=NOON, after=after)
    assert is_late(too_late, since=NOON, after=after)
    assert not is_late(too_late, since=NOON + timedelta(minutes=11), after=after)  # the last sweep saw it
    assert not lacks_rows(too_late.rows)
    assert lacks_rows([row("t", "child", start=NOON, parent="gone") | {"isRootObservation": False}])


def test_a_cursor_of_another_make_starts_anew() -> None:
    assert Place.of(None) == Place.of({"langfuse": 99}) == Place.of({"position": 3}) == Place()
    place = Place(open_since=NOON, hourly=NOON, daily=NOON, rootless_upto=NOON)
    assert Place.of(json.loads(json.dumps(place.as_cursor()))) == place
