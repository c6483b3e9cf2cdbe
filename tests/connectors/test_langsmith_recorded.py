"""Exchanges of the real SDK's client with the loopback LangSmith, kept as cassettes, and what comes out of them.

They hold the bytes that go over the wire: a change of the SDK or of the connector that changes a request shows here.
They are made again by `pytest --record-mode=rewrite tests/connectors/test_langsmith_recorded.py`. The answers are the
loopback app's, which imitates the documentation: no live LangSmith was recorded.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.connectors.langfuse_app import served
from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import API_KEY, LangsmithApp
from tests.connectors.langsmith_runs import NOON, agent_trace, sink_for, source_for, trace_id_of
from tests.connectors.test_langsmith_reading import GENERATIONS
from tests.connectors.test_langsmith_writing import score

from groundwire.connectors import Origin, Window

CASSETTES = Path(__file__).parent / "cassettes" / "langsmith"


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    return str(CASSETTES)


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`play(clock, **knobs)` gives an address; a server with three traces is started only where one is recorded."""
    running = []

    def started(clock: Clock, **knobs: Any) -> str:
        if request.config.getoption("--record-mode") != "rewrite":
            return "http://127.0.0.1:9"
        app = LangsmithApp(clock=clock, monotonic=clock.monotonic, **knobs)
        for number in range(3):
            agent_trace(app, number, end=NOON - timedelta(seconds=300 + number))
        server = served(app)
        running.append(server)
        return server.__enter__()

    yield started
    for server in running:
        server.__exit__(None, None, None)


@pytest.mark.vcr
@pytest.mark.parametrize("generation", GENERATIONS)
async def test_a_project_is_read_and_a_trace_fetched(generation: str, play: Any) -> None:
    clock = Clock(NOON)
    source = source_for(play(clock, **GENERATIONS[generation]), clock)
    pages = [page async for page in source.pull(Window(start=NOON - timedelta(hours=1)), None)]
    traces = [trace for page in pages for trace in page.traces]
    assert [trace.trace_id for trace in traces] == [trace_id_of(number) for number in (2, 1, 0)]
    assert {len(trace.spans) for trace in traces} == {3}
    one = await source.fetch(Origin(trace_id=trace_id_of(1)))
    await source.close()
    assert one == traces[1]


@pytest.mark.vcr
async def test_a_score_is_written_replaced_and_withdrawn(play: Any) -> None:
    clock = Clock(NOON)
    sink = sink_for(play(clock), clock)
    for value in (0.25, 0.75, None):
        assert [one.state for one in await sink.push([score(value=value)])] == ["delivered"]
    await sink.close()


@pytest.mark.vcr
async def test_a_thread_and_a_check(play: Any) -> None:
    clock = Clock(NOON)
    source = source_for(play(clock), clock)
    assert [trace.trace_id for trace in await source.fetch_session("chat-0")] == [
        trace_id_of(number) for number in (2, 1, 0)
    ]
    assert all(finding.state != "failed" for finding in await source.check())
    await source.close()


def test_cassettes_hold_no_key_and_writes_keep_the_retention() -> None:
    files = sorted(CASSETTES.rglob("*.yaml"))
    assert files
    for file in files:
        text = file.read_text()
        assert API_KEY not in text
        assert "lsv2_" not in text
        for exchange in yaml.safe_load(text)["interactions"]:
            sent = exchange["request"]
            if sent["method"] == "POST" and sent["uri"].endswith("/feedback"):
                assert '"extend_trace_retention":false' in sent["body"].replace(" ", "")
