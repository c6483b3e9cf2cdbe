"""`conversation.hallucination`: what stands in the record at each level, and what the row says."""

from datetime import timedelta
from typing import Any

import pytest
from tests.scorer.scripted import ALL, ScriptedJudge
from tests.scorer.traces import span, text, tool, trace

from groundwire.scorer import (
    Claim,
    ConfigError,
    ConversationConfig,
    ConversationMetric,
    ConversationSettings,
    Failure,
    Material,
    OfflineJudge,
    Partition,
    Row,
    Span,
    Turn,
    Verdict,
    get_conversation_metric,
    load_metric_manifest,
)

QUESTION = "How long can I return electronics?"
POLICY = tool("get_policy", {"returns_days": 30}, input={"category": "electronics"})
GROUNDED = Verdict(label="grounded", explanation="The policy says so.")


def material(partition: Partition, config: dict[str, Any] | None = None, **settings: Any) -> Material:
    metric = ConversationMetric(
        judge=ScriptedJudge(), config=ConversationConfig(**config or {}), settings=ConversationSettings(**settings)
    )
    found = metric.material(partition)
    assert isinstance(found, Material)
    return found


async def score(partition: Partition, judge: Any = None, **settings: Any) -> Row:
    judge = judge or ScriptedJudge(verdict=GROUNDED)
    return await ConversationMetric(judge=judge, settings=ConversationSettings(**settings)).score(partition)


def call(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def result(call_id: str, response: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response, **more}]}


def model_call(history: list[dict[str, Any]], answer: str, span_id: str = "llm", second: int = 1) -> dict[str, Any]:
    return span(span_id, "LLM", second, None, input_messages=history, output_messages=[text("assistant", answer)])


def span_partition(history: list[dict[str, Any]], answer: str, **fields: Any) -> Partition:
    return Partition.model_validate(
        {
            "partition_type": "span",
            "partition_id": "t1:llm",
            "trace_id": "t1",
            "target_span_id": "llm",
            "spans": [{**model_call(history, answer), **fields}],
        }
    )


HISTORY = [
    text("system", "You are the shop's assistant."),
    text("user", QUESTION),
    call("get_policy", {"category": "electronics"}, "c1"),
    result("c1", {"returns_days": 30}),
    call("get_stock", {"item": "tv"}, "c2"),
    result("c2", "no connection", failed=True),
    text("assistant", "Let me see."),
    text("user", "Well?"),
]


def test_a_model_calls_history_is_its_record() -> None:
    found = material(span_partition(HISTORY, "You have 30 days."))
    assert found.transcript.split("\n\n") == [
        "System: You are the shop's assistant.",
        f"User: {QUESTION}",
        'Assistant (calls get_policy): {"category":"electronics"}',
        'Tool (get_policy): {"returns_days":30}',
        'Assistant (calls get_stock): {"item":"tv"}',
        "Tool (get_stock, failed): no connection",
        "Assistant: Let me see.",
        "User: Well?",
    ]
    assert found.answer == "You have 30 days."
    assert [(block.name, block.failed) for block in found.blocks] == [
        ("S1", False), ("U1", False), ("E1", False), ("E2", True), ("U2", False),
    ]  # fmt: skip


def test_thinking_and_tool_definitions_are_left_out_and_media_is_named() -> None:
    parts: list[dict[str, Any]] = [
        {"type": "text", "content": "What is this?"},
        {"type": "uri", "uri": "https://cdn.example/in/receipt.png?sig=secret", "modality": "image"},
        {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "size": 24_000},
    ]
    history: list[dict[str, Any]] = [
        {"role": "user", "parts": parts},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]},
    ]
    attributes = {"gen_ai.tool.definitions": [{"name": "get_policy", "description": "never shown"}]}
    found = material(span_partition(history, "A receipt.", attributes=attributes))
    assert found.transcript == (
        "User: What is this?\n[image: receipt.png, not shown]\n[audio: audio/wav, 24,000 encoded characters, not shown]"
    )
    assert found.media == 2


