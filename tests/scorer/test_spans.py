"""`unsupported_spans`: what its grounding context is at each level, and what the row says."""

import time
from typing import Any

import pytest
from tests.scorer.scripted import ALL, ScriptedJudge
from tests.scorer.traces import completion, span, tool, trace

from groundwire.scorer import (
    ConfigError,
    Failure,
    Material,
    OfflineJudge,
    Partition,
    Row,
    SpansConfig,
    SpansMetric,
    SpansSettings,
    UnsupportedSpan,
    get_spans_metric,
    load_metric_manifest,
    write_comment,
)

QUESTION = "How long can I return electronics?"
ANSWER = "Electronics can be returned within 90 days. Shipping back is free."
POLICY = tool("get_policy", {"policy": "Electronics can be returned within 30 days."})


def marked(words: str, probability: float = 0.9, **more: Any) -> UnsupportedSpan:
    more.setdefault("type", "unsupported_addition")
    return UnsupportedSpan(text=words, start=-1, end=-1, probability=probability, **more)


BOTH = (marked("90 days", 0.97, type="contradiction", reason="30 days"), marked("Shipping back is free", 0.93))


async def score(partition: Partition, judge: Any = None, config: dict[str, Any] | None = None, **settings: Any) -> Row:
    metric = SpansMetric(
        judge=judge or ScriptedJudge(found=BOTH),
        config=SpansConfig(**config or {}),
        settings=SpansSettings(**settings),
    )
    return await metric.score(partition)


def material(partition: Partition, **settings: Any) -> Material:
    found = SpansMetric(judge=ScriptedJudge(), settings=SpansSettings(**settings)).material(partition)
    assert isinstance(found, Material)
    return found


async def test_unsupported_spans_match() -> None:
    judge = ScriptedJudge(found=BOTH)
    row = await score(trace(ANSWER, POLICY, question=QUESTION), judge)
    assert (row.status, row.score, row.label, row.direction) == ("scored", 1.0, "matched", "lower_is_better")
    first, second = row.claims
    assert (first.text, first.start, first.end, first.probability) == ("90 days", 35, 42, 0.97)
    assert (first.type, first.subtype, first.reason) == ("contradiction", "unit", "30 days")
    assert first.evidence is not None
    assert (first.evidence.block, first.evidence.span_id) == ("E1", "tool-get_policy")
    assert first.evidence.quote == "30 days"
    assert (second.type, second.evidence) == ("unsupported_addition", None)
    assert [name for name, _ in judge.asked] == ["spans"]
    assert write_comment(row).splitlines()[:2] == [
        "2 unsupported spans, p ≥ 0.93",
        "- contradiction: “90 days” · 30 days · E1: “30 days”",
    ]


async def test_none_does_not_match() -> None:
    row = await score(trace("You have 30 days.", POLICY), ScriptedJudge())
    assert (row.score, row.label, row.claims) == (0.0, "not_matched", ())
    assert write_comment(row).startswith("no unsupported spans\n")


async def test_the_predicate_leaves_out_what_is_less_probable() -> None:
    row = await score(trace(ANSWER, POLICY), config={"predicate": 0.95})
    assert [claim.text for claim in row.claims] == ["90 days"]
    assert write_comment(row).startswith("1 unsupported span, p ≥ 0.97\n")
    none = await score(trace(ANSWER, POLICY), config={"predicate": 0.99})
    assert (none.score, none.label) == (0.0, "not_matched")


async def test_lost_spans_are_counted_in_the_row() -> None:
    row = await score(trace(ANSWER, POLICY), ScriptedJudge(found=(marked("By drone"),)))
    assert (row.status, row.reason, row.flags) == ("unknown", "judge_unparsable", ("spans_dropped",))
    assert row.judge["notes"] == {"spans_dropped": 1}
    some = await score(trace(ANSWER, POLICY), ScriptedJudge(found=(marked("By drone"), marked("90 days"))))
    assert (some.label, some.flags, len(some.claims)) == ("matched", ("spans_dropped",), 1)


def test_retrieved_documents_and_tool_results_are_the_context() -> None:
    kb = span("kb", "RETRIEVER", 2, name="handbook", output=["Free shipping."])
    found = material(trace(ANSWER, POLICY, kb, question=QUESTION))
    assert [(block.name, block.tool_name) for block in found.blocks] == [("E1", "get_policy"), ("E2", "handbook")]
    with_user = material(trace(ANSWER, POLICY, question=QUESTION), given=("user",))
    assert [block.name for block in with_user.blocks] == ["E1", "U1"]
    in_call = material(completion(ANSWER, {"policy": "30 days"}))
    assert [block.text for block in in_call.blocks] == ['{"policy":"30 days"}']


