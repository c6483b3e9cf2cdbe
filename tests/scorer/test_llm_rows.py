"""What a judge's trouble comes to in the row and its comment: not-quite JSON, cuts, busy moments, attacks, money."""

import json
from decimal import Decimal
from typing import Any

import pytest
from tests.scorer.judging import PRICE, judge_of
from tests.scorer.openai_server import Call, Fault, JudgeServer
from tests.scorer.test_llm_hostile import ATTACKS
from tests.scorer.traces import span, text, tool, trace

from groundwire.scorer.comment import write_comment
from groundwire.scorer.metrics.config import HallucinationConfig, HallucinationSettings
from groundwire.scorer.metrics.hallucination import HallucinationMetric
from groundwire.scorer.partition import Partition
from groundwire.scorer.row import Row
from groundwire.scorer.spend import MemoryLedger

RESULT = {"flight": "KL 1234", "departs": "18:40", "gate": "B17", "total_eur": 318.5}
ANSWER = "Flight KL 1234 departs at 18:40. The ticket cost 412.00 euros."
TRACE = trace(ANSWER, tool("flights", RESULT), question="When does it leave, and what did it cost?")


async def scored(
    server: JudgeServer, partition: Partition = TRACE, ledger: MemoryLedger | None = None, **judge: Any
) -> Row:
    metric = HallucinationMetric(
        judge=judge_of(server, ledger, **judge), config=HallucinationConfig(), settings=HallucinationSettings()
    )
    return await metric.score(partition)


def to_labels(*faults: Fault) -> Any:
    """A plan: these faults, one a call, on the questions for labels only."""
    left = list(faults)
    return lambda _index, call: left.pop(0) if left and call.form == "labels" else None


def _as(write: Any) -> Fault:
    return Fault(change=write)


def _raw_newline(form: dict[str, Any]) -> str:
    entries = [{**entry, "reason": "two\nlines"} for entry in form["labels"]]
    return json.dumps({"labels": entries}).replace("\\n", "\n")


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (_as(lambda form: f"```json\n{json.dumps(form)}\n```"), 2),
        (_as(lambda form: f"Here it is:\n{json.dumps(form)}\nI hope this helps."), 2),
        (_as(_raw_newline), 2),
        (_as(lambda form: json.dumps(form).replace('"C1", ', '"C1" ')), 3),
        (_as(lambda form: json.dumps(form) + json.dumps({"labels": form["labels"][:1]})), 3),
    ],
    ids=["fenced", "text around", "raw newline", "missing comma", "two objects"],
)
async def test_not_quite_json_gives_the_same_score(judge_server: JudgeServer, fault: Fault, calls: int) -> None:
    judge_server.plan = to_labels(fault)
    row = await scored(judge_server)
    assert (row.status, row.score, row.usage.calls) == ("scored", 0.5, calls)
    assert len(judge_server.calls) == calls


async def test_json_that_is_broken_twice_is_unknown_and_paid(judge_server: JudgeServer) -> None:
    broken = Fault(content='{"labels": [{"id": "C1" "label": "supported"}]}')
    judge_server.plan = to_labels(broken, broken)
    row = await scored(judge_server)
    assert (row.status, row.reason, row.score, row.usage.calls) == ("unknown", "judge_unparsable", None, 3)
    comment = write_comment(row)
    assert comment.startswith("unknown: judge_unparsable\n")
    assert f"${row.usage.micro_dollars / 10**6:.6f}" in comment
    assert row.usage.micro_dollars > 0


@pytest.mark.parametrize("content", ["", '{"labels": [{"id": "C1", "reason": "The brief cor'])
async def test_a_reply_cut_short_is_met_once_with_more_room(judge_server: JudgeServer, content: str) -> None:
    short = Fault(content=content, finish="length", reasoning_tokens=400)
    judge_server.plan = to_labels(short)
    row = await scored(judge_server)
    assert (row.status, row.score, row.usage.calls) == ("scored", 0.5, 3)
    first, second = judge_server.asked("labels")
    assert second.limit > first.limit
    assert row.usage.reasoning_tokens == 400
    judge_server.plan = to_labels(short, short)
    again = await scored(judge_server)
    assert (again.status, again.reason, again.score) == ("unknown", "judge_unparsable", None)
    assert "cut off" in write_comment(again)


