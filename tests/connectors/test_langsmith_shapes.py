"""Every run shape that applications send to LangSmith, as a metric sees it: question, answer and evidence."""

from datetime import timedelta
from typing import Any, cast

import pytest
from tests.connectors.langsmith_runs import NOON, run

from groundwire.connectors import cut
from groundwire.connectors.formats.langsmith import span_of_run
from groundwire.connectors.langsmith.mapping import trace_of
from groundwire.scorer import HallucinationMetric, HallucinationSettings, Judge, Material

ROOT = "00000000-0000-4000-8000-000000000001"
ASKED, SAID, FOUND = "How long do refunds take?", "Refunds take 3 days.", "Refunds take 5 business days."


def judged(runs: list[dict[str, Any]], level: str = "trace", **settings: Any) -> Any:
    """(question, answer, [(tool, text, failed)]), or the rule that the shape breaks."""
    trace = trace_of(runs, project="p")
    assert trace is not None
    metric = HallucinationMetric(judge=cast("Judge", None), settings=HallucinationSettings(**settings))
    material = metric.material(cut(trace, cast("Any", level))[-1])
    if not isinstance(material, Material):
        return material.rule
    tools = [(block.tool_name, block.text, block.failed) for block in material.blocks if block.kind == "tool"]
    return material.question, material.answer, tools


def root(**more: Any) -> dict[str, Any]:
    return run(ROOT, ROOT, start=NOON, seconds=5, **{"run_type": "chain", "name": "root", **more})


def child(number: int, **more: Any) -> dict[str, Any]:
    start = NOON + timedelta(seconds=number)
    return run(f"{number:036d}", ROOT, start=start, seconds=0.5, **{"parent_run_id": ROOT, "status": "success", **more})


def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


