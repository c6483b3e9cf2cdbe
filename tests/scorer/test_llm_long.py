"""No prompt passes `max_prompt_chars`, however long the texts are, and what could not be judged is said."""

from typing import Any

import pytest
from tests.scorer.judging import PRICE, QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer
from tests.scorer.traces import completion, tool, trace

from groundwire.scorer.cache import MemoryCache
from groundwire.scorer.comment import write_comment
from groundwire.scorer.evidence import Block, View
from groundwire.scorer.judges.config import LLMJudgeConfig
from groundwire.scorer.judges.llm import LLMJudge
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.metrics.config import HallucinationConfig, HallucinationSettings
from groundwire.scorer.metrics.hallucination import HallucinationMetric
from groundwire.scorer.row import Row

DEFAULT = 32_000
FACT = "The ticket cost 318.50 euros."
LONG = {
    "words": "It departs at 18:40 and nothing else is known about it. ",
    "one word": "x",
    "ideographs": "航班十八点四十分起飞",
    "emoji": "🛫🧳",
    "braces": '{"<<": [',
}
LENGTH = 40_000


def long(kind: str, length: int) -> str:
    return (LONG[kind] * (length // len(LONG[kind]) + 1))[:length]


def big_view(length: int = 40_000) -> View:
    """More evidence than any prompt takes, as a caller without limits would show it."""
    from groundwire.scorer.evidence import Shown

    blocks = [
        Block(name="E1", kind="tool", tool_name="flights", text='{"price": {"total": 318.5}}'),
        Block(name="E2", kind="tool", tool_name="log", text=long("words", length), arguments=long("braces", 5_000)),
    ]
    return View(shown=tuple(Shown(block=block, text=block.text, arguments=block.arguments) for block in blocks))


def within(server: JudgeServer, limit: int = DEFAULT) -> bool:
    """Whether all prompts, with system text and repairs, have at most that many characters; there were some."""
    sizes = [len(call.system) + sum(len(turn["content"]) for turn in call.turns) for call in server.calls]
    return bool(sizes) and max(sizes) <= limit


@pytest.mark.parametrize("kind", LONG)
async def test_a_long_answer_is_split_within_the_bound(judge_server: JudgeServer, kind: str) -> None:
    reply = await judge_of(judge_server, max_output_tokens=100_000).split(QUESTION, long(kind, 26_000))
    assert within(judge_server)
    assert reply.value is not None or (reply.failure is not None and reply.failure.status == "unknown")


async def test_a_long_question_is_cut_and_that_is_said(judge_server: JudgeServer) -> None:
    question = long("words", LENGTH)
    judge = judge_of(judge_server)
    for reply in (
        await judge.split(question, FACT),
        await judge.label(question, facts(FACT), view()),
        await judge.faithfulness(question, FACT, view()),
        await judge.spans(question, FACT, view()),
        await judge.needs_facts(question),
    ):
        assert reply.value is not None
        assert "question_cut" in reply.flags
        assert reply.notes["question_cut"] > LENGTH - 17_000  # type: ignore[operator]
    assert within(judge_server)


async def test_a_long_list_of_claims_is_labelled_in_several_calls(judge_server: JudgeServer) -> None:
    claims = facts(*(f"{number}: {long('words', 900)}" for number in range(45)))
    reply = await judge_of(judge_server).label(QUESTION, claims, view())
    assert reply.value is not None
    assert len(reply.value) == 45
    assert within(judge_server)
    assert len(judge_server.asked("labels")) > 2


async def test_a_claim_longer_than_any_prompt_has_no_label_and_the_others_have(judge_server: JudgeServer) -> None:
    claims = facts(FACT, long("words", 50_000), "It departs at 18:40.")
    reply = await judge_of(judge_server).label(QUESTION, claims, view())
    assert reply.value is not None
    assert [claim.label for claim in reply.value] == ["supported", None, "supported"]
    assert reply.value[1].reason == "not_labelled"
    assert "claims_too_long" in reply.flags
    assert reply.notes["claims_too_long"] == 1
    assert within(judge_server)


@pytest.mark.parametrize("ask", ["label", "faithfulness", "spans"])
async def test_evidence_gives_way_and_coverage_says_so(judge_server: JudgeServer, ask: str) -> None:
    judge = judge_of(judge_server)
    shown = big_view()
    reply: Any = await (
        judge.label(QUESTION, facts(FACT), shown) if ask == "label" else getattr(judge, ask)(QUESTION, FACT, shown)
    )
    assert reply.value is not None
    assert len(judge_server.calls) == 1, "what is too long is known before the call"
    assert within(judge_server)
    assert len(judge_server.calls[0].user) > 28_000, "no more gives way than must"
    assert reply.view is not None
    assert reply.view.coverage.blocks[0].shown == 27, "what is short stays whole"
    assert reply.view.coverage.share < 0.7
    assert "context_too_small" not in reply.flags, "the model had no part in it"


@pytest.mark.parametrize("ask", ["faithfulness", "spans"])
async def test_an_answer_that_leaves_no_room_is_unknown_and_costs_nothing(judge_server: JudgeServer, ask: str) -> None:
    reply: Any = await getattr(judge_of(judge_server), ask)(QUESTION, long("words", 40_000), big_view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "low_coverage")
    assert "max_prompt_chars" in reply.failure.message
    assert reply.usage.calls == 0
    assert judge_server.calls == []


async def test_the_oldest_turns_of_a_long_record_go_first(judge_server: JudgeServer) -> None:
    record = long("words", 90_000) + "\n[tool result: flights]\n" + '{"price": {"total": 318.5}}'
    reply = await judge_of(judge_server).classify(record, FACT)
    assert reply.value is not None
    assert reply.value.label == "grounded", "the end of the record is read"
    assert within(judge_server)
    assert len(judge_server.calls[0].user) > 28_000
    assert "transcript_cut" in reply.flags
    assert reply.notes["transcript_cut"] > 55_000  # type: ignore[operator]


async def test_a_response_that_leaves_no_room_for_its_record_is_unknown(judge_server: JudgeServer) -> None:
    reply = await judge_of(judge_server).classify("[user]\nhi", long("words", 40_000))
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "low_coverage")
    assert judge_server.calls == []


async def test_a_repair_stays_within_the_bound_too(judge_server: JudgeServer) -> None:
    judge_server.faults.append(Fault(content="no JSON here. " * 3_000))
    reply = await judge_of(judge_server, max_output_tokens=60_000).label(QUESTION, facts(FACT), big_view())
    assert reply.value is not None
    assert len(judge_server.calls) == 2
    assert within(judge_server)


def metric_of(server: JudgeServer, **settings: Any) -> HallucinationMetric:
    beside = HallucinationSettings(**settings)
    config = LLMJudgeConfig(model="scripted-1", base_url=server.url, price=PRICE, max_output_tokens=60_000)
    judge = build_judge(config, cache=MemoryCache(), metric=HallucinationConfig(), settings=beside)
    assert isinstance(judge, LLMJudge)
    wide = HallucinationConfig(max_total_context=500_000, max_response_length=500_000, max_tool_response_length=500_000)
    return HallucinationMetric(judge=judge, config=wide, settings=beside)


async def scored(server: JudgeServer, partition: Any, **settings: Any) -> Row:
    metric = metric_of(server, **settings)
    try:
        return await metric.score(partition)
    finally:
        await metric.judge.close()


LOG = tool("log", long("words", 60_000), second=2)
PRICE_TOOL = tool("price", {"total_eur": 318.5})


@pytest.mark.parametrize(
    "settings", [{}, {"max_prompt_chars": 4_000}, {"evidence_policy": "relevant", "recheck": True}]
)
@pytest.mark.parametrize(
    "partition",
    [
        trace(FACT, PRICE_TOOL, LOG, question=long("words", 50_000)),
        trace(f"{FACT} The refund was 99 euros.", PRICE_TOOL, LOG),
        trace(long("words", 12_500), PRICE_TOOL, LOG),
        trace(FACT, PRICE_TOOL, *(tool(f"t{n}", {"n": n}, error="broken", second=3) for n in range(40))),
        completion(FACT, {"total_eur": 318.5}, long("words", 60_000), question=long("one word", 50_000)),
        completion(long("words", 20_000), {"total_eur": 318.5}, long("words", 60_000)),
    ],
    ids=["question", "recheck", "answer", "many tools", "span", "span with a long answer"],
)
async def test_rows_of_long_partitions_are_true(judge_server: JudgeServer, partition: Any, settings: Any) -> None:
    row = await scored(judge_server, partition, **settings)
    assert row.status in ("scored", "unknown")
    assert row.status == "scored" or row.reason == "low_coverage"
    assert judge_server.calls == [] or within(judge_server, settings.get("max_prompt_chars", DEFAULT))
    if "Not all evidence was seen" not in write_comment(row):
        assert row.coverage.share == 1.0
    assert row.usage.calls == len(judge_server.calls)


async def test_what_gave_way_is_measured_against_min_coverage(judge_server: JudgeServer) -> None:
    partition = completion("It departs at 18:40. " + "x" * 28_000, {"log": long("words", 14_000)})
    row = await scored(judge_server, partition, min_coverage=0.5)
    assert (row.status, row.reason, row.score) == ("unknown", "low_coverage", None)
    assert row.coverage.share < 0.5
    again = await scored(judge_server, partition)
    assert again.status == "scored"
    assert again.coverage.share == row.coverage.share


async def test_the_outlook_knows_that_short_prompts_are_many(judge_server: JudgeServer) -> None:
    partition = trace("It departs at 18:40 from gate B17. " * 200, PRICE_TOOL)
    wide, narrow = metric_of(judge_server), metric_of(judge_server, max_prompt_chars=4_000)
    assert narrow.outlook(partition).calls > wide.outlook(partition).calls
    row = await narrow.score(partition)
    await narrow.judge.close()
    assert row.usage.calls <= 2 * narrow.outlook(partition).calls
    assert row.usage.micro_dollars <= narrow.outlook(partition).worst_micro_dollars