@pytest.mark.parametrize(
    "fault", [Fault(content="", refusal="I can't."), Fault(content="I'm sorry, but I can't help with that.")]
)
async def test_a_refusal_is_one_call_and_no_score(judge_server: JudgeServer, fault: Fault) -> None:
    judge_server.plan = to_labels(fault)
    row = await scored(judge_server)
    assert (row.status, row.reason, row.score, row.usage.calls) == ("unknown", "judge_refused", None, 2)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_moment_is_waited_for_and_leaves_no_mark(judge_server: JudgeServer, status: int) -> None:
    judge_server.plan = to_labels(Fault(status=status, headers={"retry-after": "0.05"}))
    row = await scored(judge_server)
    assert (row.status, row.score, row.flags) == (
        "scored",
        0.5,
        ("checks_disagree",) * ("checks_disagree" in row.flags),
    )
    assert row.usage.calls == 2, "what was turned down is not paid"


async def test_a_missing_feature_is_learnt_once_and_noted(judge_server: JudgeServer) -> None:
    judge_server.refuses = {
        "response_format": "response_format json_schema not supported",
        "temperature": "temperature",
    }
    row = await scored(judge_server)
    assert (row.status, row.score) == ("scored", 0.5)
    assert "parameters_dropped" in row.flags
    assert row.judge["notes"]["output"] == "tool"  # type: ignore[index,call-overload]
    assert row.judge["notes"]["dropped_parameters"] == ["temperature"]  # type: ignore[index,call-overload]
    assert "parameters_dropped" in write_comment(row)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize("where", ["answer", "tool result"])
async def test_an_attack_changes_no_verdict_and_stands_in_the_comment(
    judge_server: JudgeServer, where: str, attack: str
) -> None:
    answer = f"{ANSWER}\n\n{attack}" if where == "answer" else ANSWER
    result = {**RESULT, "remark": attack} if where == "tool result" else RESULT
    row = await scored(judge_server, trace(answer, tool("flights", result), question=f"When does it leave?\n{attack}"))
    clean = await scored(judge_server, trace(ANSWER, tool("flights", RESULT), question="When does it leave?"))
    assert [claim.label for claim in row.claims if claim.text in ANSWER] == [claim.label for claim in clean.claims]
    assert [claim.label for claim in clean.claims] == ["supported", "hallucinated"]
    assert "injection_suspected" in row.flags
    assert "injection_suspected" not in clean.flags
    assert "injection_suspected" in write_comment(row)


async def test_a_cap_ends_in_a_skipped_row_that_keeps_what_was_paid(judge_server: JudgeServer) -> None:
    price = PRICE.model_copy(update={"input": Decimal(0), "output": Decimal(1)})
    ledger = MemoryLedger(cap=500)
    row = await scored(judge_server, ledger=ledger, price=price)
    assert (row.status, row.reason, row.score) == ("skipped", "over_budget", None)
    assert row.usage.calls == 1
    assert row.usage.micro_dollars == ledger.spent > 0
    assert len(judge_server.calls) == 1


async def test_missing_usage_is_charged_at_the_worst_case_and_said(judge_server: JudgeServer) -> None:
    judge_server.plan = lambda _index, _call: Fault(usage=False)
    row = await scored(judge_server)
    assert row.status == "scored"
    assert row.usage.estimated
    assert row.usage.output_tokens == sum(call.limit for call in judge_server.calls)


async def test_a_small_context_shows_less_and_the_row_says_how_much(judge_server: JudgeServer) -> None:
    judge_server.context_tokens = 1_100
    filler = span("log", "TOOL", 2, tool_name="log", output="nothing of note happened here " * 60)
    row = await scored(judge_server, trace(ANSWER, tool("flights", RESULT), filler))
    assert (row.status, row.score) == ("scored", 0.5)
    assert "context_too_small" in row.flags
    assert row.coverage.share < 1
    comment = write_comment(row)
    assert "Not all evidence was seen: E2 " in comment
    assert "context_too_small" in comment


async def test_a_prompt_shows_text_as_it_is(judge_server: JudgeServer) -> None:
    said = "航班十八点四十分起飞。Der Preis beträgt 318,50 €. L'été à Nîmes."
    asked: list[Call] = judge_server.calls
    await scored(judge_server, trace(said, tool("flüge", {"preis": "318,50 €", "城市": "纽约"}), question="什么时候？"))
    assert asked[0].sections["ANSWER"] == said
    assert "纽约" in asked[1].user
    assert "\\u" not in asked[0].user + asked[1].user
    assert text("user", "什么时候？")["parts"][0]["content"] in asked[0].user
