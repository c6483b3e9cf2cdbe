"""What was recorded from a real server comes out right: every trace, page, answer and error, through the real SDK.

Cassettes are made again by `pytest --record-mode=rewrite tests/connectors/test_langfuse_recorded.py`: the recorded
responses are played on loopback, and the SDK and our own client talk to it.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from tests.connectors.langfuse_app import SECRET_KEY, served
from tests.connectors.langfuse_recorded import Player, exchanges, recorded
from tests.connectors.langfuse_rows import Clock, settings_for, wire_for

from groundwire.connectors import Origin, Score, Target, Trace, cut
from groundwire.connectors.http import Answer, Patience, as_error
from groundwire.connectors.langfuse import LangfuseSettings, LangfuseSink, LangfuseSource
from groundwire.connectors.langfuse.generation import Server, is_missing_route
from groundwire.connectors.langfuse.rows import PageSize, Rows, between
from groundwire.scorer import (
    ConfigError,
    GiveUp,
    HallucinationMetric,
    HallucinationSettings,
    Judge,
    Material,
    RetryLater,
    SkipThis,
)

AT = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
METRIC = HallucinationMetric(judge=cast("Judge", None))  # `material` asks no judge
MODES = ("events_only", "dual")
FOUND = {"GET /health": ["events_only/health"], "GET /projects": ["events_only/projects"]}
OLDER = {**FOUND, "GET /v2/observations": ["events_only/err404_unknown_route"]}
"""A server that doesn't know v2 observations."""


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    return str(Path(__file__).parent / "cassettes" / "langfuse")


@pytest.fixture(scope="module")
def vcr_config(vcr_config: dict[str, Any]) -> dict[str, Any]:
    return {**vcr_config, "filter_headers": [*vcr_config["filter_headers"], ("x-langfuse-public-key", "X")]}


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`play(episodes)` gives settings for a server that plays them; no server is started when a cassette is played."""
    running = []

    def started(episodes: Mapping[str, list[str]]) -> LangfuseSettings:
        url = "http://127.0.0.1:9"
        if request.config.getoption("--record-mode") == "rewrite":
            server = served(Player(episodes))
            running.append(server)
            url = server.__enter__()
        return settings_for(url)

    yield started
    for server in running:
        server.__exit__(None, None, None)


async def fetched(settings: LangfuseSettings, trace_id: str) -> Trace:
    source = LangfuseSource(settings, wire=wire_for(settings, Clock(AT)))
    try:
        return await source.fetch(Origin(trace_id=trace_id))
    finally:
        await source.close()


def trace_id_of(name: str) -> str:
    return str(recorded(name)["body"]["data"][0]["traceId"])


def shape(trace: Trace) -> list[tuple[str, str, str | None]]:
    """Kind, name and parent's name of every span, sorted by name."""
    names = {span.span_id: span.name for span in trace.spans}
    rows = [(span.kind, span.name, None if span.parent_id is None else names[span.parent_id]) for span in trace.spans]
    return sorted(rows, key=lambda row: (row[1], row[0]))


def judged(trace: Trace, level: str = "trace", **settings: Any) -> Any:
    """What a metric would judge: (question, answer, tool blocks), or the rule that the shape breaks."""
    metric = HallucinationMetric(judge=cast("Judge", None), settings=HallucinationSettings(**settings))
    partition = cut(trace, cast("Any", level))[-1]
    material = metric.material(partition)
    if not isinstance(material, Material):
        return material.rule
    tools = sorted(
        (block.tool_name, block.arguments, block.text, block.failed)
        for block in material.blocks
        if block.kind == "tool"
    )
    return material.question, material.answer, tools


