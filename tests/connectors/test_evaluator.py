"""The evaluator for Python users: strings, message lists and mapped records, and what its score says."""

from typing import Any

import pytest
from tests.scorer.scripted import ScriptedJudge

from groundwire.connectors import HallucinationEvaluator
from groundwire.scorer import Claim, ConfigError, ConversationMetric, Failure, OfflineJudge, Verdict

TRANSCRIPT = """User: How long can I return electronics?
Assistant (calls get_policy): {"category": "electronics"}
Tool (get_policy): {"policy": "Electronics can be returned within 30 days."}"""
MESSAGES = [
    {"role": "user", "content": "How long can I return electronics?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get_policy", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"policy": "Electronics can be returned within 30 days."}'},
]
WRONG, RIGHT = "Electronics can be returned within 90 days.", "Electronics can be returned within 30 days."


def rules(**more: Any) -> HallucinationEvaluator:
    return HallucinationEvaluator(ConversationMetric(judge=OfflineJudge()), **more)


@pytest.mark.parametrize("record", [TRANSCRIPT, MESSAGES, {"messages": MESSAGES}], ids=["text", "list", "object"])
@pytest.mark.parametrize("form", ["text", "message", "list"])
async def test_records_and_responses_in_any_form(record: Any, form: str) -> None:
    def say(text: str) -> Any:
        message = {"role": "assistant", "content": text}
        return {"text": text, "message": message, "list": [*MESSAGES, message]}[form]

    (bad,) = await rules().evaluate({"input": record, "output": say(WRONG)})
    assert (bad.name, bad.score, bad.label, bad.direction) == ("hallucination", 1.0, "hallucinated", "minimize")
    assert "90 days" in bad.explanation
    assert (bad.kind, bad.metadata["model"], bad.metadata["status"]) == ("code", "offline-1", "scored")
    (good,) = await rules().evaluate({"input": record, "output": say(RIGHT)})
    assert (good.score, good.label) == (0.0, "grounded")


async def test_a_mapping_of_paths_and_functions() -> None:
    record = {"run": {"turns": MESSAGES, "replies": [{"text": WRONG}]}}
    (score,) = await rules(input_mapping={"input": "$.run.turns", "output": "run.replies[0].text"}).evaluate(record)
    assert score.label == "hallucinated"
    mapping = {"input": lambda row: row["run"]["turns"], "output": lambda row: row["run"]["replies"][-1]["text"]}
    (again,) = await rules().evaluate(record, input_mapping=mapping)
    assert again.label == "hallucinated"


async def test_what_was_asked_is_the_transcript() -> None:
    judge = ScriptedJudge(verdict=Verdict(label="hallucinated", explanation="No.", claims=(Claim(text="90 days"),)))
    evaluator = HallucinationEvaluator(ConversationMetric(judge=judge), name="chat")
    for record in (TRANSCRIPT, MESSAGES):
        (score,) = await evaluator.evaluate({"input": record, "output": WRONG, "trace_id": "t-1"})
        assert (score.name, score.kind, score.explanation) == ("chat", "llm", "No.")
        assert score.metadata["trace_id"] == "t-1"
    for transcript in judge.transcripts:
        assert transcript.startswith("User: How long can I return electronics?\n\nAssistant (calls get_policy): ")
        assert transcript.endswith('"Electronics can be returned within 30 days."}')


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"input": "", "output": RIGHT}, "unknown: no_evidence."),
        ({"input": [], "output": RIGHT}, "unknown: no_evidence."),
        ({"input": TRANSCRIPT, "output": ""}, "unknown: no_answer."),
        ({"input": TRANSCRIPT, "output": None}, "unknown: no_answer."),
        ({"input": TRANSCRIPT, "output": {"role": "assistant", "tool_calls": []}}, "unknown: no_answer."),
    ],
)
async def test_without_a_record_or_a_response_there_is_no_score(record: dict[str, Any], why: str) -> None:
    (score,) = await rules().evaluate(record)
    assert (score.score, score.label, score.explanation) == (None, None, why)
    assert "trace_id" not in score.metadata


async def test_a_judge_that_fails_is_no_verdict() -> None:
    judge = ScriptedJudge(fail={"classify": Failure(status="error", reason="judge_unreachable", message="no line")})
    (score,) = await HallucinationEvaluator(ConversationMetric(judge=judge)).evaluate(
        {"input": TRANSCRIPT, "output": RIGHT}
    )
    assert (score.score, score.explanation) == (None, "error: judge_unreachable. no line")


async def test_a_blob_without_roles_is_taken_as_what_the_user_said() -> None:
    (score,) = await rules().evaluate({"input": "Returns take 30 days.", "output": "Returns take 30 days."})
    assert score.score in (None, 0.0)


async def test_a_mapping_that_leads_nowhere_says_so() -> None:
    with pytest.raises(ConfigError, match=r"output: the record has nothing at 'reply'; map it with input_mapping"):
        await rules(input_mapping={"output": "reply"}).evaluate({"input": TRANSCRIPT})
    with pytest.raises(ConfigError, match="no input is called 'context'; there are input and output"):
        rules(input_mapping={"context": "x"})
    with pytest.raises(ConfigError, match="is no path"):
        rules(input_mapping={"input": "$.["})