def test_a_traces_spans_form_the_conversation() -> None:
    first = span(
        "llm1", "LLM", 1, input_messages=[text("system", "Be brief."), text("user", QUESTION)],
        output_messages=[call("get_policy", {"category": "electronics"}, "c1")],
    )  # fmt: skip
    ran = tool("get_policy", {"returns_days": 30}, 3, input={"category": "electronics"})
    ran["attributes"] = {"groundwire.tool_call_id": "c1"}
    again = [*first["input_messages"], *first["output_messages"], result("c1", {"returns_days": 30})]
    second = span("llm2", "LLM", 5, input_messages=again, output_messages=[text("assistant", "30 days.")])
    retrieved = span("kb", "RETRIEVER", 4, output=["Opened goods too."], name="kb")
    guard = span("check", "GUARDRAIL", 6, input_messages=[text("user", "Is this fine?")])
    found = material(trace("30 days.", first, ran, second, retrieved, guard, question=QUESTION))
    assert found.transcript.split("\n\n") == [
        "System: Be brief.",
        f"User: {QUESTION}",
        'Assistant (calls get_policy): {"category":"electronics"}',
        'Tool (get_policy): {"returns_days":30}',
        'Retrieved (kb): ["Opened goods too."]',
    ]


def test_a_tool_that_ran_twice_is_told_twice() -> None:
    found = material(trace("Both.", tool("look", "same", 1), {**tool("look", "same", 2), "span_id": "again"}))
    assert found.transcript.count("Tool (look): same") == 2


def test_results_that_stand_in_messages_alone_are_told_where_they_stand() -> None:
    made = tool("get_policy", {"returns_days": 30}, 2, attributes={"groundwire.flags": ["tool_from_messages"]})
    partition = trace("You have 30 days.", model_call(HISTORY, "You have 30 days."), made, question=QUESTION)
    assert material(partition).transcript == material(span_partition(HISTORY, "You have 30 days.")).transcript


def test_what_one_agent_tells_another_is_no_evidence() -> None:
    helper = span(
        "helper", "AGENT", 2, name="refunds", input_messages=[text("user", "The customer is owed 500 euros.")]
    )
    inner = span("inner", "LLM", 3, "helper", input_messages=[text("user", "The customer is owed 500 euros.")])
    found = material(trace("You get 500 euros.", helper, inner, question="What do I get?"))
    assert "Assistant (to refunds): The customer is owed 500 euros." in found.transcript
    assert [block.text for block in found.blocks] == ["What do I get?"]


def test_the_answer_in_a_later_prompt_is_no_evidence() -> None:
    answer = "Electronics can be returned within 90 days."
    titled = span("title", "LLM", 9, input_messages=[text("user", f"Find a title for: {answer}")])
    relayed = span("polish", "LLM", 5, input_messages=[text("user", "We said so long ago.")])
    draft = span("draft", "LLM", 3, output_messages=[text("assistant", "We said so long ago.")])
    found = material(trace(answer, POLICY, draft, relayed, titled, question=QUESTION))
    assert [block.name for block in found.blocks] == ["U1", "E1"]
    assert "Assistant (to another step): Find a title" in found.transcript


def session(*traces: tuple[str, str, list[dict[str, Any]]]) -> Partition:
    """Traces of one question and one answer each, with their tools, an hour apart."""
    spans: list[Span] = []
    turns: list[Turn] = []
    for number, (question, answer, tools) in enumerate(traces):
        turns.append(Turn(trace_id=f"t{number}", start=len(spans)))
        for one in trace(answer or None, *tools, question=question).spans:
            later = {
                "trace_id": f"t{number}",
                "span_id": f"{number}-{one.span_id}",
                "parent_id": f"{number}-{one.parent_id}" if one.parent_id else None,
                "start_time": one.start_time + timedelta(hours=number),
                "end_time": (one.end_time or one.start_time) + timedelta(hours=number),
            }
            spans.append(one.model_copy(update=later))
    return Partition(
        partition_type="session",
        partition_id="session:s1",
        trace_id=f"t{len(traces) - 1}",
        session_id="s1",
        spans=tuple(spans),
        turns=tuple(turns),
    )


def test_a_session_is_told_in_time_order_and_its_last_response_is_judged() -> None:
    partition = session((QUESTION, "30 days.", [POLICY]), ("Yes?", "Yes.", []), ("Yes?", "For sure.", []))
    found = material(partition)
    assert found.answer == "For sure."
    assert found.transcript.split("\n\n") == [
        f"User: {QUESTION}",
        'Assistant (calls get_policy): {"category":"electronics"}',
        'Tool (get_policy): {"returns_days":30}',
        "Assistant: 30 days.",
        "User: Yes?",
        "Assistant: Yes.",
        "User: Yes?",
    ]


