"""The whole line on a real Phoenix: every span and trace annotated once and rightly, whatever happens on the way."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2
from tests.phoenix.child import NAME, WRITTEN, configured, killed, run_once
from tests.phoenix.server import Phoenix, span_of, spans_of_export, spans_of_records

from groundwire.connectors import Trace
from groundwire.connectors.testing import Sample, make_sample
from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.flow import Progress
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.scorer import Message, TextPart
from groundwire.scorer import Span as SpanOf

pytestmark = pytest.mark.phoenix

BEGAN = timedelta(minutes=-5)
BUNDLED = {
    "fabricated_tool_result.otlp.json": 0.33,
    "german.otlp.json": 0.67,
    "grounded.otlp.json": 1.0,
    "invented_number.phoenix.jsonl": 0.75,
    "long_tool_result.phoenix.jsonl": 1.0,
    "orchestrator.otlp.json": None,
}


def bundled(file: str) -> list[trace_pb2.Span]:
    text = (files("groundwire.jobs.demo") / file).read_text(encoding="utf-8")
    if file.endswith(".otlp.json"):
        return spans_of_export(json.loads(text))
    return spans_of_records([json.loads(line) for line in text.splitlines()])


def ended_now(spans: list[trace_pb2.Span]) -> list[trace_pb2.Span]:
    last = max(span.end_time_unix_nano for span in spans)
    shift = int((datetime.now(UTC).timestamp() - 5) * 1e9) - last
    for span in spans:
        span.start_time_unix_nano += shift
        span.end_time_unix_nano += shift
    return spans


def shown(phoenix: Phoenix, project: str, kind: str = "trace", name: str = NAME) -> dict[str, Any]:
    """By target: the score that stands there; more than one on a target fails."""
    found = [one for one in phoenix.annotations(project, kind) if one["name"] == name]
    scores = {one[f"{kind}_id"]: one["result"]["score"] for one in found}
    assert len(scores) == len(found), f"a {kind} is annotated twice"
    return scores


def samples(count: int, *, ended: datetime) -> list[Sample]:
    kinds = ("grounded", "hallucinated", "grounded", "invalid")
    return [
        make_sample(index, seed=5, kind=kinds[index % 4], end=ended - timedelta(seconds=index))  # type: ignore[arg-type]
        for index in range(count)
    ]


def expected(all_samples: list[Sample]) -> dict[str, Any]:
    return {sample.trace.trace_id: sample.score for sample in all_samples if sample.score is not None}


async def backfilled(configuration: dict[str, Any], start: datetime, *, ahead: timedelta = timedelta(0)) -> Progress:
    settings = Settings.model_validate(configuration)
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead) as service:
        spec = settings.evaluator(NAME)
        asked = Backfill(evaluator=spec, spans=(Span(start=start, end=datetime.now(UTC)),), newest_first=bool(ahead))
        evaluator = await service.evaluator(spec, live=False)
        total, _, finished = await run_backfill(service, asked, evaluator, told=lambda *_: None)
        assert finished
        return total


async def test_the_bundled_traces_sent_by_otlp_are_annotated_once(
    phoenix: Phoenix, project: str, tmp_path: Path
) -> None:
    configuration = configured(tmp_path, phoenix.url, project)
    await run_once(configuration, ahead=BEGAN)
    wanted: dict[str, float] = {}
    for file, score in BUNDLED.items():
        spans = ended_now(bundled(file))
        phoenix.send(project, spans)
        if score is not None:
            wanted[spans[0].trace_id.hex()] = score
    first = await run_once(configuration)
    assert first.total.by_status == {"scored": 5, "invalid": 1}
    assert shown(phoenix, project) == pytest.approx(wanted, abs=0.005)
    before = phoenix.annotations(project)
    again = await run_once(configuration)
    assert (again.total.by_status, again.delivered.delivered) == ({}, 0)
    backfill = await backfilled(configuration, datetime.now(UTC) - timedelta(minutes=10))
    assert backfill.by_status == {}
    assert phoenix.annotations(project) == before

    other = configured(tmp_path / "other", phoenix.url, project)  # another state knows of nothing, and replaces all
    (tmp_path / "other").mkdir()
    assert (await backfilled(other, datetime.now(UTC) - timedelta(minutes=10))).by_status == first.total.by_status
    assert [one["id"] for one in phoenix.annotations(project)] == [one["id"] for one in before]

    annotation = next(one for one in before if one["trace_id"] == bundled("german.otlp.json")[0].trace_id.hex())
    assert annotation["annotator_kind"] == "CODE"
    assert annotation["result"]["label"] == "hallucinated"
    assert annotation["result"]["explanation"].startswith("0.67 · 2 of 3 claims grounded\n")
    assert "kostet 2,50 €" in annotation["result"]["explanation"]
    assert annotation["metadata"]["metric"] == "agent.hallucination"
    assert annotation["identifier"].startswith("groundwire:")


async def test_every_model_call_is_annotated_once_at_span_level(phoenix: Phoenix, project: str, tmp_path: Path) -> None:
    configuration = configured(tmp_path, phoenix.url, project, level="span", write_status=True)
    await run_once(configuration, ahead=BEGAN)
    spans = ended_now(bundled("grounded.otlp.json"))
    phoenix.send(project, spans)
    asks, answers = [span.span_id.hex() for span in spans if span.name == "ChatCompletion"]
    for _ in range(2):
        await run_once(configuration)
        assert shown(phoenix, project, "span") == {answers: 1.0}
        statuses = [one for one in phoenix.annotations(project, "span") if one["name"] == f"{NAME}.status"]
        assert [(one["span_id"], one["result"]["label"]) for one in statuses] == [(asks, "unknown: no_answer")]


async def test_a_late_span_changes_the_same_annotation_and_one_that_takes_the_answer_withdraws_it(
    phoenix: Phoenix, project: str, tmp_path: Path
) -> None:
    configuration = configured(tmp_path, phoenix.url, project, write_status=True)
    await run_once(configuration, ahead=BEGAN)
    fresh = samples(4, ended=datetime.now(UTC) - timedelta(seconds=5))
    for sample in fresh:
        phoenix.put(project, sample.trace)
    await run_once(configuration)
    assert shown(phoenix, project) == expected(fresh)
    wrong = next(sample for sample in fresh if sample.kind == "hallucinated")
    before = next(one for one in phoenix.annotations(project) if one["trace_id"] == wrong.trace.trace_id)

    tool = next(span for span in wrong.trace.spans if span.kind == "TOOL")
    proof = {"note": " ".join(wrong.invented)}
    late = tool.model_copy(update={"span_id": "f" * 16, "name": "check", "tool_name": "check", "output": proof})
    phoenix.send(project, [span_of(late)])
    second = await run_once(configuration)
    assert second.total.by_status == {"scored": 1}
    assert shown(phoenix, project) == {**expected(fresh), wrong.trace.trace_id: 1.0}
    after = next(one for one in phoenix.annotations(project) if one["trace_id"] == wrong.trace.trace_id)
    assert after["id"] == before["id"]
    assert "re-scored: 1 span arrived later" in after["result"]["explanation"]
    assert (before["result"]["label"], after["result"]["label"]) == ("hallucinated", "grounded")

    helper = tool.model_copy(update={"span_id": "e" * 16, "kind": "AGENT", "name": "helper"})
    phoenix.send(project, [span_of(helper)])
    third = await run_once(configuration)
    assert third.total.by_status == {"invalid": 1}
    assert wrong.trace.trace_id not in shown(phoenix, project)
    [status] = [one for one in phoenix.annotations(project) if one["trace_id"] == wrong.trace.trace_id]
    assert status["result"]["label"] == "invalid: orchestrator_subagent"


@pytest.mark.parametrize("kill", ["judge:2", "comment:3", "deliver:1", f"{WRITTEN}:1", "close:1"])
async def test_killed_on_the_way_each_trace_is_annotated_once(
    phoenix: Phoenix, project: str, tmp_path: Path, kill: str
) -> None:
    configuration = configured(tmp_path, phoenix.url, project)
    await run_once(configuration, ahead=BEGAN)
    fresh = samples(6, ended=datetime.now(UTC) - timedelta(seconds=5))
    for sample in fresh:
        phoenix.put(project, sample.trace)
    assert killed(configuration, ahead=timedelta(0), kill=kill)
    for hours in (1, 2):  # what the killed process held has lapsed
        await run_once(configuration, ahead=timedelta(hours=hours))
    assert shown(phoenix, project) == expected(fresh)


QUESTION = "How long can I return electronics?"
TRUE, FALSE = "Electronics can be returned within 30 days.", "Electronics can be returned within 90 days."


def turn(session: str, number: int, answer: str, *, end: datetime) -> Trace:
    """One trace of a session: a question, what a tool knew, and an answer."""
    ident = sha256(f"{session} {number}".encode()).hexdigest()
    begin = end - timedelta(seconds=4)
    asked = Message(role="user", parts=(TextPart(content=QUESTION),))
    said = Message(role="assistant", parts=(TextPart(content=answer),))
    root = SpanOf(
        span_id=ident[:16], trace_id=ident[32:], kind="AGENT", name="shop", start_time=begin, end_time=end,
        status="ok", input_messages=(asked,), output_messages=(said,),
    )  # fmt: skip
    tool = SpanOf(
        span_id=ident[16:32], trace_id=ident[32:], parent_id=root.span_id, kind="TOOL", name="get_policy",
        tool_name="get_policy", start_time=begin, end_time=begin + timedelta(seconds=2), status="ok",
        input={"category": "electronics"}, output={"policy": TRUE},
    )  # fmt: skip
    return Trace(trace_id=root.trace_id, spans=(root, tool), source="made", session_id=session)


async def test_a_session_is_annotated_when_it_is_idle_and_once_more_when_it_goes_on(
    phoenix: Phoenix, project: str, tmp_path: Path
) -> None:
    configuration = configured(
        tmp_path, phoenix.url, project, metric="conversation.hallucination", level="session", idle="10m"
    )
    await run_once(configuration, ahead=BEGAN)
    session, now = f"chat-{project}", datetime.now(UTC)
    for number, answer in ((1, TRUE), (2, FALSE)):
        phoenix.put(project, turn(session, number, answer, end=now - timedelta(minutes=3 - number)))
    await run_once(configuration)
    assert phoenix.annotations(project, "session") == []
    for minutes in (11, 12):
        await run_once(configuration, ahead=timedelta(minutes=minutes))
        assert shown(phoenix, project, "session") == {session: 1.0}
    [first] = phoenix.annotations(project, "session")
    assert first["result"]["label"] == "hallucinated"
    assert first["result"]["explanation"].startswith(f"hallucinated · {FALSE}\n")

    phoenix.put(project, turn(session, 3, TRUE, end=datetime.now(UTC) - timedelta(seconds=1)))
    await run_once(configuration, ahead=timedelta(minutes=14))
    await run_once(configuration, ahead=timedelta(minutes=15))
    assert [one["result"]["score"] for one in phoenix.annotations(project, "session")] == [1.0, 0.0]
    assert phoenix.annotations(project, "session")[0] == first