WEATHER = [
    ("get_weather", '{"city":"Paris"}', '{"temp_c":18,"sky":"cloudy"}', False),
    ("get_wind", '{"city":"Paris"}', "12 km/h NW", False),
]
TWO_ROOTS = [("TOOL", "b-tool", "root-b"), ("UNKNOWN", "root-a", None), ("AGENT", "root-b", None)]
SHAPES: dict[str, list[tuple[str, str, str | None]]] = {
    "plain": [("LLM", "plain-generation", None)],
    "openai": [("LLM", "openai-toolcalls", None)],
    "agent": [
        ("LLM", "answer", "weather-agent"),
        ("TOOL", "get_weather", "weather-agent"),
        ("TOOL", "get_wind", "weather-agent"),
        ("LLM", "plan", "weather-agent"),
        ("AGENT", "weather-agent", None),
    ],
    "rag": [
        ("LLM", "answer", "rag"),
        ("UNKNOWN", "cache-miss", "rag"),
        ("EMBEDDING", "embed-query", "rag"),
        ("GUARDRAIL", "pii-check", "rag"),
        ("CHAIN", "rag", None),
        ("EVALUATOR", "self-check", "rag"),
        ("RETRIEVER", "vector-search", "rag"),
    ],
    "nested": [
        ("AGENT", "flight-subagent", "orchestrator"),
        ("AGENT", "hotel-subagent", "orchestrator"),
        ("LLM", "llm", "hotel-subagent"),
        ("AGENT", "orchestrator", None),
        ("TOOL", "search_flights", "flight-subagent"),
    ],
    "turn1": [("UNKNOWN", "turn", None)],
    "unicode": [("LLM", "ünïcødé-名前-🙂", None)],
    "error": [("TOOL", "db_query", "failing-agent"), ("AGENT", "failing-agent", None)],
    "multimodal": [("LLM", "multimodal", None)],
    "tworoots": TWO_ROOTS,
    "empty": [("UNKNOWN", "empty-io", None)],
    "long": [("AGENT", "long-tool-agent", None), ("TOOL", "read_log", "long-tool-agent")],
}
TRACE_LEVEL: dict[str, Any] = {
    "plain": "no_tool",
    "openai": (
        "Find order 17",
        "Order 17 has shipped.",
        [("find_order", '{"id":17}', '{"id":17,"status":"shipped"}', False)],
    ),
    "agent": ("Weather in Paris?", "18 °C and cloudy.", WEATHER),
    "rag": "no_tool",
    "nested": "orchestrator_subagent",
    "turn1": "required_kinds",
    "unicode": "no_tool",
    "error": ("do it", "", [("db_query", '{"sql":"select 1"}', "connection refused", True)]),
    "multimodal": "no_tool",
    "tworoots": "several_roots",
    "empty": "required_kinds",
    "long": ("read the log", "done", [("read_log", '{"path":"/var/log/x"}', "line of log text\n" * 40_000, False)]),
}
SPAN_LEVEL: dict[str, Any] = {
    "plain": ("What is 2+2?", "4", []),
    "openai": ("Find order 17", "Order 17 has shipped.", [(None, "", '{"id":17,"status":"shipped"}', False)]),
    "unicode": (
        "Zażółć gęślą jaźń 你好 🙂 \u200d \x00nul \u2028 sep",
        'שלום\tعالم\n"quoted" \\ back',
        [],
    ),
    "multimodal": ("What is in this image?", "One pixel.", []),
    "rag": ("...", "Goethe.", []),
    "nested": ("hotel?", "Hotel A", []),
}


def check(name: str, trace: Trace, *, mode: str) -> None:
    expected = SHAPES[name]
    if name == "tworoots" and mode == "dual":
        expected = sorted(TWO_ROOTS * 2, key=lambda row: (row[1], row[0]))  # it was sent twice to that server
    assert shape(trace) == expected
    assert judged(trace) == TRACE_LEVEL[name]
    if name in SPAN_LEVEL:
        assert judged(trace, "span") == SPAN_LEVEL[name]
    if name == "rag":
        retriever = judged(trace, kinds=[{"kind": "RETRIEVER", "to": "TOOL"}])
        assert retriever[:2] == ("Who wrote Faust?", "Goethe.")
        assert "Faust is a play by Goethe." in retriever[2][0][2]
    if name == "multimodal":
        assert [part.type for message in trace.spans[0].input_messages for part in message.parts] == [
            "text",
            "uri",
            "uri",
            "blob",
        ]
    assert trace.origin == "proj1"
    assert trace.environment == ("staging" if name == "empty" else "default")
    assert trace.session_id == {"openai": "sess-1", "agent": "sess-1", "nested": "sess-2", "turn1": "sess-2"}.get(name)
    assert trace.tags == (("agents", "prod") if name == "agent" else ())
    assert trace.level == ("ERROR" if name == "error" else "DEFAULT")
    if name == "plain":
        usage = trace.spans[0].usage
        assert usage == {"input": 12, "output": 1, "total": 13, "cost": pytest.approx(2.4e-06)}
        assert trace.models == ("gpt-4o-mini",)


@pytest.mark.vcr
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "long"])
async def test_trace_by_v2_observations(name: str, mode: str, play: Any) -> None:
    recording = f"{mode}/obs_v2_all_{name}"
    settings = play({**FOUND, "GET /v2/observations": [f"{mode}/obs_v2_limit_0", recording]})
    check(name, await fetched(settings, trace_id_of(recording)), mode=mode)


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_result_of_680_000_characters_comes_whole(mode: str) -> None:
    recording = f"{mode}/obs_v2_all_long"
    with served(Player({**FOUND, "GET /v2/observations": [f"{mode}/obs_v2_limit_0", recording]})) as url:
        settings = settings_for(url)
        check("long", await fetched(settings, trace_id_of(recording)), mode=mode)