def test_a_session_whose_traces_repeat_their_history_tells_each_turn_once() -> None:
    told = [
        text("user", "Hi"),
        text("assistant", "Hello!"),
        text("user", "My order is 4711."),
        text("assistant", "OK."),
    ]
    spans = [
        Span.model_validate(
            {**model_call(told[: 2 * turn + 1], answer, f"llm{turn}", 10 * turn), "trace_id": f"t{turn}"}
        )
        for turn, answer in enumerate(("Hello!", "OK."))
    ]
    partition = Partition(
        partition_type="session", partition_id="session:s", trace_id="t1", session_id="s", spans=tuple(spans),
        turns=(Turn(trace_id="t0", start=0), Turn(trace_id="t1", start=1)),
    )  # fmt: skip
    assert material(partition).transcript.split("\n\n") == ["User: Hi", "Assistant: Hello!", "User: My order is 4711."]


async def test_a_session_without_a_last_response_has_no_answer() -> None:
    row = await score(session((QUESTION, "30 days.", [POLICY]), ("Still?", "", [])))
    assert (row.status, row.reason, row.score) == ("unknown", "no_answer", None)


async def test_one_call_gives_the_verdict() -> None:
    judge = ScriptedJudge(
        verdict=Verdict(
            label="hallucinated",
            explanation="The policy says 30 days.",
            claims=(Claim(text="90 days", start=12, end=19, label="hallucinated"),),
        )
    )
    row = await score(trace("You can for 90 days.", POLICY, question=QUESTION), judge)
    assert (row.status, row.score, row.label, row.direction) == ("scored", 1.0, "hallucinated", "lower_is_better")
    assert row.explanation == "“90 days”: The policy says 30 days."
    assert row.metric == "conversation.hallucination"
    assert [name for name, _ in judge.asked] == ["classify"]
    good = await score(trace("You have 30 days.", POLICY, question=QUESTION))
    assert (good.score, good.label, good.explanation) == (0.0, "grounded", "The policy says so.")


@pytest.mark.parametrize("level", ["span", "trace", "session"])
@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Electronics can be returned within 90 days.", "hallucinated"),
        ("You can return it within 30 days.", "grounded"),
    ],
)
async def test_the_policy_example_by_the_rules(level: str, answer: str, label: str) -> None:
    said = tool("get_policy", {"policy": "Returns are accepted within 30 days."}, input={"category": "electronics"})
    history = [text("user", QUESTION), call("get_policy", {}, "c1"), result("c1", said["output"])]
    partitions = {
        "span": span_partition(history, answer),
        "trace": trace(answer, said, question=QUESTION),
        "session": session(("Hello", "Hello!", []), (QUESTION, answer, [said])),
    }
    row = await score(partitions[level], OfflineJudge())
    assert (row.status, row.label, row.partition_type) == ("scored", label, level)
    if label == "hallucinated":
        assert "90 days" in row.explanation


@pytest.mark.parametrize(
    ("partition", "reason"),
    [
        (trace(None, POLICY), "no_answer"),
        (trace(None, span("llm", "LLM", 1, status="error")), "target_error"),
        (span_partition([], "Hello."), "no_evidence"),
        (span_partition([text("assistant", "I think it is 30 days.")], "It is 30 days."), "no_evidence"),
    ],
)
async def test_what_can_not_be_judged_is_unknown_and_asks_nobody(partition: Partition, reason: str) -> None:
    judge = ScriptedJudge()
    row = await score(partition, judge)
    assert (row.status, row.reason, row.score, judge.asked) == ("unknown", reason, None, [])


async def test_the_offline_judge_says_unknown_where_it_can_not_decide() -> None:
    vague = await score(trace("It suits a cosy living room very well.", POLICY), OfflineJudge())
    assert (vague.status, vague.reason) == ("unknown", "undecided")
    worldly = await score(span_partition([text("user", "How tall is it?")], "It is 330 metres tall."), OfflineJudge())
    assert (worldly.status, worldly.reason) == ("unknown", "undecided")


async def test_a_judge_that_fails_gives_no_score() -> None:
    failure = Failure(status="unknown", reason="judge_unparsable", message="no JSON")
    row = await score(trace("Yes.", POLICY), ScriptedJudge(fail={"classify": failure}))
    assert (row.status, row.reason, row.explanation, row.usage.calls) == ("unknown", "judge_unparsable", "no JSON", 1)


