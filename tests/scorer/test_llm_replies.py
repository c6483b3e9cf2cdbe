"""Replies that are not quite what was asked for (C38, C40): read, repaired once, or said to be unreadable."""

import json

import pytest
from tests.scorer.judging import QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.spend import MemoryLedger

GOOD = {
    "labels": [
        {"id": "C1", "reason": "it says\nso", "label": "supported", "block": "E1", "quote": "18:40", "type": None}
    ]
}
TEXT = json.dumps(GOOD)
CLAIM = facts("It departs at 18:40.")


@pytest.mark.parametrize(
    "content",
    [
        f"```json\n{TEXT}\n```",
        f"{TEXT}\n\nLet me know if you need more!",
        f"Verdict follows. {TEXT}",
        TEXT.replace("\\n", "\n"),
        f"{TEXT}{TEXT}",
    ],
    ids=["fenced", "extra", "before", "raw newline", "twice the same"],
)
async def test_what_is_unmistakable_takes_one_call(judge_server: JudgeServer, content: str) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(Fault(content=content))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.value[0].label == "supported"
    assert len(judge_server.calls) == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (TEXT.replace('"C1", ', '"C1" '), "no complete JSON object"),
        (TEXT + TEXT.replace("supported", "hallucinated"), "several different objects"),
        ('{"labels": [{"id": "C1", "label": "sure"}]}', "label"),
        ('{"score": "0.8"}', "labels: Field required"),
        ("", "no complete JSON object"),
    ],
    ids=["missing comma", "two objects", "unknown label", "another form", "empty"],
)
async def test_one_repair_shows_the_model_its_error(judge_server: JudgeServer, content: str, complaint: str) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(Fault(content=content))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.value[0].label == "supported"
    first, second = judge_server.calls
    assert second.turns[0] == first.turns[0]
    assert second.turns[1]["content"] == (content or "…")
    assert complaint in second.turns[2]["content"]
    assert reply.usage.calls == 2


async def test_two_unreadable_replies_are_unknown_and_never_a_score(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.plan = lambda _index, _call: Fault(content='{"labels": "all fine"}')
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is None
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "judge_unparsable")
    assert len(judge_server.calls) == 2
    assert reply.usage.calls == 2


async def test_a_broken_reply_is_not_kept(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.extend([Fault(content="no"), Fault(content="no")])
    assert (await judge.label(QUESTION, CLAIM, view())).value is None
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None


async def test_a_repaired_reply_is_kept_under_the_question(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(Fault(content="no"))
    first = await judge.label(QUESTION, CLAIM, view())
    again = await judge.label(QUESTION, CLAIM, view())
    assert again.value == first.value
    assert len(judge_server.calls) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(content='{"labels": [{"id": "C1", "reason": "The brief cor', finish="length"),
        Fault(content="", finish="length", reasoning_tokens=400),
        Fault(content="", finish="stop", reasoning_tokens=400),
    ],
    ids=["cut", "empty", "empty but stopped"],
)
async def test_a_reply_cut_short_is_asked_for_once_more_with_the_largest_limit(
    judge_server: JudgeServer, fault: Fault
) -> None:
    judge = judge_of(judge_server, max_output_tokens=4_000)
    judge_server.faults.append(fault)
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.value[0].label == "supported"
    assert [call.limit for call in judge_server.calls] == [288, 4_000]
    assert len(judge_server.calls[1].turns) == 1, "a cut reply is no error of the model's to repair"


async def test_a_reply_that_is_cut_again_is_unknown(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.plan = lambda _index, _call: Fault(content="{", finish="length")
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "judge_unparsable")
    assert "cut off" in reply.failure.message
    assert "max_output_tokens" in reply.failure.message
    assert len(judge_server.calls) == 2


async def test_the_larger_limit_passes_the_cap_first(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger(cap=12_000)
    judge = judge_of(judge_server, ledger, max_output_tokens=4_000)
    judge_server.faults.append(Fault(content="", finish="length", reasoning_tokens=200))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("skipped", "over_budget")
    assert reply.usage.calls == 1
    assert reply.usage.micro_dollars == ledger.spent > 0
    assert len(judge_server.calls) == 1


async def test_a_model_that_reasons_gets_its_room_at_once_from_then_on(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, max_output_tokens=4_000)
    judge_server.faults.append(Fault(content="", finish="length", reasoning_tokens=400))
    await judge.label(QUESTION, CLAIM, view())
    await judge.label(QUESTION, facts("The gate is B17."), view())
    assert [call.limit for call in judge_server.calls] == [288, 4_000, 4_000]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(content="", refusal="I can't help with that."),
        Fault(content="I'm sorry, but I cannot evaluate this conversation."),
        Fault(content="", finish="content_filter"),
        Fault(
            status=400,
            error={"code": "content_filter", "message": "The prompt triggered the content management policy."},
        ),
        Fault(status=403, error={"message": "Your input was flagged by moderation"}),
    ],
    ids=["refusal", "in words", "filtered", "filtered before", "flagged"],
)
async def test_a_refusal_is_one_call_and_unknown(judge_server: JudgeServer, fault: Fault) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(fault)
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "judge_refused")
    assert len(judge_server.calls) == 1


async def test_a_quoted_number_counts_and_an_impossible_one_is_asked_for_again(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    dimensions = {"numeric": "0.8", "categorical": 1, "no_fabrication": 1.0, "completeness": "1.0"}
    judge_server.faults.append(Fault(change=lambda form: {**form, **dimensions}))
    first = await judge.faithfulness(QUESTION, "It departs at 18:40.", view())
    assert first.value is not None
    assert first.value.dimensions.numeric == 0.8
    judge_server.faults.append(Fault(change=lambda form: {**form, "numeric": 80}))
    second = await judge.faithfulness(QUESTION, "It departs at 19:40.", view())
    assert second.value is not None
    assert second.value.dimensions.numeric <= 1.0
    assert len(judge_server.calls) == 3