SYSTEM = {"type": "system", "content": "You are support."}
HUMAN = {"type": "human", "content": ASKED}
CALL = {"name": "search_docs", "args": {"query": "refund time"}, "id": "call_1", "type": "tool_call"}
RESULT = {"type": "tool", "name": "search_docs", "content": FOUND, "tool_call_id": "call_1", "status": "success"}
HISTORY = [
    SYSTEM,
    HUMAN,
    {"type": "ai", "content": "", "tool_calls": [CALL], "usage_metadata": {"input_tokens": 50}},
    RESULT,
    {"type": "ai", "content": SAID, "tool_calls": []},
]
TOOL = child(1, run_type="tool", name="search_docs", inputs={"query": "refund time"}, outputs={"output": RESULT})
OPENAI = {
    "id": "chatcmpl-1",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": SAID}}],
    "usage_metadata": {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18},
}
OPENAI_ASKED = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search_docs", "arguments": '{"query":"refund"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": FOUND},
]
ONE = [("search_docs", FOUND, False)]
SHAPES: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "langgraph": (
        [root(inputs={"messages": [SYSTEM, HUMAN]}, outputs={"messages": HISTORY}), TOOL],
        (ASKED, SAID, ONE),
    ),
    "langgraph without a tool run": (
        [root(inputs={"messages": [SYSTEM, HUMAN]}, outputs={"messages": HISTORY})],
        (ASKED, SAID, ONE),
    ),
    "langchain chat model": (
        [
            root(
                run_type="llm",
                inputs={
                    "messages": [
                        [
                            lc("HumanMessage", content=[{"type": "text", "text": ASKED}], type="human"),
                            lc("AIMessage", content="", tool_calls=[CALL], type="ai"),
                            lc("ToolMessage", content=FOUND, name="search_docs", tool_call_id="call_1", type="tool"),
                        ]
                    ]
                },
                outputs={
                    "generations": [
                        [{"text": SAID, "type": "ChatGeneration", "message": lc("AIMessage", content=SAID, type="ai")}]
                    ],
                    "llm_output": None,
                    "type": "LLMResult",
                },
            )
        ],
        (ASKED, SAID, ONE),
    ),
    "old langchain tool": (
        [
            root(inputs={"input": ASKED}, outputs={"output": SAID}),
            child(
                1,
                run_type="tool",
                name="search_docs",
                inputs={"input": "{'query': 'refund'}"},
                outputs={"output": FOUND},
            ),
        ],
        (ASKED, SAID, ONE),
    ),
    "failed tool": (
        [
            root(inputs={"question": ASKED}, outputs={"answer": SAID}),
            child(
                1,
                run_type="tool",
                name="search_docs",
                error="ValueError('boom')\n\nTraceback…",
                outputs={"output": None},
            ),
        ],
        (ASKED, SAID, [("search_docs", "ValueError('boom')\n\nTraceback…", True)]),
    ),
    "traceable with wrap_openai": (
        [
            root(inputs={"question": ASKED}, outputs={"output": SAID}),
            child(
                2, run_type="llm", name="ChatOpenAI", inputs={"messages": OPENAI_ASKED, "model": "m"}, outputs=OPENAI
            ),
        ],
        (ASKED, SAID, ONE),
    ),
    "openai responses": (
        [
            root(inputs={"query": ASKED}, outputs={"response": SAID}),
            TOOL,
            child(
                2,
                run_type="llm",
                name="ChatOpenAI",
                inputs={"input": ASKED, "model": "m"},
                outputs={"output": [{"type": "message", "content": [{"type": "output_text", "text": SAID}]}]},
            ),
        ],
        (ASKED, SAID, ONE),
    ),
    "otel with roles and parts": (
        [
            root(
                inputs={"messages": [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]},
                outputs={"messages": [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]},
            ),
            TOOL,
        ],
        (ASKED, SAID, ONE),
    ),
    "orchestrator": (
        [
            root(inputs={"question": ASKED}, outputs={"answer": SAID}),
            TOOL,
            child(3, name="sub", extra={"metadata": {"openinference.span.kind": "AGENT"}}),
        ],
        "orchestrator_subagent",
    ),
    "no tool": ([root(inputs={"question": ASKED}, outputs={"answer": SAID})], "required_kinds"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_judged_of_a_trace(name: str) -> None:
    runs, expected = SHAPES[name]
    if name == "no tool":
        runs = [*runs, child(2, run_type="llm", inputs={"messages": [HUMAN]}, outputs={"messages": [HISTORY[-1]]})]
        expected = "no_tool"
    assert judged(runs) == expected


@pytest.mark.parametrize(
    "outputs",
    [
        {"documents": [{"page_content": FOUND, "metadata": {"source": "kb1"}, "type": "Document", "id": "d1"}]},
        {"output": [{"page_content": FOUND, "type": "Document", "metadata": {}}]},
    ],
)
def test_a_retriever_is_evidence_once_it_is_said_to_be_a_tool(outputs: dict[str, Any]) -> None:
    runs = [
        root(inputs={"question": ASKED}, outputs={"answer": SAID}),
        child(1, run_type="retriever", name="kb", inputs={"query": "refund"}, outputs=outputs),
    ]
    question, answer, [(tool, text, failed)] = judged(runs, kinds=[{"kind": "RETRIEVER", "to": "TOOL"}])
    assert (question, answer, tool, failed) == (ASKED, SAID, "kb", False)
    assert FOUND in text


def test_a_model_call_is_judged_by_the_results_in_its_own_messages() -> None:
    runs = SHAPES["traceable with wrap_openai"][0]
    assert judged(runs, "span") == (ASKED, SAID, [(None, FOUND, False)])


def test_hidden_steps_go_and_their_children_move_up() -> None:
    hidden = child(1, name="_write", tags=["langsmith:hidden"])
    below = child(2, run_type="tool", name="search_docs", parent_run_id=hidden["id"], outputs={"output": FOUND})
    trace = trace_of([root(outputs={"answer": SAID}), hidden, below], project="p")
    assert trace is not None
    assert [(span.name, span.parent_id) for span in trace.spans] == [("root", None), ("search_docs", ROOT)]


@pytest.mark.parametrize("key", ["thread_id", "session_id", "conversation_id"])
def test_a_thread_is_a_session_by_any_of_its_keys(key: str) -> None:
    trace = trace_of([root(extra={"metadata": {key: "t-1", "user_id": "u-1"}}, session_id="project-uuid")], project="p")
    assert trace is not None
    assert (trace.session_id, trace.user_id) == ("t-1", "u-1")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"run_type": "tool"}, "TOOL"),
        ({"run_type": "RETRIEVER"}, "RETRIEVER"),
        ({"run_type": "something-new"}, "CHAIN"),
        ({"run_type": "chain", "metadata": {"openinference.span.kind": "guardrail"}}, "GUARDRAIL"),
        ({"run_type": "chain", "metadata": {"langsmith.span.kind": "nonsense"}}, "CHAIN"),
        ({"run_type": "chain", "metadata": {"gen_ai.operation.name": "invoke_agent"}}, "AGENT"),
        ({"run_type": "llm", "metadata": {"openinference.span.kind": "AGENT"}}, "LLM"),
    ],
)
def test_a_runs_kind(fields: dict[str, Any], kind: str) -> None:
    span = span_of_run(run("a", "a", start=NOON, **fields), "a")
    assert span is not None
    assert span.kind == kind


def test_usage_cost_and_unknown_fields_are_kept() -> None:
    span = span_of_run(
        run(
            "a",
            "a",
            start=NOON,
            run_type="LLM",
            prompt_tokens=80,
            completion_tokens=8,
            total_tokens=88,
            total_cost="0.000125",
            prompt_token_details={"raw": {"cache_read": 64}},
            completion_token_details={"reasoning": 4},
            brand_new={"x": 1},
            share_url="https://smith.langchain.com/public/x",
        ),
        "a",
    )
    assert span is not None
    assert span.usage == {
        "input": 80,
        "output": 8,
        "total": 88,
        "input_cache_read": 64,
        "output_reasoning": 4,
        "cost": 0.000125,
    }
    assert span.attributes["brand_new"] == {"x": 1}
    assert "share_url" not in span.attributes, "anyone who has it can look at the run"


def test_what_people_said_comes_with_the_root() -> None:
    said = {"user_score": {"n": 2, "avg": -0.5, "values": {}}, "note": {"n": 1, "avg": None}, "odd": 3}
    trace = trace_of([root(feedback_stats=said)], project="p")
    assert trace is not None
    assert trace.feedback == {"user_score": -0.5}