BAD = {
    "json": '{"a": [1, 2, {"b": "User: I am owed 500"}]}',
    "html": "<html><script>alert(1)</script><p>30 days</p></html>",
    "base64": "iVBORw0KGgo" + "QUJD" * 50_000,
    "huge": "A line of a log. " * 300_000,
    "rtl": "مهلة الإرجاع ٣٠ يومًا e\u0301",
}


@pytest.mark.parametrize("kind", BAD)
async def test_any_tool_result_is_taken(kind: str) -> None:
    found = material(trace("30 days.", tool("dump", BAD[kind]), question=QUESTION))
    assert len(found.transcript) < 5_000
    assert found.transcript.startswith(f"User: {QUESTION}\n\nTool (dump): ")
    if kind == "base64":
        assert "[encoded data, 200,011 characters, not shown]" in found.transcript
    if kind == "huge":
        assert found.view.coverage.share < 0.01
    row = await score(trace("It was done.", tool("dump", BAD[kind]), question=QUESTION), OfflineJudge())
    assert row.status in ("scored", "unknown")


async def test_ten_thousand_turns_make_a_row_of_ordinary_size() -> None:
    history = [text("user" if i % 2 else "assistant", f"turn {i}") for i in range(10_000)]
    judge = ScriptedJudge(verdict=GROUNDED)
    row = await score(span_partition(history, "Fine."), judge)
    assert row.status == "scored"
    assert len(row.coverage.blocks) <= 201
    assert row.coverage.total == sum(len(f"turn {i}") for i in range(1, 10_000, 2))
    assert len(row.model_dump_json()) < 40_000
    assert "User: turn 9999" in judge.transcripts[0]


async def test_no_prompt_passes_its_limit() -> None:
    history = [text("user", "x y " * 750) for _ in range(30)]
    found = material(span_partition(history, "y" * 2_000), max_prompt_chars=10_000)
    assert len(found.transcript) + len(found.answer) + 3_000 <= 10_000
    row = await score(span_partition(history, "Fine."), min_coverage=0.9)
    assert (row.status, row.reason) == ("unknown", "low_coverage")


def test_the_hash_covers_the_whole_record() -> None:
    base = material(span_partition(HISTORY, "You have 30 days."))
    again = material(span_partition(HISTORY, "You have 30 days."), config={"max_turn_length": 5})
    assert base.content_hash == again.content_hash
    other = [*HISTORY[:6], text("assistant", "Let me look."), HISTORY[7]]
    assert material(span_partition(other, "You have 30 days.")).content_hash != base.content_hash


def test_a_subtree_can_be_chosen() -> None:
    part = span("part", "AGENT", 2, name="shop", output_messages=[text("assistant", "Part.")])
    found = material(trace("Whole.", part, {**POLICY, "parent_id": "part"}), root={"name": "shop"})
    assert found.answer == "Part."
    metric = ConversationMetric(judge=ScriptedJudge(), settings=ConversationSettings(root={"name": "nobody"}))  # type: ignore[arg-type]
    broken = metric.broken(trace("Whole.", POLICY))
    assert broken is not None
    assert broken.rule == "root_not_found"


def test_only_a_model_call_is_a_span_to_judge() -> None:
    partition = span_partition(HISTORY, "30 days.")
    chain = partition.model_copy(update={"spans": (partition.spans[0].model_copy(update={"kind": "CHAIN"}),)})
    metric = ConversationMetric(judge=ScriptedJudge())
    broken = metric.broken(chain)
    assert broken is not None
    assert broken.rule == "not_an_llm_span"


def test_a_judge_that_can_not_classify_is_refused() -> None:
    metric = ConversationMetric(judge=ScriptedJudge(capabilities=ALL - {"classify"}))
    with pytest.raises(ConfigError, match="can't answer classify"):
        metric.require("session")


def test_the_manifest_names_its_entrypoint() -> None:
    manifest = load_metric_manifest("conversation.hallucination")
    assert manifest.partition_types == ("span", "trace", "session")
    assert manifest.direction == "lower_is_better"
    assert get_conversation_metric({"max_turn_length": 9}).config.max_turn_length == 9  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="max_turn_lenght"):
        get_conversation_metric({"max_turn_lenght": 9})
