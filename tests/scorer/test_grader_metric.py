"""`code.grader`: a grader over production traces, without a judge."""

from typing import Any

import pytest
from tests.scorer.scripted import ScriptedJudge

from groundwire.scorer import (
    ConfigError,
    Partition,
    Row,
    Sample,
    Usage,
    build_metric,
    get_grader_metric,
    headline,
    load_metric_manifest,
    write_comment,
)

ANSWER = "Order 42 shipped on 3 May."
LLM: dict[str, Any] = {"model": "gpt-5-mini", "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}}


def span(span_id: str, kind: str, parent: str | None = "root", **fields: Any) -> dict[str, Any]:
    times = {"start_time": "2026-11-30T10:00:00Z", "end_time": "2026-11-30T10:00:02.500Z"}
    return {"span_id": span_id, "trace_id": "t", "parent_id": parent, "kind": kind, "name": span_id, **times, **fields}


def said(text: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]


def trace(answer: str = ANSWER, *more: dict[str, Any]) -> Partition:
    root = span("root", "AGENT", None, output_messages=said(answer))
    tool = span("get_order", "TOOL", input='{"order": 42}', output={"order": 42})
    return Partition.model_validate(
        {"partition_type": "trace", "partition_id": "t", "trace_id": "t", "spans": [root, tool, *more]}
    )


async def score(partition: Partition, use: str, **parameters: Any) -> Row:
    return await get_grader_metric({"use": use, "parameters": parameters}).score(partition)


def short(sample: Sample, *, most: int) -> bool:
    """A grader."""
    return len(sample.answer) <= most


@pytest.mark.parametrize(
    ("use", "parameters", "expected", "label"),
    [
        ("answer_match", {"expect": "42"}, 1.0, "passed"),
        ("answer_match", {"expect": "43"}, 0.0, "failed"),
        ("tool_called", {"tool": "get_order", "arguments": {"order": 42}}, 1.0, "passed"),
        ("tool_called", {"tool": "get_order", "arguments": {"order": 43}}, 0.0, "failed"),
        ("tool_called", {"tool": "refund", "never": True}, 1.0, "passed"),
        ("latency_under", {"seconds": 2.5}, 1.0, "passed"),
        ("latency_under", {"seconds": 2.4}, 0.0, "failed"),
        ("refusal", {}, 1.0, "answered"),
        ("refusal", {"expected": True}, 0.0, "answered"),
        ("schema_valid", {"schema": {"type": "object"}}, 0.0, "failed"),
        ("tests.scorer.test_grader_metric:short", {"most": 100}, 1.0, "passed"),
    ],
)
async def test_what_a_trace_scores(use: str, parameters: dict[str, Any], expected: float, label: str) -> None:
    row = await score(trace(), use, **parameters)
    assert (row.status, row.score, row.label) == ("scored", expected, label)
    assert row.usage == Usage()
    assert headline(row) == f"{expected:.2f} · {label}"
    assert row.explanation in write_comment(row)
    assert "trace · by code · no cost" in write_comment(row)
    assert "Lexical" not in write_comment(row)
    assert bool(row.explanation) is (expected == 0.0)


@pytest.mark.parametrize(
    ("answer", "label", "expected"),
    [
        ("I do not have that information.", "refused", 1.0),
        ("I do not have that information. It costs 12 euros.", "partial", 0.0),
    ],
)
async def test_a_refusal_is_a_result_and_no_failure(answer: str, label: str, expected: float) -> None:
    row = await score(trace(answer), "refusal")
    assert (row.label, row.score) == (label, expected)


async def test_cost_is_that_of_the_model_calls() -> None:
    found = await score(trace(ANSWER, span("llm", "LLM", **LLM)), "cost_under", usd=0.2)
    assert found.label == "failed"
    assert found.explanation.startswith("cost $0.2")
    reported = span("llm", "LLM", usage={"cost": 0.01})
    assert (await score(trace(ANSWER, reported), "cost_under", usd=0.02)).score == 1.0
    unknown = await score(trace(ANSWER, reported, span("other", "LLM", model="nobody-knows")), "cost_under", usd=1)
    assert (unknown.status, unknown.reason, unknown.score) == ("unknown", "not_graded", None)


async def test_a_span_has_its_own_answer_and_calls() -> None:
    call = {"type": "tool_call", "id": "c", "name": "get_order", "arguments": {"order": 42}}
    messages = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}, call]}]
    llm = span("llm", "LLM", None, output_messages=messages)
    partition = Partition.model_validate(
        {"partition_type": "span", "partition_id": "t:llm", "trace_id": "t", "target_span_id": "llm", "spans": [llm]}
    )
    assert (await score(partition, "tool_called", tool="get_order", arguments={"order": 42})).score == 1.0
    assert (await score(partition, "answer_match", expect="42")).score == 1.0


async def test_no_answer_is_unknown_where_one_is_needed() -> None:
    row = await score(trace(""), "answer_match", expect="42")
    assert (row.status, row.reason) == ("unknown", "no_answer")
    assert (await score(trace(""), "tool_called", tool="get_order")).score == 1.0


async def test_a_function_that_fails_is_an_error_of_its_row() -> None:
    row = await score(trace(), "tests.scorer.test_grader_metric:short", most=10)
    assert row.score == 0.0
    broken = await score(trace(), "tests.scorer.test_grader_metric:broken")
    assert (broken.status, broken.reason, broken.explanation) == ("error", "internal_error", "KeyError")


def broken(sample: Sample) -> bool:
    """A grader that fails."""
    raise KeyError(sample.answer)


async def test_the_judge_that_is_given_is_never_asked() -> None:
    judge = ScriptedJudge()
    metric = build_metric("code.grader", judge=judge)
    assert (await metric.score(trace())).score == 1.0
    assert metric.judge is not judge


def test_grader_parameters_and_source_are_the_fingerprint() -> None:
    prints = [
        get_grader_metric({"use": use, "parameters": parameters}).fingerprint
        for use, parameters in (
            ("refusal", {}),
            ("refusal", {"expected": True}),
            ("latency_under", {"seconds": 1}),
            ("tests.scorer.test_grader_metric:short", {"most": 1}),
        )
    ]
    assert len(set(prints)) == 4
    assert load_metric_manifest("code.grader").name == "code.grader"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"use": "guess"}, "no grader is called 'guess'"),
        ({"use": "refusal", "parameters": {"expectd": True}}, "no parameter 'expectd'"),
        ({"use": "nowhere:f"}, "can't be imported"),
        ({"uses": "refusal"}, "code.grader: uses"),
    ],
)
def test_a_grader_that_does_not_fit_is_one_line(config: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        get_grader_metric(config)
    assert says in str(error.value)
