"""The LLM judge through the real SDK: questions, evidence, ids and quotes."""

import asyncio
import json
from decimal import Decimal

import pytest
from tests.scorer.judging import ANSWER, BLOCKS, QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.evidence import Block
from groundwire.scorer.spend import Account, MemoryLedger


async def test_an_answer_is_split_and_its_claims_are_labelled(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    split = await judge.split(QUESTION, ANSWER)
    assert split.value is not None
    claims = [claim for claim in split.value if claim.kind == "fact"]
    assert all(ANSWER[claim.start : claim.end] == claim.text for claim in claims)
    assert any("18:40" in claim.text for claim in claims)
    assert not any("Hello" in claim.text for claim in claims)
    labels = await judge.label(QUESTION, claims, view())
    assert labels.value is not None
    assert [claim.label for claim in labels.value] == ["supported"] * len(claims)
    assert all(claim.evidence and claim.evidence.verified and claim.evidence.span_id == "s1" for claim in labels.value)
    assert labels.view is None


async def test_a_claim_without_its_evidence_is_found(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    claims = facts("The ticket cost 412.00 euros.", "It departs at 18:40.")
    reply = await judge.label(QUESTION, claims, view())
    assert reply.value is not None
    assert [claim.label for claim in reply.value] == ["hallucinated", "supported"]


async def test_the_prompt_holds_the_data_in_its_fence_and_nothing_of_it_before(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    await judge.label(
        "为什么这么贵？",
        facts("票价为318.50欧元。"),
        view(*BLOCKS, Block(name="E2", kind="tool", text="boom", failed=True)),
    )
    call = judge_server.calls[0]
    assert call.sections == {
        "E1 arguments": '{"passenger": "A. Vos"}',
        "E1 tool: flights": BLOCKS[0].text,
        "U1": QUESTION,
        "E2 FAILED": "boom",
        "QUESTION": "为什么这么贵？",
        "CLAIMS": "C1: 票价为318.50欧元。",
    }
    assert call.system == judge.asking.prompts["labels"]
    assert "\\u" not in json.dumps(call.user, ensure_ascii=False)
    assert call.headers["authorization"] == "Bearer sk-test"
    assert call.body["temperature"] == 0.0
    assert call.mode == "schema"


async def test_usage_is_in_disjoint_buckets_and_settled_once(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.faults.append(Fault(reasoning_tokens=7))
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    call = judge_server.calls[0]
    assert reply.usage.calls == 1
    assert reply.usage.input_tokens + reply.usage.cached_tokens == call.prompt_tokens
    assert reply.usage.cached_tokens == call.prompt_tokens // 2
    assert reply.usage.reasoning_tokens == 7
    assert reply.usage.output_tokens == call.completion_tokens - 7
    expected = (
        reply.usage.input_tokens + Decimal("0.1") * reply.usage.cached_tokens + 4 * call.completion_tokens
    ).__ceil__()
    assert reply.usage.micro_dollars == ledger.spent == expected
    assert ledger.held == {}
    assert not reply.usage.estimated


async def test_missing_labels_are_asked_for_again_and_alone(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(Fault(change=lambda form: {"labels": form["labels"][:1]}))
    reply = await judge.label(QUESTION, facts("It departs at 18:40.", "The gate is B17."), view())
    assert reply.value is not None
    assert [claim.label for claim in reply.value] == ["supported", "supported"]
    assert [call.sections["CLAIMS"] for call in judge_server.calls] == [
        "C1: It departs at 18:40.\nC2: The gate is B17.",
        "C2: The gate is B17.",
    ]
    assert reply.notes["asked_again"] == 1


async def test_a_claim_that_never_gets_a_label_has_none(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.plan = lambda _index, _call: Fault(
        change=lambda form: {"labels": [entry for entry in form["labels"] if entry["id"] == "C1"]}
    )
    reply = await judge.label(QUESTION, facts("It departs at 18:40.", "The gate is B17."), view())
    assert reply.value is not None
    assert [(claim.label, claim.reason) for claim in reply.value][1] == (None, "not_labelled")
    assert len(judge_server.calls) == 2


async def test_ids_that_do_not_exist_are_dropped_and_counted(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(
        Fault(
            change=lambda form: {
                "labels": [*form["labels"], {**form["labels"][0], "id": "C9"}, {"id": "X", "label": "supported"}]
            }
        )
    )
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert reply.value is not None
    assert len(reply.value) == 1
    assert "ids_dropped" in reply.flags
    assert reply.notes["ids_dropped"] == 2


async def test_of_two_labels_for_one_claim_the_last_binds(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(
        Fault(change=lambda form: {"labels": [{"id": "C1", "label": "hallucinated"}, *form["labels"]]})
    )
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert reply.value is not None
    assert reply.value[0].label == "supported"


def misquoting(quote: str | None, block: str | None = "E1") -> Fault:
    return Fault(
        change=lambda form: {
            next(iter(form)): [{**entry, "quote": quote, "block": block} for entry in next(iter(form.values()))]
        }
    )


async def test_a_quote_that_is_not_there_is_asked_for_once_more(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(misquoting("departure: 18.40h"))
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert reply.value is not None
    assert [call.form for call in judge_server.calls] == ["labels", "quotes"]
    assert reply.value[0].evidence is not None
    assert reply.value[0].evidence.verified
    assert "quote_unverified" not in reply.flags


async def test_a_quote_that_is_still_not_there_is_flagged_and_the_label_kept(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.extend([misquoting("departure: 18.40h"), misquoting(None, None)])
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert reply.value is not None
    claim = reply.value[0]
    assert claim.label == "supported"
    assert claim.evidence is not None
    assert (claim.evidence.block, claim.evidence.quote, claim.evidence.verified) == ("E1", "departure: 18.40h", False)
    assert "quote_unverified" in reply.flags


@pytest.mark.parametrize(
    "quote",
    [
        '"departs":"18:40"',
        "departs: 18:40, gate: B17".replace(": ", ":").replace(", ", ","),
        '{"flight": "KL 1234", "departs": "18:40"',
        '\\"departs\\":\\"18:40\\"',
        '"flight":"KL 1234" … "gate":"B17"',
    ],
)
async def test_quotes_are_found_however_json_was_copied(judge_server: JudgeServer, quote: str) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(misquoting(quote, "E7"))
    reply = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    assert reply.value is not None
    assert len(judge_server.calls) == 1
    evidence = reply.value[0].evidence
    assert evidence is not None
    assert evidence.verified
    assert evidence.block == "E1"
    assert evidence.quote in BLOCKS[0].text


async def test_faithfulness_spans_and_facts(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    answer = "The ticket cost 412.00 euros. It departs at 18:40."
    faithful = await judge.faithfulness(QUESTION, answer, view())
    assert faithful.value is not None
    assert faithful.value.dimensions.numeric < 1.0
    assert faithful.value.claims[0].text in answer
    spans = await judge.spans(QUESTION, answer, view())
    assert spans.value is not None
    assert all(answer[span.start : span.end] == span.text for span in spans.value)
    assert any("412" in span.text for span in spans.value)
    facts_needed = await judge.needs_facts("What is the capital of France?")
    assert facts_needed.value in (True, False)
    assert [call.form for call in judge_server.calls] == ["faithfulness", "spans", "facts"]


async def test_a_response_is_classified_against_the_record(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    record = f"[user]\n{QUESTION}\n\n[tool result: flights]\n{BLOCKS[0].text}"
    reply = await judge.classify(record, "The ticket cost 412.00 euros.")
    assert reply.value is not None
    assert reply.value.label == "hallucinated"
    assert judge_server.calls[0].sections == {"RECORD": record, "RESPONSE": "The ticket cost 412.00 euros."}


async def test_spans_that_are_not_in_the_answer_are_dropped_and_counted(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    invented = {
        "text": "zebras graze quietly on distant meadows",
        "type": "contradiction",
        "reason": "",
        "probability": 0.9,
    }
    judge_server.faults.append(Fault(change=lambda form: {"spans": [*form["spans"], invented]}))
    reply = await judge.spans(QUESTION, "It departs at 18:40.", view())
    assert reply.value is not None
    assert not any("zebras" in span.text for span in reply.value)
    assert reply.notes["spans_dropped"] == 1


async def test_a_long_answer_is_split_piece_by_piece_with_offsets_in_the_whole(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    lines = [f"Order {number} was shipped to Utrecht on 3 May 2026 and weighs {number} kg." for number in range(400)]
    answer = "\n".join(lines)
    reply = await judge.split(QUESTION, answer)
    assert reply.value is not None
    assert len(judge_server.calls) == 3
    assert all(answer[claim.start : claim.end] == claim.text for claim in reply.value)
    assert any("Order 399" in claim.text for claim in reply.value)
    assert any("Order 200" in claim.text for claim in reply.value)


async def test_many_claims_are_labelled_in_several_calls(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    reply = await judge.label(QUESTION, facts(*[f"It departs at 18:40 ({index})." for index in range(65)]), view())
    assert reply.value is not None
    assert len(reply.value) == 65
    assert [call.sections["CLAIMS"].count("\n") + 1 for call in judge_server.asked("labels")] == [30, 30, 5]


async def test_no_claims_need_no_call(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    assert (await judge.label(QUESTION, [], view())).value == ()
    assert judge_server.calls == []


async def test_a_rerun_costs_nothing(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    first = await judge.label(QUESTION, facts("It departs at 18:40."), view())
    spent = ledger.spent
    again = await judge.bound(Account(trace_id="t2")).label(QUESTION, facts("It departs at 18:40."), view())
    assert again.value == first.value
    assert (again.usage.calls, again.usage.micro_dollars, again.usage.cache_hits) == (0, 0, 1)
    assert ledger.spent == spent
    assert len(judge_server.calls) == 1


async def test_identical_calls_in_flight_are_made_once(judge_server: JudgeServer) -> None:
    judge_server.latency = 0.05
    judge = judge_of(judge_server)
    replies = await asyncio.gather(
        *(judge.bound(Account()).label(QUESTION, facts("It departs at 18:40."), view()) for _ in range(10))
    )
    assert len(judge_server.calls) == 1
    assert sorted(reply.usage.cache_hits for reply in replies) == [0] + [1] * 9
    assert len({reply.value for reply in replies}) == 1


async def test_another_judge_prompt_or_evidence_is_another_call(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    claims = facts("It departs at 18:40.")
    await judge.label(QUESTION, claims, view())
    await judge.label(QUESTION + "?", claims, view())
    await judge.label(QUESTION, claims, view(BLOCKS[0]))
    assert len(judge_server.calls) == 3
    assert judge.version != judge_of(judge_server, temperature=0.7).version
