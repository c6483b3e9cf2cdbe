"""What a real Phoenix answered comes out right: pages, traces, annotations, refusals.

Cassettes are made again against a Phoenix on loopback, at the address below, that holds nothing but the bundled traces:
`python docs/examples/send_to_phoenix.py http://127.0.0.1:6106 recorded`, then
`pytest --record-mode=rewrite tests/connectors/test_phoenix_recorded.py`.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest

from groundwire.connectors import Finding, Origin, Score, Target, Trace, Window, cut
from groundwire.connectors.http import Patience
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSink, PhoenixSource
from groundwire.connectors.phoenix.wire import Wire
from groundwire.scorer import HallucinationMetric, OfflineJudge, RetryLater, SkipThis

pytestmark = [pytest.mark.vcr]

AT = datetime(2026, 12, 1, 5, 30, tzinfo=UTC)
DAY = Window(start=datetime(2026, 11, 30, tzinfo=UTC), end=datetime(2026, 12, 1, tzinfo=UTC))
FABRICATED = "b19340d3929342953716576cc678061f"
GERMAN = "689ff8dad78cdbbb8ed38d16c49c0345"
GROUNDED = "7788d44e280e8ce6c87247def5330dcc"
ORCHESTRATOR = "0c71adbc7520adea3a747f445562f3db"
KINDS = {
    FABRICATED: "AGENT LLM TOOL LLM",
    GERMAN: "AGENT LLM TOOL LLM",
    GROUNDED: "AGENT LLM TOOL LLM",
    ORCHESTRATOR: "AGENT LLM TOOL AGENT LLM TOOL LLM LLM",
}
SCORES = {FABRICATED: 0.33, GERMAN: 0.67, GROUNDED: 1.0, ORCHESTRATOR: None}


@pytest.fixture(scope="module")
def vcr_cassette_dir() -> str:
    return str(Path(__file__).parent / "cassettes" / "phoenix")


def settings_for(project: str = "recorded") -> PhoenixSettings:
    return PhoenixSettings(host="http://127.0.0.1:6106", project=project)


def wire_for(settings: PhoenixSettings) -> Wire:
    return Wire(settings, patience=Patience(attempts=1), now=lambda: AT)


@pytest.fixture
async def source() -> AsyncIterator[PhoenixSource]:
    made = PhoenixSource(settings_for(), wire=wire_for(settings_for()), page=3)
    yield made
    await made.close()


@pytest.fixture
async def sink() -> AsyncIterator[PhoenixSink]:
    made = PhoenixSink(settings_for(), wire=wire_for(settings_for()))
    yield made
    await made.close()


def told(found: Sequence[Finding]) -> list[tuple[str, str]]:
    return [(one.what, one.state) for one in found if one.what != "clock"]  # the clock stands still at `AT`


def kinds_of(trace: Trace) -> str:
    return " ".join(span.kind for span in trace.spans)


async def test_the_bundled_traces_are_read_and_judged_as_from_their_files(source: PhoenixSource) -> None:
    given: dict[str, Trace] = {}
    async for page in source.pull(Window(start=DAY.start), None):
        given |= {trace.trace_id: trace for trace in page.traces}
    assert {key: kinds_of(trace) for key, trace in given.items()} == KINDS
    metric = HallucinationMetric(judge=OfflineJudge())
    scores = {key: (await metric.score(cut(trace, "trace")[0])).score for key, trace in given.items()}
    assert scores == pytest.approx(SCORES, abs=0.005)
    assert {key: given[key].session_id is not None for key in given} == {
        FABRICATED: True,
        GERMAN: False,
        GROUNDED: False,
        ORCHESTRATOR: True,
    }


async def test_history_holds_the_same_traces(source: PhoenixSource) -> None:
    pages = [page async for page in source.pull(DAY, None)]
    given = {trace.trace_id: trace for page in pages for trace in page.traces}
    assert {key: kinds_of(trace) for key, trace in given.items()} == KINDS
    assert list(given)[-1] == ORCHESTRATOR, "the others ended a second earlier"
    assert [page.seen for page in pages] == [3, 1, 0]


async def test_one_trace_and_none(source: PhoenixSource) -> None:
    assert kinds_of(await source.fetch(Origin(trace_id=GERMAN))) == KINDS[GERMAN]
    with pytest.raises(SkipThis, match="is gone from Phoenix"):
        await source.fetch(Origin(trace_id="a" * 32, end_time=AT - timedelta(days=1)))


async def test_a_project_that_is_not_there_yet() -> None:
    settings = settings_for("nowhere")
    source = PhoenixSource(settings, wire=wire_for(settings))
    with pytest.raises(RetryLater, match='no project "nowhere" yet') as waiting:
        async for _ in source.pull(DAY, None):
            pass
    assert waiting.value.after == 60
    found = await source.check()
    assert told(found) == [("host", "ok"), ("project", "failed")]
    assert "there are default, recorded" in found[-1].message
    await source.close()


async def test_annotations_written_refused_and_withdrawn(sink: PhoenixSink) -> None:
    def score(trace_id: str, value: float | None, name: str = "grounded") -> Score:
        target = Target(project="prod", trace_id=trace_id, start_time=AT)
        return Score(score_id=str(uuid5(NAMESPACE_URL, trace_id)), name=name, value=value, target=target)

    done = await sink.push([score(GERMAN, 0.67), score("a" * 32, 1.0), score(GROUNDED, 1.0)])
    assert [one.state for one in done] == ["delivered", "retry", "delivered"]
    assert done[1].reason == "Phoenix doesn't have the trace yet"
    assert [one.state for one in await sink.push([score(GERMAN, None), score(GROUNDED, None)])] == ["delivered"] * 2


async def test_a_check_of_both(source: PhoenixSource, sink: PhoenixSink) -> None:
    assert told(await source.check()) == [("host", "ok"), ("project", "ok"), ("traffic", "ok")]
    assert told(await sink.check()) == [("host", "ok"), ("project", "ok"), ("scores", "ok")]
