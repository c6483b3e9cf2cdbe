"""`agent.hallucination`: every status, every shape rule, the weights, and what stands in the row."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scorer.scripted import ScriptedJudge
from tests.scorer.traces import completion, span, text, tool, trace

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.judge import Dimensions, Failure
from groundwire.scorer.metrics.config import HallucinationConfig, HallucinationSettings
from groundwire.scorer.metrics.hallucination import LABEL_WEIGHTS, HallucinationMetric, get_trace_metric, weigh
from groundwire.scorer.partition import Partition
from groundwire.scorer.row import Row
from groundwire.scorer.spend import Account

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FACTS = tool("facts", {"alpha": 1, "beta": 2, "gamma": 3})


async def score(partition: Partition, judge: ScriptedJudge | None = None, **settings: Any) -> Row:
    metric = HallucinationMetric(
        judge=judge or ScriptedJudge(),
        config=HallucinationConfig(**settings.pop("config", {})),
        settings=HallucinationSettings(**settings),
        clock=lambda: NOW,
    )
    return await metric.score(partition)


async def test_a_supported_answer_scores_one() -> None:
    row = await score(trace("Alpha is one. Beta is two.", FACTS))
    assert (row.status, row.score, row.label) == ("scored", 1.0, "grounded")
    assert row.direction == "higher_is_better"
    assert row.created_at == NOW
    assert [claim.text for claim in row.claims] == ["Alpha is one.", "Beta is two."]
    assert [(claim.start, claim.end) for claim in row.claims] == [(0, 13), (14, 26)]
    assert (row.usage.calls, row.usage.micro_dollars) == (2, 14)


@pytest.mark.parametrize(
    ("label", "expected"),
    [("supported", 1.0), ("inferred", 0.75), ("model_knowledge", 0.85), ("hallucinated", 0.5)],
)
async def test_labels_earn_their_weights(label: str, expected: float) -> None:
    row = await score(trace("Alpha is one. Beta is two.", FACTS), ScriptedJudge(labels={"Beta": label}))
    assert row.score == pytest.approx(expected)
    assert row.label == ("hallucinated" if label == "hallucinated" else "grounded")


async def test_what_is_no_fact_is_not_judged() -> None:
    judge = ScriptedJudge(kinds={"Hello": "filler", "I am": "self_reference", "Shall": "next_step"})
    row = await score(trace("Hello there. I am your agent. Alpha is one. Shall I go on.", FACTS), judge)
    assert [claim.text for claim in row.claims] == ["Alpha is one."]
    only_talk = await score(trace("Hello there. Shall I go on.", FACTS), judge)
    assert (only_talk.status, only_talk.reason, only_talk.score) == ("unknown", "no_claims", None)


async def test_four_of_five_labels_are_enough_and_three_of_five_are_not() -> None:
    partition = trace("A one. B two. C three. D four. E five.", FACTS)
    row = await score(partition, ScriptedJudge(labels={"E": None, "D": "hallucinated"}))
    assert (row.status, row.score) == ("scored", 0.75)
    assert "partial_labels" in row.flags
    too_few = await score(partition, ScriptedJudge(labels={"E": None, "D": None}))
    assert (too_few.status, too_few.reason, too_few.score) == ("unknown", "undecided", None)
    assert too_few.explanation.startswith("3 of 5 claims decided")
    assert len(too_few.claims) == 5


async def test_the_span_path_weighs_four_dimensions() -> None:
    judge = ScriptedJudge(dimensions=Dimensions(numeric=0, categorical=1, no_fabrication=1, completeness=1))
    row = await score(completion("It costs 5.", {"price": 4}), judge)
    assert row.score == pytest.approx(0.65)
    assert row.label is None
    assert row.dimensions == {"numeric": 0, "categorical": 1, "no_fabrication": 1, "completeness": 1}
    judge = ScriptedJudge(dimensions=Dimensions(numeric=0.5, categorical=0.4, no_fabrication=0, completeness=0.5))
    row = await score(completion("It costs 5.", {"price": 4}), judge)
    assert row.score == pytest.approx(0.5 * 0.35 + 0.4 * 0.25 + 0.5 * 0.10)


async def test_a_span_without_tool_responses_has_no_evidence() -> None:
    row = await score(completion("It costs 5."))
    assert (row.status, row.reason, row.usage.calls) == ("unknown", "no_evidence", 0)


async def test_string_leaves_of_a_span_are_cut_and_coverage_says_so() -> None:
    judge = ScriptedJudge(dimensions=Dimensions(numeric=1, categorical=1, no_fabrication=1, completeness=1))
    response = json.dumps({"note": "x" * 1000, "short": "kept"})
    row = await score(completion("Fine.", response), judge, config={"max_tool_response_length": 100})
    view = judge.asked[0][1]
    assert view is not None
    shown = json.loads(view.shown[0].text)
    assert len(shown["note"]) == 100
    assert "characters cut" in shown["note"]
    assert shown["short"] == "kept"
    [covered] = row.coverage.blocks
    assert covered.total - covered.shown == 1000 - (100 - len(" […925 characters cut]"))


SHAPES = {
    "required_kinds": trace("x", span("a", "CHAIN")).model_copy(
        update={"spans": tuple(s.model_copy(update={"kind": "CHAIN"}) for s in trace("x", span("a", "CHAIN")).spans)}
    ),
    "several_roots": trace("x", FACTS, span("other", "AGENT", 3, None)),
    "orchestrator_subagent": trace("x", FACTS, span("sub", "AGENT", 3)),
    "no_tool": trace("x", span("llm", "LLM"), span("r", "RETRIEVER", 2)),
    "parent_cycle": trace("x", FACTS, span("a", "CHAIN", 3, "b"), span("b", "CHAIN", 4, "a")),
}


@pytest.mark.parametrize("rule", sorted(SHAPES))
async def test_a_shape_that_cannot_be_scored_names_its_rule_and_remedy(rule: str) -> None:
    judge = ScriptedJudge()
    row = await score(SHAPES[rule], judge)
    assert (row.status, row.reason, row.score) == ("invalid", rule, None)
    assert "`kinds" in row.explanation or "`root" in row.explanation
    assert judge.asked == []
    assert row.usage.micro_dollars == 0


async def test_a_cycle_without_any_root_is_named() -> None:
    spans = (span("a", "LLM", 1, "b"), span("b", "TOOL", 2, "a"))
    partition = Partition.model_validate(
        {"partition_type": "trace", "partition_id": "t1", "trace_id": "t1", "spans": spans}
    )
    row = await score(partition)
    assert (row.status, row.reason) == ("invalid", "parent_cycle")


async def test_kinds_and_root_mend_what_they_are_said_to_mend() -> None:
    retrieval = trace("Alpha is one.", span("r", "RETRIEVER", 2, output="alpha: 1"))
    mended = await score(retrieval, kinds=[{"kind": "RETRIEVER", "to": "TOOL"}])
    assert (mended.status, mended.score) == ("scored", 1.0)
    sub = span("sub", "AGENT", 3, output_messages=[text("assistant", "Gamma is three.")])
    nested = trace("Alpha is one.", FACTS, sub, tool("inner", "gamma 3", 4, parent="sub"))
    chosen = await score(nested, root={"name": "sub"})
    assert (chosen.status, [claim.text for claim in chosen.claims]) == ("scored", ["Gamma is three."])
    flat = await score(nested, kinds=[{"name": "sub", "to": "CHAIN"}])
    assert [claim.text for claim in flat.claims] == ["Alpha is one."]
    assert (await score(nested, root={"name": "nobody"})).reason == "root_not_found"


async def test_the_answer_falls_back_to_the_last_assistant_text_below_the_root() -> None:
    llm = span("llm", "LLM", 3, output_messages=[text("assistant", "Alpha is one.")])
    row = await score(trace(None, FACTS, llm))
    assert [claim.text for claim in row.claims] == ["Alpha is one."]


async def test_no_answer_is_unknown_and_asks_nobody() -> None:
    judge = ScriptedJudge()
    row = await score(trace(None, FACTS), judge)
    assert (row.status, row.reason, judge.asked) == ("unknown", "no_answer", [])
    failed = await score(trace(None, FACTS, status="error", status_message="401"), judge)
    assert (failed.status, failed.reason, judge.asked) == ("unknown", "target_error", [])


async def test_tools_that_gave_nothing_are_no_evidence() -> None:
    row = await score(trace("Alpha is one.", tool("facts", None)))
    assert (row.status, row.reason) == ("unknown", "no_evidence")


@pytest.mark.parametrize("question", ["split", "label"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("unknown", "judge_refused"),
        ("unknown", "judge_unparsable"),
        ("skipped", "over_budget"),
        ("error", "judge_unreachable"),
    ],
)
async def test_a_judge_that_fails_gives_its_status_and_keeps_what_was_paid(
    question: str, status: Any, reason: str
) -> None:
    judge = ScriptedJudge(fail={question: Failure(status=status, reason=reason, message="why")})
    row = await score(trace("Alpha is one.", FACTS), judge)
    assert (row.status, row.reason, row.score, row.explanation) == (status, reason, None, "why")
    assert row.usage.micro_dollars == (7 if question == "split" else 14)


async def test_evidence_blocks_say_who_said_what_and_what_failed() -> None:
    judge = ScriptedJudge()
    partition = trace(
        "Alpha is one.",
        span("llm", "LLM", 1, input_messages=[text("system", "Refunds take 14 days."), text("user", "And beta?")]),
        tool("first", '{"alpha": 1}', 2, input={"of": "alpha"}),
        tool("second", {"error": "no such order"}, 3),
        tool("third", "Error: timed out", 4),
        tool("fourth", None, 5, status="error", status_message="503"),
        question="What is alpha?",
    )
    await score(partition, judge)
    view = judge.asked[1][1]
    assert view is not None
    blocks = [(b.name, b.kind, b.text, b.failed, b.tool_name, b.arguments) for b in view.blocks]
    assert blocks == [
        ("E1", "tool", '{"alpha": 1}', False, "first", '{"of":"alpha"}'),
        ("E2", "tool", '{"error":"no such order"}', True, "second", ""),
        ("E3", "tool", "Error: timed out", True, "third", ""),
        ("E4", "tool", "503", True, "fourth", ""),
        ("U1", "user", "What is alpha?", False, None, ""),
        ("U2", "user", "And beta?", False, None, ""),
        ("S1", "provided", "Refunds take 14 days.", False, None, ""),
    ]


async def test_the_strict_reading_gives_tool_results_only() -> None:
    judge = ScriptedJudge()
    await score(trace("Alpha is one.", FACTS), judge, given=[])
    view = judge.asked[1][1]
    assert view is not None
    assert [block.name for block in view.blocks] == ["E1"]


async def test_low_coverage_withholds_the_score_before_anything_is_paid() -> None:
    judge = ScriptedJudge()
    partition = trace("Alpha is one.", tool("long", "alpha " * 2000))
    row = await score(partition, judge, min_coverage=0.5, given=[])
    assert (row.status, row.reason, judge.asked) == ("unknown", "low_coverage", [])
    assert row.coverage.share < 0.2


async def test_recheck_looks_for_what_was_cut() -> None:
    long = "\n".join(f"line {i} says nothing of use" for i in range(800)) + "\nthe omega value is 77"
    judge = ScriptedJudge(labels={"Omega": "hallucinated"})
    row = await score(trace("Omega is 77.", tool("log", long)), judge, recheck=True)
    labels = [view for question, view in judge.asked if question == "label"]
    assert len(labels) == 2
    assert labels[0] is not None
    assert labels[1] is not None
    assert "omega" not in labels[0].shown[0].text
    assert "the omega value is 77" in labels[1].shown[0].text
    assert "rechecked" in row.flags
    plain = ScriptedJudge(labels={"Omega": "hallucinated"})
    assert "rechecked" not in (await score(trace("Omega is 77.", tool("log", long)), plain)).flags


async def test_checks_that_contradict_the_judge_raise_a_flag_and_change_nothing() -> None:
    partition = trace("The total is 999 euros.", tool("bill", {"total_eur": 450}))
    row = await score(partition, ScriptedJudge())
    assert row.score == 1.0
    assert "checks_disagree" in row.flags
    assert any(check.outcome in ("contradicted", "not_found") for check in row.claims[0].checks)
    fine = await score(trace("The total is 450 euros.", tool("bill", {"total_eur": 450})), ScriptedJudge())
    assert "checks_disagree" not in fine.flags


async def test_the_fingerprint_is_of_what_defines_a_score_and_of_nothing_else() -> None:
    def fingerprint(settings: dict[str, Any] | None = None, **config: Any) -> str:
        return HallucinationMetric(
            judge=ScriptedJudge(),
            config=HallucinationConfig(**config),
            settings=HallucinationSettings(**(settings or {})),
        ).fingerprint

    same = fingerprint()
    assert fingerprint(concurrency_limit=3, timeout_seconds=5, metric_name="other") == same
    different = [
        fingerprint(max_response_length=1999),
        fingerprint(max_tool_calls_length=499),
        fingerprint(max_tool_response_length=399),
        fingerprint(max_total_context=7999),
        fingerprint(judge_temperature=0.1),
        fingerprint(language="de"),
        fingerprint(model="m"),
        fingerprint({"given": []}),
        fingerprint({"evidence_policy": "relevant"}),
        fingerprint({"recheck": True}),
        fingerprint({"min_coverage": 0.5}),
        fingerprint({"kinds": [{"kind": "RETRIEVER", "to": "TOOL"}]}),
    ]
    assert len({same, *different}) == 1 + len(different)


async def test_rows_of_two_evaluators_have_ids_of_their_own_and_repeat() -> None:
    partition = trace("Alpha is one.", FACTS)
    metric = HallucinationMetric(judge=ScriptedJudge())
    first = await metric.score(partition, account=Account(evaluator="a"))
    again = await metric.score(partition, account=Account(evaluator="a"))
    other = await metric.score(partition, account=Account(evaluator="b"))
    assert first.row_id == again.row_id != other.row_id


async def test_a_level_or_judge_that_cannot_do_it_is_refused_at_once() -> None:
    metric = HallucinationMetric(judge=ScriptedJudge(capabilities=frozenset({"split", "label"})))
    with pytest.raises(ConfigError, match="can't answer faithfulness"):
        await metric.score(completion("x", {"a": 1}))
    with pytest.raises(ConfigError, match="scores span and trace partitions, not sessions"):
        metric.require("session")


def test_unknown_fields_and_limits_below_one_are_refused_with_one_line() -> None:
    with pytest.raises(ConfigError, match=r"max_total_contxt: Extra inputs are not permitted"):
        get_trace_metric({"max_total_contxt": 3})
    with pytest.raises(ConfigError, match=r"max_response_length: .* greater than or equal to 1"):
        get_trace_metric({"max_response_length": 0})


@given(st.lists(st.sampled_from([*LABEL_WEIGHTS, None]), max_size=30))
def test_a_weighed_score_is_the_mean_of_the_labelled_or_nothing(labels: list[str | None]) -> None:
    score = weigh(labels)
    decided = [label for label in labels if label is not None]
    if not decided or len(decided) < 0.8 * len(labels):
        assert score is None
    else:
        assert score is not None
        assert 0 <= score <= 1
        assert score == pytest.approx(sum(LABEL_WEIGHTS[label] for label in decided) / len(decided))
        assert weigh(list(reversed(labels))) == pytest.approx(score)
