"""The conversation and span metrics with a language model behind a real connection, on what the prompt holds."""

from typing import Any

import pytest
from tests.scorer.judging import judge_of
from tests.scorer.openai_server import Fault, JudgeServer
from tests.scorer.test_conversation import HISTORY, QUESTION, session, span_partition
from tests.scorer.traces import tool, trace

from groundwire.scorer import (
    ConfigError,
    ConversationMetric,
    ConversationSettings,
    DecisionJudgeConfig,
    Partition,
    SpansMetric,
    build_judge,
)

POLICY = tool("get_policy", {"policy": "Electronics can be returned within 30 days."}, input={"item": "tv"})
WRONG, RIGHT = "Electronics can be returned within 90 days.", "Electronics can be returned within 30 days."


def partition(level: str, answer: str) -> Partition:
    if level == "span":
        history = [*HISTORY[:3], {**HISTORY[3], "parts": [{**HISTORY[3]["parts"][0], "response": POLICY["output"]}]}]
        return span_partition(history, answer)
    if level == "trace":
        return trace(answer, POLICY, question=QUESTION)
    return session(("Hello", "Hello!", []), (QUESTION, answer, [POLICY]))


@pytest.mark.parametrize("level", ["span", "trace", "session"])
@pytest.mark.parametrize(("answer", "label", "score"), [(WRONG, "hallucinated", 1.0), (RIGHT, "grounded", 0.0)])
async def test_the_policy_example_by_a_model(
    judge_server: JudgeServer, level: str, answer: str, label: str, score: float
) -> None:
    row = await ConversationMetric(judge=judge_of(judge_server)).score(partition(level, answer))
    assert (row.status, row.label, row.score, row.usage.calls) == ("scored", label, score, 1)
    if label == "hallucinated":
        assert WRONG in row.explanation
        (claim,) = row.claims
        assert (claim.text, claim.start, claim.end) == (WRONG, 0, len(WRONG))
    (call,) = judge_server.calls
    record = call.sections["RECORD"]
    assert f"User: {QUESTION}" in record
    assert "Tool (get_policy): " in record
    assert call.sections["RESPONSE"] == answer
    assert "Assistant: Electronics" not in record


async def test_spans_by_a_model(judge_server: JudgeServer) -> None:
    metric = SpansMetric(judge=judge_of(judge_server))
    row = await metric.score(trace(f"{WRONG} Shipping is free.", POLICY, question=QUESTION))
    assert (row.label, row.usage.calls) == ("matched", 1)
    assert "90 days" in row.claims[0].text
    assert row.claims[0].evidence is not None
    assert row.claims[0].evidence.quote == "30 days"
    good = await metric.score(trace(RIGHT, POLICY, question=QUESTION))
    assert (good.label, good.score) == ("not_matched", 0.0)


async def test_quotes_that_a_model_made_up_and_overlaps(judge_server: JudgeServer) -> None:
    spans = [
        {"text": "within 90 days", "type": "contradiction", "reason": "30 days", "probability": 0.9},
        {"text": "90 days.", "type": "unsupported_addition", "reason": "not there", "probability": 0.7},
        {"text": "by drone", "type": "unsupported_addition", "reason": "never said", "probability": 0.9},
    ]
    judge_server.faults.append(Fault(change=lambda form: {"spans": spans}))
    row = await SpansMetric(judge=judge_of(judge_server)).score(trace(WRONG, POLICY, question=QUESTION))
    assert [(claim.text, claim.type, claim.reason) for claim in row.claims] == [
        ("within 90 days.", "contradiction", "30 days; not there")
    ]
    assert row.flags == ("spans_dropped",)
    assert row.judge["notes"]["spans_dropped"] == 1  # type: ignore[index, call-overload]


@pytest.mark.parametrize("make", [ConversationMetric, SpansMetric])
async def test_what_can_not_be_read_is_unknown(judge_server: JudgeServer, make: Any) -> None:
    for _ in range(2):
        judge_server.faults.append(Fault(content="I'd rather not say."))
    row = await make(judge=judge_of(judge_server)).score(trace(WRONG, POLICY, question=QUESTION))
    assert (row.status, row.reason, row.score) == ("unknown", "judge_unparsable", None)


async def test_a_long_record_is_cut_before_the_prompt_is_too_long(judge_server: JudgeServer) -> None:
    history = [
        {"role": "user" if i % 2 else "assistant", "parts": [{"type": "text", "content": f"turn {i} " + "word " * 80}]}
        for i in range(400)
    ]
    history += HISTORY[2:4]
    settings = ConversationSettings(max_prompt_chars=12_000)
    metric = ConversationMetric(judge=judge_of(judge_server), settings=settings)
    row = await metric.score(span_partition(history, "You have 30 days."))
    assert row.status in ("scored", "unknown")
    (call,) = judge_server.calls
    assert len(call.system) + len(call.user) <= 12_000
    assert 'Tool (get_policy): {"returns_days":30}' in call.sections["RECORD"]
    assert "turn 399" in call.sections["RECORD"]
    assert "characters cut]" in call.sections["RECORD"]
    assert "transcript_cut" not in row.flags
    assert row.coverage.share < 0.3


async def test_an_outlook_asks_nobody(judge_server: JudgeServer) -> None:
    for metric in (ConversationMetric(judge=judge_of(judge_server)), SpansMetric(judge=judge_of(judge_server))):
        found = metric.outlook(trace(WRONG, POLICY, question=QUESTION))
        assert (found.calls, found.priced) == (1, True)
        assert found.worst_micro_dollars > found.expected_micro_dollars > 0
        assert metric.outlook(trace(None, POLICY)).calls == 0
    assert judge_server.calls == []


def test_a_decision_model_classifies_and_marks_no_spans() -> None:
    judge = build_judge(DecisionJudgeConfig(model="decider", base_url="http://127.0.0.1:9"))
    ConversationMetric(judge=judge).require("session")
    with pytest.raises(ConfigError, match="span_required"):
        SpansMetric(judge=judge).require("trace")