def test_relevant_windows_are_chosen_by_the_answer() -> None:
    long = "Nothing of note. " * 600 + "Electronics can be returned within 30 days. " + "Nothing of note. " * 600
    head = material(trace(ANSWER, tool("handbook", long)))
    relevant = material(trace(ANSWER, tool("handbook", long)), evidence_policy="relevant")
    assert "30 days" not in head.view.shown[0].text
    assert "30 days" in relevant.view.shown[0].text


def test_shapes_that_other_metrics_refuse_are_taken() -> None:
    inner = span("helper", "AGENT", 2, name="helper")
    found = material(trace(ANSWER, inner, {**POLICY, "parent_id": "helper"}))
    assert [block.name for block in found.blocks] == ["E1"]


@pytest.mark.parametrize(
    ("partition", "reason"),
    [
        (trace(None, POLICY), "no_answer"),
        (trace(ANSWER), "no_evidence"),
        (trace(ANSWER, tool("empty", "  ")), "no_evidence"),
        (completion(ANSWER), "no_evidence"),
        (trace(None, POLICY, span("llm", "LLM", 3, status="error")), "target_error"),
    ],
)
async def test_what_can_not_be_checked_is_unknown_and_never_verified(partition: Partition, reason: str) -> None:
    judge = ScriptedJudge(found=BOTH)
    row = await score(partition, judge)
    assert (row.status, row.reason, row.score, row.label, judge.asked) == ("unknown", reason, None, None, [])


async def test_a_judge_that_fails_gives_no_score() -> None:
    failure = Failure(status="error", reason="judge_unreachable", message="no connection")
    row = await score(trace(ANSWER, POLICY), ScriptedJudge(fail={"spans": failure}))
    assert (row.status, row.reason, row.score) == ("error", "judge_unreachable", None)


async def test_low_coverage_is_unknown() -> None:
    row = await score(trace(ANSWER, tool("dump", "words " * 10_000)), min_coverage=0.5)
    assert (row.status, row.reason) == ("unknown", "low_coverage")


async def test_the_rules_mark_what_they_can_and_leave_the_rest_unknown() -> None:
    row = await score(trace("Electronics can be returned within 90 days.", POLICY, question=QUESTION), OfflineJudge())
    assert (row.status, row.label) == ("scored", "matched")
    assert "90 days" in row.claims[0].text
    good = await score(trace("Electronics can be returned within 30 days.", POLICY, question=QUESTION), OfflineJudge())
    assert (good.score, good.label) == (0.0, "not_matched")
    vague = await score(trace("It suits a cosy living room very well.", POLICY), OfflineJudge())
    assert (vague.status, vague.reason) == ("unknown", "undecided")


def test_a_judge_without_spans_fails_to_load() -> None:
    with pytest.raises(ConfigError, match="span_required: the llm judge can't answer spans"):
        get_spans_metric(judge=ScriptedJudge(capabilities=ALL - {"spans"}))
    with pytest.raises(ConfigError, match="scores span and trace partitions, not sessions"):
        get_spans_metric(judge=ScriptedJudge()).require("session")


def test_the_manifest_and_the_configuration() -> None:
    manifest = load_metric_manifest("unsupported_spans")
    assert manifest.partition_types == ("span", "trace")
    properties = manifest.config_schema["properties"]
    assert isinstance(properties, dict)
    assert properties["predicate"]["default"] is None  # type: ignore[index, call-overload]
    assert get_spans_metric({"predicate": 0.5}).fingerprint != get_spans_metric().fingerprint
    for bad in (1.5, -0.1, "high"):
        with pytest.raises(ConfigError, match="unsupported_spans: predicate"):
            get_spans_metric({"predicate": bad})


async def test_megabytes_of_evidence_cost_no_seconds() -> None:
    dump = tool("dump", "The order 4711 cost 93 euros on 3 May 2026 for Ana Prado. " * 90_000)
    began = time.perf_counter()
    row = await score(trace("It cost 95 euros.", dump), ScriptedJudge(found=(marked("95 euros"),)))
    assert time.perf_counter() - began < 2
    assert row.label == "matched"
    assert row.coverage.share < 0.01
