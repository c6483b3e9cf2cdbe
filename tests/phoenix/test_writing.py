"""Annotations of spans, traces and sessions on a real Phoenix: replaced, withdrawn, refused one by one."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from tests.phoenix.server import Phoenix

from groundwire.connectors import Score, Target, Trace
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSink
from groundwire.connectors.phoenix.people import PhoenixAnnotations
from groundwire.connectors.phoenix.wire import Wire
from groundwire.connectors.testing import make_sample

pytestmark = pytest.mark.phoenix


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def sink(phoenix: Phoenix, project: str, clock: Clock) -> AsyncIterator[PhoenixSink]:
    settings = PhoenixSettings(host=phoenix.url, project=project)
    made = PhoenixSink(settings, wire=Wire(settings, now=clock))
    yield made
    await made.close()


@pytest.fixture
def trace(phoenix: Phoenix, project: str) -> Trace:
    trace = make_sample(0, end=datetime.now(UTC) - timedelta(minutes=5)).trace
    phoenix.put(project, trace)
    return trace


def score(trace: Trace, value: float | str | None, *, of: str = "trace", name: str = "grounded", **about: Any) -> Score:
    assert trace.start_time is not None
    target = Target(
        project="prod",
        trace_id=trace.trace_id,
        span_id=trace.spans[-1].span_id if of == "span" else None,
        session_id=trace.session_id if of == "session" else None,
        start_time=trace.start_time,
    )
    score_id = str(uuid5(NAMESPACE_URL, f"{of}/{name}/{trace.trace_id}"))
    return Score(score_id=score_id, name=name, value=value, target=target, **about)


@pytest.mark.parametrize("of", ["span", "trace", "session"])
async def test_an_annotation_says_all_is_replaced_and_withdrawn(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace, of: str
) -> None:
    told = {"judge": "llm gpt-5-mini", "label": "hallucinated", "flags": ["a"], "row_id": "r-1"}
    first = score(trace, 0.75, of=of, comment="0.75 · 3 of 4\nNUL \0 and \ud800 go", metadata=told)
    assert [one.state for one in await sink.push([first])] == ["delivered"]
    [before] = phoenix.annotations(project, of)
    assert before["annotator_kind"] == "LLM"
    assert before["result"] == {"score": 0.75, "label": "hallucinated", "explanation": "0.75 · 3 of 4\nNUL  and � go"}
    assert before["metadata"] == told
    assert before["source"] == "API"

    second = replace(first, value=1.0, comment="", metadata={"judge": "offline offline-1", "label": None})
    assert [one.state for one in await sink.push([second, second])] == ["delivered", "delivered"]
    [after] = phoenix.annotations(project, of)
    assert after["id"] == before["id"]
    assert after["annotator_kind"] == "CODE"
    assert after["result"] == {"score": 1.0, "label": None, "explanation": None}, "nothing of the older one stays"
    assert after["metadata"] == second.metadata

    status = score(trace, "unknown: no_answer", of=of, name="grounded.status")
    assert [one.state for one in await sink.push([replace(first, value=None), status])] == ["delivered", "delivered"]
    [left] = phoenix.annotations(project, of)
    assert (left["name"], left["result"]["label"]) == ("grounded.status", "unknown: no_answer")
    assert [one.state for one in await sink.push([replace(first, value=None)])] == ["delivered"]


async def test_a_resumed_session_keeps_its_earlier_score(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace
) -> None:
    first = score(trace, 1.0, of="session")
    second = replace(first, score_id=str(uuid5(NAMESPACE_URL, "after the next turn")), value=0.0)
    await sink.push([first, second])
    assert [one["result"]["score"] for one in phoenix.annotations(project, "session")] == [1.0, 0.0]


async def test_what_somebody_else_wrote_stays(phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace) -> None:
    theirs = {"name": "grounded", "annotator_kind": "HUMAN", "trace_id": trace.trace_id, "result": {"score": 0.1}}
    phoenix.http.post("/v1/trace_annotations", json={"data": [theirs]}, params={"sync": "true"}).raise_for_status()
    await sink.push([score(trace, 0.75)])
    assert [one["annotator_kind"] for one in phoenix.annotations(project)] == ["HUMAN", "LLM"]
    await sink.push([score(trace, None)])
    assert [one["annotator_kind"] for one in phoenix.annotations(project)] == ["HUMAN"]


async def test_targets_that_are_not_there_hold_up_no_other_and_are_given_up_in_time(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace, clock: Clock
) -> None:
    absent = [make_sample(index, end=datetime.now(UTC)).trace for index in (7, 8)]
    scores = [score(absent[0], 0.1), score(trace, 0.75), score(absent[1], 0.2), score(trace, 0.5, of="span")]
    first = await sink.push(scores)
    assert [one.state for one in first] == ["retry", "delivered", "retry", "delivered"]
    assert first[0].after > 0
    assert first[0].reason == "Phoenix doesn't have the trace yet"
    clock.ahead = timedelta(minutes=11)
    last = await sink.push(scores)
    assert [one.state for one in last] == ["refused", "delivered", "refused", "delivered"]
    assert last[2].reason == f"Phoenix doesn't have the trace {absent[1].trace_id}"
    assert [one["result"]["score"] for one in phoenix.annotations(project)] == [0.75]


async def test_what_phoenix_would_refuse_is_told_by_itself(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace
) -> None:
    bad = [score(trace, float("nan"), name="a"), score(trace, 0.5, name="note"), score(trace, "", name="b")]
    done = await sink.push([*bad, score(trace, 0.5, name="c")])
    assert [one.state for one in done] == ["refused", "refused", "refused", "delivered"]
    assert [one.reason for one in done[:3]] == [
        "a score is a finite number",
        'a score can\'t be called "note" on Phoenix',
        "a category needs a text",
    ]
    assert [one["name"] for one in phoenix.annotations(project)] == ["c"]


async def test_metadata_is_bounded_and_many_scores_go_at_once(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace
) -> None:
    much: dict[str, Any] = {"row_id": "r", "claims": ["x" * 1_000] * 40}
    scores = [score(trace, index / 250, name=f"n{index}", metadata=much) for index in range(250)]
    assert {one.state for one in await sink.push(scores)} == {"delivered"}
    found = phoenix.annotations(project)
    assert len(found) == 250
    assert found[0]["metadata"] == {"row_id": "r", "left_out": ["claims"]}


async def test_what_people_said_is_read_and_nothing_else(
    phoenix: Phoenix, project: str, sink: PhoenixSink, trace: Trace
) -> None:
    def told(of: str, ident: str, **said: Any) -> None:
        data = [{f"{of}_id": ident, "name": "helpful", "annotator_kind": "HUMAN", **said}]
        answer = phoenix.http.post(f"/v1/{of}_annotations", json={"data": data}, params={"sync": "true"})
        answer.raise_for_status()

    root = trace.spans[0].span_id
    told("trace", trace.trace_id, result={"score": 0.0, "label": "bad", "explanation": "no"})
    told("span", root, result={"label": "good"}, identifier="second")
    told("span", root, result={"label": "ignored"}, annotator_kind="LLM", identifier="a model")
    told("span", root, result={"label": "another"}, name="other", identifier="another name")
    await sink.push([score(trace, 1.0, name="helpful", metadata={"labeller": "Ada"})])
    reader = PhoenixAnnotations(PhoenixSettings(host=phoenix.url, project=project))
    since = datetime.now(UTC) - timedelta(hours=1)
    found = [one async for one in reader.annotations("helpful", since=since, among=[trace.trace_id, root, "0" * 32])]
    assert {(one.trace_id, one.span_id, one.value, one.comment, one.author) for one in found[:2]} == {
        (trace.trace_id, None, 0.0, "no", ""),
        (trace.trace_id, None, 1.0, "", "Ada"),
    }
    assert [(one.trace_id, one.span_id, one.value) for one in found[2:]] == [("", root, "good")]
    later = datetime.now(UTC) + timedelta(hours=1)
    assert [one async for one in reader.annotations("helpful", since=later, among=[trace.trace_id])] == []
    assert [one async for one in reader.annotations("helpful", since=since, among=["0" * 32])] == []
    await reader.close()