@pytest.mark.vcr
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("long", "turn1")])
async def test_trace_by_the_older_endpoints(name: str, play: Any) -> None:
    trace_id = str(recorded(f"dual/trace_get_{name}")["body"]["id"])
    settings = play(
        {
            **OLDER,
            "GET /traces": ["dual/traces_list_fields_core"],
            f"GET /traces/{trace_id}": [f"dual/trace_get_{name}"],
        }
    )
    check(name, await fetched(settings, trace_id), mode="dual")


@pytest.mark.parametrize("mode", MODES)
async def test_a_root_that_comes_after_its_child(mode: str) -> None:
    """The child can be read at once, without its root."""
    found = {}
    for moment in ("before", "after"):
        recording = f"{mode}/extra_late_root_{moment}"
        with served(Player({**FOUND, "GET /v2/observations": [f"{mode}/obs_v2_limit_0", recording]})) as url:
            found[moment] = await fetched(settings_for(url), trace_id_of(recording))
    before, after = found["before"], found["after"]
    assert before.trace_id == after.trace_id
    assert ([span.name for span in before.spans], before.flags) == (["early-child"], ("no_root",))
    assert shape(after) == [("TOOL", "early-child", "late-root"), ("AGENT", "late-root", None)]
    assert after.flags == ()


@pytest.mark.vcr
async def test_a_session_of_several_traces(play: Any) -> None:
    settings = play({**FOUND, "GET /v2/observations": ["events_only/obs_v2_limit_0", "events_only/obs_v2_session"]})
    source = LangfuseSource(settings, wire=wire_for(settings, Clock(AT)))
    source._rows._sizes.bodies.most = 100  # a page that doesn't grow: requests at once are the same in any order
    traces = await source.fetch_session(
        str(exchanges()["events_only/obs_v2_session"]["request"]["params"]["sessionId"])
    )
    await source.close()
    assert [trace.name for trace in traces] == ["orchestrator", "turn-1", "turn-2"]
    assert [len(trace.spans) for trace in traces] == [5, 1, 1]
    assert {trace.session_id for trace in traces} == {"sess-2"}


@pytest.mark.vcr
async def test_pages_are_read_to_the_end_by_their_cursors(play: Any) -> None:
    names = [f"events_only/obs_v2_page{number}" for number in range(5)]
    settings = play({**FOUND, "GET /v2/observations": names})
    wire = wire_for(settings, Clock(AT))
    rows = await Rows(wire, Server(wire)).started(*_window(), bodies=False)
    await wire.close()
    expected = [row["id"] for name in names for row in recorded(name)["body"]["data"]]
    assert rows is not None
    assert [row["id"] for row in rows] == expected
    assert len(set(expected)) == 31


def _window() -> tuple[datetime, datetime]:
    return AT.replace(hour=19), AT


def score(score_id: str, **more: Any) -> Score:
    target = Target(
        project="proj1",
        trace_id="0980beb7294eb730ebecaa2b70568f3d",
        root_span_id="f24552be7f4be471",
        start_time=datetime(2026, 11, 30, 19, 36, 36, 938000, tzinfo=UTC),
        environment="default",
    )
    return Score(**{"score_id": score_id, "name": "grounded", "value": 0.5, "target": target, "comment": "c", **more})


@pytest.mark.vcr
async def test_a_server_that_takes_no_lists_gets_events_through_the_real_sdk(play: Any) -> None:
    """The SDK's list is refused with 400, so the same scores go through /ingestion; one of them is refused there."""
    settings = play(
        {
            **FOUND,
            "GET /health": ['{"status": "OK", "version": "4.30.0"}'],
            "GET /v2/observations": ["events_only/obs_v2_limit_0"],
            "POST /scores": ["events_only_sdk_wire/007_POST_api_public_scores"],
            "POST /ingestion": ["dual/ingestion_score_create"],
        }
    )
    sink = LangfuseSink(settings, wire=wire_for(settings, Clock(AT)))
    deliveries = await sink.push([score("sc-ing-b8326c")])
    await sink.close()
    assert [delivery.state for delivery in deliveries] == ["delivered"]


@pytest.mark.vcr
async def test_a_withdrawn_score_is_deleted(play: Any) -> None:
    settings = play({**FOUND, "DELETE /scores/sc-cat-584960": ["events_only/score_delete"]})
    sink = LangfuseSink(settings, wire=wire_for(settings, Clock(AT)))
    deliveries = await sink.push([score("sc-cat-584960", value=None)])
    await sink.close()
    assert [delivery.state for delivery in deliveries] == ["delivered"]


@pytest.mark.vcr
async def test_what_was_sent_is_read_back(play: Any) -> None:
    settings = play(
        {
            **FOUND,
            "GET /v2/observations": ["events_only/obs_v2_limit_0"],
            "POST /ingestion": ["dual/ingestion_score_create"],
            "GET /v3/scores": ["events_only/scores_v3_two_ids"],
        }
    )
    clock = Clock(AT)
    sink = LangfuseSink(settings, wire=wire_for(settings, clock))
    await sink.push([score("sc-cat-584960", value="unsupported"), score("sc-new", value=0.25)])
    clock.forward(61)
    seen = await sink.read_back()
    await sink.close()
    assert seen.visible == ("sc-cat-584960",)
    assert [one.score_id for one in seen.missing] == ["sc-new"]


