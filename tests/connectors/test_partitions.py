"""Traces cut into partitions: which spans, which evidence, and nothing twice."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.connectors import Trace, cut, cut_session, find_messages
from groundwire.scorer import (
    KindRule,
    Message,
    RootRule,
    Span,
    SpanKind,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    rekind,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def span(span_id: str, kind: SpanKind, second: int = 0, parent: str | None = "root", **more: Any) -> Span:
    more.setdefault("trace_id", "t")
    return Span(
        span_id=span_id, parent_id=parent, kind=kind, start_time=NOON + timedelta(seconds=second), **more
    )  # fmt: skip


def trace(*spans: Span, **more: Any) -> Trace:
    return Trace(trace_id=spans[0].trace_id, spans=spans, source="test", **more)


def history(*results: tuple[str | None, Any], name: str = "lookup") -> tuple[Message, ...]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Where?"}]
    for call_id, result in results:
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call_id, "name": name, "args": {"id": result}}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": call_id, "name": name, "content": result})
    return find_messages(messages)


def tools(spans: tuple[Span, ...]) -> list[tuple[str, str | None, Any, Any, bool]]:
    return [
        (one.span_id, one.parent_id, one.input, one.output, bool(one.attributes.get("groundwire.flags")))
        for one in spans
        if one.kind == "TOOL"
    ]


def test_a_span_partition_holds_its_model_call_alone() -> None:
    whole = trace(
        span("root", "AGENT", parent=None), span("a", "LLM", 1), span("tool", "TOOL", 2), span("b", "LLM", 3),
        session_id="s", flags=("several_roots",),
    )  # fmt: skip
    first, second = cut(whole, "span")
    assert (first.partition_type, first.partition_id, first.target_span_id) == ("span", "t:a", "a")
    assert [one.span_id for one in first.spans] == ["a"]
    assert (second.partition_id, second.session_id) == ("t:b", "s")
    assert first.attributes == {"groundwire.flags": ["several_roots"]}


def test_a_result_that_only_messages_show_becomes_a_span_below_the_first_call_that_shows_it() -> None:
    whole = trace(
        span("root", "AGENT", parent=None),
        span("a", "LLM", 1, input_messages=history()),
        span("b", "LLM", 2, input_messages=history(("c1", "shipped"))),
        span("c", "LLM", 3, input_messages=history(("c1", "shipped"), ("c2", "2 kg"))),
    )
    (partition,) = cut(whole, "trace")
    assert (partition.partition_id, partition.trace_id) == ("t", "t")
    assert tools(partition.spans) == [
        ("b:tool-0001", "b", {"id": "shipped"}, "shipped", True),
        ("c:tool-0001", "c", {"id": "2 kg"}, "2 kg", True),
    ]
    made = next(one for one in partition.spans if one.span_id == "b:tool-0001")
    assert (made.tool_name, made.name, made.status) == ("lookup", "lookup", "unset")
    assert made.attributes == {"groundwire.flags": ["tool_from_messages"], "groundwire.tool_call_id": "c1"}
    assert [one.span_id for one in partition.spans] == ["root", "a", "b", "b:tool-0001", "c", "c:tool-0001"]


@pytest.mark.parametrize(
    "real",
    [
        {"output": "anything", "attributes": {"groundwire.tool_call_id": "c1"}},
        {"output": {"status": "shipped", "n": 1}, "name": "lookup"},
        {"output": '{"n": 1,   "status": "shipped"}', "tool_name": "lookup"},
        {"output": {"output": {"n": 1, "status": "shipped"}}, "name": "lookup"},
        {"output_messages": find_messages([{"role": "tool", "tool_call_id": "c1", "content": "as the tool gave it"}])},
    ],
    ids=["call id", "name and value", "name and text", "wrapped", "message"],
)
def test_a_result_that_a_real_tool_span_carries_is_that_span(real: dict[str, Any]) -> None:
    shown = history(("c1", '{"status":"shipped","n":1}'))
    whole = trace(
        span("root", "AGENT", parent=None), span("tool", "TOOL", 1, **real), span("b", "LLM", 2, input_messages=shown)
    )
    (partition,) = cut(whole, "trace")
    assert [one[0] for one in tools(partition.spans)] == ["tool"]


@pytest.mark.parametrize(
    "real",
    [{"output": "other", "name": "lookup"}, {"output": "shipped", "name": "weigh"}, {"output": None, "name": "lookup"}],
    ids=["another result", "another tool", "no result"],
)
def test_a_result_that_no_real_span_carries_is_evidence_of_its_own(real: dict[str, Any]) -> None:
    whole = trace(
        span("root", "AGENT", parent=None),
        span("tool", "TOOL", 1, **real),
        span("b", "LLM", 2, input_messages=history(("c1", "shipped"))),
    )
    (partition,) = cut(whole, "trace")
    assert [one[0] for one in tools(partition.spans)] == ["tool", "b:tool-0001"]


def test_calls_without_ids_are_told_apart_by_their_number() -> None:
    gemini = [
        {"role": "user", "parts": [{"text": "Where?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "lookup", "args": {"id": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "lookup", "response": {"ok": True}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "lookup", "args": {"id": 2}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "lookup", "response": {"ok": True}}}]},
    ]
    whole = trace(
        span("root", "AGENT", parent=None),
        span("a", "LLM", 1, input_messages=find_messages(gemini[:3])),
        span("b", "LLM", 2, input_messages=find_messages(gemini)),
    )
    (partition,) = cut(whole, "trace")
    assert tools(partition.spans) == [
        ("a:tool-0001", "a", {"id": 1}, {"ok": True}, True),
        ("b:tool-0001", "b", {"id": 2}, {"ok": True}, True),
    ]


def test_one_id_with_two_results_is_two_results() -> None:
    whole = trace(span("a", "LLM", parent=None, input_messages=history(("c1", "old"), ("c1", "new"))))
    assert [one[3] for one in tools(cut(whole, "trace")[0].spans)] == ["old", "new"]


def test_a_failed_result_is_a_failed_span() -> None:
    shown = find_messages(
        [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "boom"}],
            }
        ]
    )
    (partition,) = cut(trace(span("a", "LLM", parent=None, input_messages=shown)), "trace")
    assert partition.spans[1].status == "error"


def test_a_roots_own_history_shows_results_too() -> None:
    graph = trace(span("root", "CHAIN", parent=None, output_messages=history(("c1", "shipped"))))
    assert [one[:2] for one in tools(cut(graph, "trace")[0].spans)] == [("root:tool-0001", "root")]


def test_kinds_re_kind_by_name_or_kind_and_the_first_rule_wins() -> None:
    whole = trace(
        span("root", "AGENT", parent=None),
        span("r", "RETRIEVER", 1, name="search", output="18 °C"),
        span("x", "UNKNOWN", 2, name="call_model"),
        span("y", "UNKNOWN", 3, name="other"),
    )
    rules = (
        KindRule(name="call_model", to="LLM"),
        KindRule(kind="RETRIEVER", to="TOOL"),
        KindRule(kind="UNKNOWN", to="CHAIN"),
    )
    (partition,) = cut(whole, "trace", kinds=rules)
    assert [one.kind for one in partition.spans] == ["AGENT", "TOOL", "LLM", "CHAIN"]
    assert [one.target_span_id for one in cut(whole, "span", kinds=rules)] == ["x"]
    assert [one.kind for one in whole.spans] == ["AGENT", "RETRIEVER", "UNKNOWN", "UNKNOWN"]


def test_spans_re_kinded_twice_are_as_re_kinded_once() -> None:
    whole = trace(span("root", "CHAIN", parent=None), span("x", "AGENT", 1))
    rules = (KindRule(kind="CHAIN", to="AGENT"), KindRule(kind="AGENT", to="TOOL"))
    once = rekind(whole.spans, rules)
    assert [one.kind for one in once] == ["AGENT", "TOOL"]
    assert rekind(once, rules) == once


def test_root_picks_a_subtree() -> None:
    whole = trace(
        span("root", "AGENT", parent=None, name="orchestrator"),
        span("sub", "AGENT", 1, name="hotel"),
        span("llm", "LLM", 2, parent="sub", input_messages=history(("c1", "Hotel A"))),
        span("other", "LLM", 3),
    )
    (partition,) = cut(whole, "trace", root=RootRule(name="hotel"))
    assert [(one.span_id, one.parent_id) for one in partition.spans] == [
        ("sub", None),
        ("llm", "sub"),
        ("llm:tool-0001", "llm"),
    ]
    assert [one.target_span_id for one in cut(whole, "span", root=RootRule(kind="AGENT", name="hotel"))] == ["llm"]
    (untouched,) = cut(whole, "trace", root=RootRule(name="absent"))
    assert len(untouched.spans) == 5  # the metric says that no span matches


def test_a_cycle_of_parents_ends() -> None:
    whole = trace(span("a", "AGENT", parent="b"), span("b", "LLM", 1, parent="a"))
    assert {one.span_id for one in cut(whole, "trace", root=RootRule(name="a"))[0].spans} == {"a", "b"}
    assert whole.root is not None


TALK = find_messages(
    [
        {"role": "user", "content": "Where is order 42?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "name": "lookup", "args": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        {"role": "assistant", "content": "It shipped."},
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "Yesterday."},
    ]
)


def talk() -> Trace:
    one = span("t:answer", "LLM", parent=None, input_messages=TALK[:5], output_messages=TALK[5:])
    return trace(one, conversation=True)


def test_a_conversation_is_judged_by_its_last_answer() -> None:
    (only,) = cut(talk(), "span")
    assert only.target is not None
    assert only.target.output_messages[0].text == "Yesterday."
    (whole,) = cut(talk(), "trace")
    assert [one.kind for one in whole.spans] == ["LLM", "TOOL"]


def test_each_turn_of_a_conversation_is_a_partition_that_sees_what_came_before() -> None:
    turns = cut(talk(), "span", each_turn=True)
    told = [
        (one.partition_id, len(one.target.input_messages), one.target.output_messages[0].text)
        for one in turns
        if one.target is not None
    ]
    assert told == [("t:turn-1", 1, "I look."), ("t:turn-2", 3, "It shipped."), ("t:turn-3", 5, "Yesterday.")]
    assert [one.spans[0].start_time for one in turns] == sorted(one.spans[0].start_time for one in turns)


def test_a_session_holds_its_traces_in_time_order_and_no_result_twice() -> None:
    first = trace(span("a", "LLM", 0, None, trace_id="t1", input_messages=history(("c1", "shipped"))), session_id="s")
    second = trace(
        span("b", "LLM", 60, None, trace_id="t2", input_messages=history(("c1", "shipped"), ("c2", "2 kg"))),
        session_id="s",
    )
    session = cut_session([second, first])
    assert (session.partition_type, session.partition_id, session.session_id) == ("session", "session:s", "s")
    assert session.trace_id == "t2"
    assert [one.span_id for one in session.spans] == ["a", "a:tool-0001", "b", "b:tool-0001"]
    assert [(turn.trace_id, turn.start) for turn in session.turns] == [("t1", 0), ("t2", 2)]
    (alone,) = cut(first, "session")
    assert alone.turns[0].trace_id == "t1"
    with pytest.raises(ValueError, match="at least one trace"):
        cut_session([])


RESULTS = st.lists(st.tuples(st.sampled_from([None, "c1", "c2", "c3"]), st.sampled_from(["x", "y"])), max_size=6)


@given(RESULTS, st.integers(1, 4))
def test_a_growing_history_shows_each_result_once(results: list[tuple[str | None, str]], calls: int) -> None:
    steps = [results[: len(results) * step // calls] for step in range(1, calls + 1)]
    spans = [span(f"s{index}", "LLM", index, None, input_messages=history(*step)) for index, step in enumerate(steps)]
    (partition,) = cut(trace(*spans), "trace")
    assert [one[3] for one in tools(partition.spans)] == [result for _, result in results]
    ids = [one.span_id for one in partition.spans]
    assert len(set(ids)) == len(ids)


def test_a_trace_knows_what_a_filter_asks() -> None:
    said = Message(role="assistant", parts=(TextPart(content="x"),))
    whole = trace(
        span("a", "LLM", 1, parent=None, model="m2", end_time=NOON + timedelta(seconds=4), output_messages=(said,)),
        span("b", "TOOL", 2, parent="a", attributes={"level": "WARNING"}),
        span("c", "LLM", 3, parent="a", model="m1"),
    )
    assert (whole.models, whole.duration, whole.level, whole.has_error) == (("m1", "m2"), 3.0, "WARNING", False)
    assert whole.root is whole.spans[0]
    failed = trace(*whole.spans, span("d", "TOOL", 9, status="error"))
    assert (failed.level, failed.has_error) == ("ERROR", True)
    assert trace(span("a", "LLM", attributes={"level": "DEBUG"})).level == "DEBUG"
    assert trace(span("a", "LLM")).duration is None


def test_a_failure_that_the_messages_tell_in_other_words_is_one_block() -> None:
    ran = {"args": [], "kwargs": {"payment_id": "PM-1"}}
    failed = span("tool", "TOOL", parent=None, name="refund", tool_name="refund", status="error", input=ran)
    call = ToolCallPart(id="c1", name="refund", arguments='{"payment_id": "PM-1"}')
    told = ToolCallResponsePart(id="c1", name="refund", response='{"error": "it timed out"}')
    asked = (Message(role="assistant", parts=(call,)), Message(role="tool", parts=(told,)))
    llm = span("llm", "LLM", 1, None, name="chat", input_messages=asked)
    trace = Trace(trace_id="t", spans=(failed, llm), source="langfuse")
    [partition] = cut(trace, "trace")
    assert [one.span_id for one in partition.spans if one.kind == "TOOL"] == ["tool"]
    other = llm.model_copy(
        update={"input_messages": (asked[0], Message(role="tool", parts=(told.model_copy(update={"response": "ok"}),)))}
    )
    [partition] = cut(replace(trace, spans=(failed, other)), "trace")
    assert len([one for one in partition.spans if one.kind == "TOOL"]) == 2
