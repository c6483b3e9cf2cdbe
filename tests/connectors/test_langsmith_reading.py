"""Reading from LangSmith on loopback: both generations of its API, and everything undocumented turned both ways."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.connectors.langfuse_app import served
from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import PROJECT, LangsmithApp
from tests.connectors.langsmith_runs import NOON, agent_trace, run, settings_for, source_for, trace_id_of, wire_for

from groundwire.connectors import Origin, Page, Trace, Window
from groundwire.connectors.langsmith import LangsmithSource, langsmith
from groundwire.connectors.langsmith.mapping import trace_of
from groundwire.connectors.langsmith.quota import Bucket
from groundwire.connectors.langsmith.runs import conjoined
from groundwire.scorer import ConfigError, GiveUp, RetryLater, SkipThis

OLD = {"version": "0.12.0", "flags": {"ch_query_enabled": True}, "v2": False}
GENERATIONS = {"v2": {}, "v1": OLD}
LIVE = Window(start=NOON - timedelta(hours=1))


@contextmanager
def loopback(clock: Clock, **knobs: Any) -> Iterator[tuple[LangsmithApp, str]]:
    app = LangsmithApp(clock=clock, monotonic=clock.monotonic, **knobs)
    with served(app) as url:
        yield app, url


def _is(trace_id: str, head: Trace) -> bool:
    return head.trace_id == trace_id


async def pulled(
    source: LangsmithSource, cursor: Any = None, window: Window = LIVE, **more: Any
) -> tuple[dict[str, Trace], Page]:
    pages = [page async for page in source.pull(window, cursor, **more)]
    return {trace.trace_id: trace for page in pages for trace in page.traces}, pages[-1]


def test_settings_refuse_what_can_not_work() -> None:
    for wrong in (
        {"host": "https://smith.langchain.com"},
        {"host": "ftp://x"},
        {"host": "https://k:v@x"},
        {"project": "Evaluators"},
        {"endpoint": "https://x"},
    ):
        with pytest.raises(ConfigError) as refused:
            langsmith.read_settings({"api_key": "lsv2_pt_secret", **wrong}, at="sources.prod")
        assert "lsv2" not in str(refused.value)
    for given in ("https://ls.example.com/api", "https://ls.example.com/api/v1/", "https://ls.example.com"):
        assert settings_for(given).host == "https://ls.example.com"


@pytest.mark.parametrize(
    ("field", "equivalent"),
    [("environment", "metadata.environment"), ("release", "metadata.revision_id"), ("level", "has_error")],
)
def test_a_where_field_that_langsmith_lacks_names_its_equivalent(field: str, equivalent: str) -> None:
    langsmith.check_where(["tags", "session", "metadata.environment"])
    with pytest.raises(ConfigError, match=equivalent):
        langsmith.check_where([field])


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(
    "knobs",
    [
        {"order": "asc"},
        {"order": "shuffled", "exclusive": True, "time_zone": False},
        {"previews": False, "s3_selectable": False},
        {"v1_sessions": False, "most": 100},
        {"most_bytes": 20_000},
    ],
    ids=lambda knobs: "-".join(knobs),
)
async def test_every_habit_of_a_server_gives_the_same(generation: str, knobs: dict[str, Any]) -> None:
    clock = Clock(NOON)
    with loopback(clock, **{**GENERATIONS[generation], **knobs}) as (app, url):
        expected = {agent_trace(app, number, end=NOON - timedelta(seconds=600 + number)) for number in range(130)}
        source = source_for(url, clock)
        given, last = await pulled(source)
        await source.close()
    assert set(given) == expected
    assert {len(trace.spans) for trace in given.values()} == {3}
    assert last.reached == NOON - timedelta(seconds=60)
    one = given[trace_id_of(5)]
    assert (one.session_id, one.name, one.tags, one.origin) == ("chat-1", "support-agent", ("prod",), PROJECT)
    assert one.metadata["langsmith.project"] == "support"
    usage = next(span.usage for span in one.spans if span.kind == "LLM")
    assert usage == {"input": 20, "output": 8, "total": 28, "cost": 0.0001}


@pytest.mark.parametrize(
    ("knobs", "reads"),
    [
        ({}, "v2"),
        ({"flags": {}}, "v2"),
        ({"flags": {"sdb_query_enabled": True, "ch_query_enabled": False}, "v1": False}, "v2"),
        ({"version": None, "flags": {}, "v2": False}, "v1"),
        ({"version": "0.17.0", "flags": {}, "v2": False}, "v1"),
        (OLD, "v1"),
    ],
)
async def test_the_generation_is_chosen_from_the_servers_flags(knobs: dict[str, Any], reads: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **knobs) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=300))
        source = source_for(url, clock)
        given, _ = await pulled(source)
        findings = await source.check()
        await source.close()
        calls = app.calls
    assert len(given) == 1
    assert (calls["POST /runs/query"] > 0) == (reads == "v1")
    assert any(finding.what == "server" and reads in finding.message for finding in findings)


async def test_a_server_that_drops_the_older_queries_is_asked_again() -> None:
    clock = Clock(NOON)
    with loopback(clock, **OLD) as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=300))
        source = source_for(url, clock)
        await pulled(source)
        app.v1, app.v2, app.version = False, True, "0.18.0"
        with pytest.raises(RetryLater):
            await pulled(source)
        given, _ = await pulled(source)
        await source.close()
    assert len(given) == 1


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_a_pending_trace_waits_is_given_once_without_an_end_and_again_with_one(generation: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **GENERATIONS[generation]) as (app, url):
        trace_id = trace_id_of(1)
        root = run(trace_id, trace_id, start=NOON - timedelta(seconds=100), seconds=None, name="slow")
        app.put(root)
        source = source_for(url, clock, longest_trace=60)
        given, last = await pulled(source)
        assert given == {}
        clock.forward(600)
        given, last = await pulled(source, last.cursor)
        assert given[trace_id].root is not None
        assert given[trace_id].spans[0].end_time is None
        clock.forward(60)
        given, last = await pulled(source, last.cursor)
        assert given == {}, "it is given once while it is pending"
        clock.forward(1_000)
        app.put({**root, "end_time": (clock.now - timedelta(seconds=120)).isoformat(), "outputs": {"output": "Done."}})
        given, last = await pulled(source, last.cursor)
        assert given[trace_id].spans[0].end_time is not None, "it is found at its end, long after `longest_trace`"
        clock.forward(60)
        again, _ = await pulled(source, last.cursor)
        await source.close()
    assert again == {}


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_late_children_come_with_their_trace_soon_or_by_a_sweep(generation: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **GENERATIONS[generation]) as (app, url):
        for number in range(20):
            agent_trace(app, number, end=NOON - timedelta(seconds=70 + number))
        source = source_for(url, clock)
        given, last = await pulled(source)
        assert len(given) == 20
        late: dict[str, Any] = {"parent_run_id": trace_id_of(3), "run_type": "tool", "name": "late"}
        app.put(run("0" * 35 + "1", trace_id_of(3), start=NOON - timedelta(seconds=74), **late))
        clock.forward(30)
        given, last = await pulled(source, last.cursor)
        assert set(given) == {trace_id_of(3)}
        assert len(given[trace_id_of(3)].spans) == 4
        for _ in range(2):
            clock.forward(3_700)
            given, last = await pulled(source, last.cursor)
            assert given == {}, "a sweep gives nothing that was given as it is"
        app.put(run("0" * 35 + "2", trace_id_of(3), start=NOON - timedelta(seconds=73), **late))
        clock.forward(60)
        given, last = await pulled(source, json.loads(json.dumps(last.cursor)))
        assert given == {}, "too late for a look"
        clock.forward(3_700)
        given, last = await pulled(source, last.cursor)
        assert trace_id_of(3) in given, "a sweep finds it"
        assert len(given[trace_id_of(3)].spans) == 5
        clock.forward(3_700)
        given, last = await pulled(source, last.cursor)
        await source.close()
    assert given == {}, "and once"


async def test_filters_in_langsmiths_language_pass_through() -> None:
    clock = Clock(NOON)
    for generation, knobs in GENERATIONS.items():
        with loopback(clock, **knobs) as (app, url):
            for number in range(6):
                more: dict[str, Any] = {"tags": ["prod"] if number % 2 else ["test"]}
                agent_trace(app, number, end=NOON - timedelta(seconds=300 + number), name=f"agent-{number}", **more)
            app.put(
                run(
                    "f" * 36,
                    trace_id_of(1),
                    parent_run_id=trace_id_of(1),
                    start=NOON - timedelta(seconds=303),
                    name="special",
                )
            )
            cases: list[tuple[dict[str, Any], set[int]]] = [
                ({"filter": 'has(tags, "prod")'}, {1, 3, 5}),
                ({"filter": 'has(tags, "prod")', "trace_filter": 'neq(name, "agent-3")'}, {1, 5}),
                ({"tree_filter": 'eq(name, "special")'}, {1}),
                ({}, set(range(6))),
            ]
            for filters, expected in cases:
                source = source_for(url, clock, **filters)
                given, _ = await pulled(source)
                await source.close()
                assert set(given) == {trace_id_of(number) for number in expected}, (generation, filters)
                assert all(len(trace.spans) >= 3 for trace in given.values())
            source = source_for(url, clock, filter="nonsense(")
            with pytest.raises(SkipThis, match="Invalid filter"):
                await pulled(source)
            await source.close()


def test_filters_are_joined() -> None:
    assert conjoined(None, "") is None
    assert conjoined(None, "eq(a, 1)") == "eq(a, 1)"
    assert conjoined("eq(a, 1)", None, "has(b, 2)") == "and(eq(a, 1), has(b, 2))"


async def test_times_and_fields_are_always_named() -> None:
    clock = Clock(NOON)
    for knobs in GENERATIONS.values():
        with loopback(clock, **knobs) as (app, url):
            agent_trace(app, 1, end=NOON - timedelta(seconds=300))
            source = source_for(url, clock)
            await pulled(source)
            await source.close()
            queries = [body for _, path, body in app.sent if path.endswith("/runs/query")]
        for body in queries:
            assert body.get("selects") or body.get("select")
            assert "min_start_time" in body or "start_time" in body
            assert "max_start_time" in body or "lt(start_time" in body["filter"]
            assert body.get("page_size", 0) <= 1000
            assert body.get("limit", 0) <= 100


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_the_keys_limit_is_never_passed(generation: str) -> None:
    """The server answers 429 to one query too many in 10 seconds: a connector that counts never hears it."""
    clock = Clock(NOON)
    with loopback(clock, limits={"query": (4, 10.0)}, **GENERATIONS[generation]) as (app, url):
        for number in range(100):
            agent_trace(app, number, end=NOON - timedelta(seconds=600 + 10 * number), tools=4)
        source = source_for(url, clock, queries=4)
        window = Window(start=NOON - timedelta(hours=3), end=NOON)
        given, _ = await pulled(source, None, window)
        await source.close()
    assert len(given) == 100
    assert app.calls["429"] == 0
    assert clock.now > NOON, "it waited for its turn"


async def test_a_429_closes_the_bucket_for_as_long_as_it_says() -> None:
    clock = Clock(NOON)
    for says in (True, False):
        with loopback(clock, limits={"query": (2, 10.0)}, retry_after=says) as (app, url):
            for number in range(5):
                agent_trace(app, number, end=NOON - timedelta(seconds=300 + number))
            source = source_for(url, clock, queries=5)
            given, _ = await pulled(source, window=Window(start=NOON - timedelta(hours=1), end=NOON))
            await source.close()
        assert len(given) == 5


def test_a_bucket_never_lets_more_through_than_its_limit_in_any_ten_seconds() -> None:
    now = 100.0
    bucket = Bucket(3, clock=lambda: now)
    waits = [bucket.take() for _ in range(7)]
    assert waits == [0, 0, 0, 10.5, 10.5, 10.5, 21.0]
    with pytest.raises(RetryLater) as later:
        bucket.take(patience=5)
    assert later.value.after == 21.0


async def test_many_traces_cost_few_requests_and_one_long_trace_is_read_alone() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        agent_trace(app, 9_999, end=NOON - timedelta(seconds=150), seconds=1_500, tools=3)
        for number in range(150):
            agent_trace(app, number, end=NOON - timedelta(seconds=100 + number / 5), tools=4)
        source = source_for(url, clock, page=400)
        given, _ = await pulled(source)
        await source.close()
        calls = dict(app.calls)
    assert len(given) == 151
    assert len(given[trace_id_of(9_999)].spans) == 5
    assert sum(calls.values()) <= 14, calls


async def test_history_goes_both_ways_and_few_wanted_are_read_alone() -> None:
    clock = Clock(NOON)
    window = Window(start=NOON - timedelta(hours=10), end=NOON - timedelta(hours=1))
    for newest_first in (False, True):
        with loopback(clock) as (app, url):
            ids = [agent_trace(app, number, end=NOON - timedelta(minutes=60 + number)) for number in range(1, 160)]
            source = source_for(url, clock, page=50)
            one = Window(start=window.start, end=window.end, newest_first=newest_first)
            order = [trace.trace_id async for page in source.pull(one, None) for trace in page.traces]
            assert order == (ids if newest_first else ids[::-1])
            wanted, chosen = ids[7], []
            app.calls.clear()
            async for page in source.pull(one, None, wanted=partial(_is, wanted)):
                chosen += [trace.trace_id for trace in page.traces]
            await source.close()
            assert chosen == [wanted]
            assert app.calls["GET /api/v2/traces/" + wanted] == 1
            assert sum(app.calls.values()) < 16


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_one_trace_is_fetched_as_it_stands(generation: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **GENERATIONS[generation]) as (app, url):
        trace_id = agent_trace(app, 1, end=NOON - timedelta(seconds=5))
        source = source_for(url, clock)
        trace = await source.fetch(Origin(trace_id=trace_id))
        assert len(trace.spans) == 3
        bounded = Origin(trace_id=trace_id, start_time=trace.start_time, end_time=trace.end_time)
        assert await source.fetch(bounded) == trace
        soon = Origin(trace_id=trace_id_of(2), end_time=NOON - timedelta(minutes=5))
        with pytest.raises(RetryLater):
            await source.fetch(soon)
        with pytest.raises(SkipThis):
            await source.fetch(Origin(trace_id=trace_id_of(2), end_time=NOON - timedelta(hours=2)))
        await source.close()


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_the_traces_of_a_thread_are_its_turns(generation: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **GENERATIONS[generation]) as (app, url):
        for number in range(7):
            agent_trace(app, number, end=NOON - timedelta(seconds=900 - number))
        source = source_for(url, clock)
        turns = await source.fetch_session("chat-1")
        nobody = await source.fetch_session('no "such" thread / at all')
        await source.close()
    assert [trace.trace_id for trace in turns] == [trace_id_of(number) for number in (3, 4, 5)]
    assert nobody == ()


def test_a_trace_of_25_000_runs_is_read_whole() -> None:
    """The most that LangSmith takes."""
    trace_id = trace_id_of(1)
    runs = [run(trace_id, trace_id, start=NOON, seconds=60, run_type="CHAIN", is_root=True)]
    for number in range(24_999):
        start = NOON + timedelta(milliseconds=number)
        runs.append(run(f"{number:036d}", trace_id, start=start, parent_run_ids=[trace_id], outputs={"output": number}))
    trace = trace_of(runs, project="p")
    assert trace is not None
    assert len(trace.spans) == 25_000
    assert trace.flags == ()


@pytest.mark.parametrize(
    ("knobs", "settings", "said"),
    [
        ({}, {"api_key": "lsv2_pt_wrong_key_0000"}, "403"),
        ({"workspace": "w-1"}, {}, "`workspace`"),
        ({"projects": {}}, {}, "no project"),
        ({"projects": {PROJECT: {"name": "evaluators"}}}, {"project": PROJECT}, "evaluators"),
    ],
)
async def test_what_is_wrong_is_told(knobs: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    clock = Clock(NOON)
    with loopback(clock, **knobs) as (_, url):
        source = source_for(url, clock, **settings)
        findings = await source.check()
        assert any(finding.state == "failed" and said in finding.message for finding in findings), findings
        with pytest.raises((GiveUp, ConfigError)):
            await pulled(source)
        await source.close()


async def test_the_clock_is_compared_and_a_key_of_several_workspaces_works_with_one() -> None:
    clock = Clock(NOON)
    with loopback(clock, workspace="w-1") as (app, url):
        agent_trace(app, 1, end=NOON - timedelta(seconds=300))
        source = source_for(url, clock, workspace="w-1")
        findings = {finding.what: finding for finding in await source.check()}
        await source.close()
    assert findings["clock"].state == "warning", "the loopback server's clock is the machine's"
    assert findings["traffic"].state == findings["key"].state == "ok"


async def test_a_wrong_region_names_the_others() -> None:
    from groundwire.connectors.langsmith.check import _refusal

    settings = settings_for("https://eu.api.smith.langchain.com")
    wire = wire_for(settings, Clock(NOON))

    class Forbidding:
        settings = wire.settings

        async def get(self, *_: Any, **__: Any) -> Any:
            from groundwire.connectors.http import Answer

            return Answer(status=403, headers={}, body={"error": "Forbidden"})

    refusal = await _refusal(Forbidding())  # type: ignore[arg-type]
    assert refusal is not None
    assert "https://api.smith.langchain.com (US)" in refusal
    assert "https://eu.api" not in refusal