@pytest.mark.vcr
async def test_a_configuration_is_found_by_its_name(play: Any) -> None:
    settings = play(
        {
            **FOUND,
            "GET /v2/observations": ["events_only/obs_v2_limit_0"],
            "GET /score-configs": ["dual/score_configs_list"],
            "POST /ingestion": ["dual/ingestion_score_create"],
        }
    ).model_copy(update={"create_config": True})
    sink = LangfuseSink(settings, wire=wire_for(settings, Clock(AT)))
    deliveries = await sink.push(
        [score("sc-1", name="faithfulness-cfg"), score("sc-2", name="faithfulness-cfg", value=2.0)]
    )
    await sink.close()
    assert [delivery.state for delivery in deliveries] == ["delivered", "delivered"]


# ---- errors ----

GIVE_UP = {401: GiveUp}
WAIT = {500: RetryLater}
EXPECTED: dict[int, type[Exception]] = {400: SkipThis, 401: GiveUp, 404: SkipThis, 405: SkipThis, 500: RetryLater}
"""By status: what the next step is, whatever the request was."""


def refused() -> list[str]:
    return [name for name, exchange in exchanges().items() if exchange["response"]["status"] >= 400]


def test_there_are_errors_of_every_kind() -> None:
    statuses = {exchanges()[name]["response"]["status"] for name in refused()}
    assert statuses == set(EXPECTED)
    assert len(refused()) > 140


@pytest.mark.parametrize("name", refused())
def test_every_recorded_error_is_the_right_one_of_ours(name: str) -> None:
    response = recorded(name)
    answer = Answer(status=response["status"], headers={}, body=response["body"])
    error = as_error(answer, platform="Langfuse", what="it", now=AT)
    assert type(error) is EXPECTED[response["status"]]
    assert "\n" not in str(error)
    assert len(str(error)) < 300
    body = str(exchanges()[name]["request"]["body"])
    assert len(body) < 12 or body not in str(error)


@pytest.mark.parametrize("name", [name for name in refused() if recorded(name)["status"] == 404])
def test_a_path_that_is_missing_is_told_from_an_item_that_is(name: str) -> None:
    response = recorded(name)
    answer = Answer(status=404, headers={}, body=response["body"])
    body = response["body"]
    assert is_missing_route(answer) is not (isinstance(body, dict) and "not found" in body["message"].lower())


@pytest.mark.vcr
@pytest.mark.parametrize(
    ("episodes", "error"),
    [
        ({"GET /projects": ["events_only/err404_unknown_route"]}, ConfigError),
        ({**FOUND, "GET /projects": ["events_only/err401_bad_key"]}, GiveUp),
        ({**FOUND, "GET /v2/observations": ["dual/down_clickhouse_obs_v2"]}, RetryLater),
        (
            {
                **FOUND,
                "GET /v2/observations": ["events_only/err404_unknown_route"],
                "GET /traces": ["events_only/traces_list"],
            },
            ConfigError,
        ),
        (
            {**FOUND, "GET /v2/observations": ["events_only/obs_v2_limit_0", "events_only/obs_v2_filter_badcol"]},
            SkipThis,
        ),
        (
            {**FOUND, "GET /v2/observations": ["events_only/obs_v2_limit_0", "events_only/obs_v2_no_such_trace"]},
            RetryLater,
        ),
    ],
    ids=["no-langfuse", "bad-key", "database-down", "no-way-to-read", "bad-filter", "no-such-trace"],
)
async def test_a_fetch_that_fails(episodes: dict[str, list[str]], error: type[Exception], play: Any) -> None:
    settings = play(episodes)
    wire = wire_for(settings, Clock(AT), patience=Patience(attempts=1))
    source = LangfuseSource(settings, wire=wire)
    with pytest.raises(error) as caught:
        await source.fetch(Origin(trace_id="0980beb7294eb730ebecaa2b70568f3d"))
    await source.close()
    assert type(caught.value) is error
    assert SECRET_KEY not in str(caught.value)


def test_a_page_of_a_tenth_of_the_bytes_grows() -> None:
    size = PageSize()
    size.learn(100, 100 * 2_000)
    assert size.rows == 200
    size.halve()
    assert size.rows == 100
    for _ in range(5):
        size.learn(size.rows, size.rows * 2_000)
    assert size.rows == 1000
    size.learn(1000, 30_000_000)
    assert size.rows == 100
    assert len(between("startTime", AT, AT)) == 2
