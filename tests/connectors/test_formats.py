"""The same small run of an agent in every format: question, one tool, an answer that needs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.connectors import Problem, Trace, cut, read_traces
from groundwire.scorer import Partition, Span

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
ROOT, PLAN, TOOL, ANSWER = "a1b2c3d4e5f60718", "a1b2c3d4e5f60719", "a1b2c3d4e5f6071a", "a1b2c3d4e5f6071b"
ASKED = "Weather in Paris?"
SAID = "It is 18 °C in Paris."
NANO = 1_796_067_930_000_000_000
ASK = {"role": "user", "content": ASKED}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    ],
}
SHOWN = {"role": "tool", "tool_call_id": "c1", "content": '{"temp_c": 18}'}
REPLY = {"role": "assistant", "content": SAID}


def langfuse_rows() -> list[dict[str, Any]]:
    def row(span: str, parent: str | None, kind: str, name: str, second: int, **more: Any) -> dict[str, Any]:
        return {
            "id": span, "traceId": TRACE_ID, "parentObservationId": parent, "type": kind, "name": name,
            "startTime": f"2026-11-30T19:36:3{second}.000Z", "endTime": f"2026-11-30T19:36:3{second + 1}.000Z",
            "level": "DEFAULT", "statusMessage": "", "environment": "production", "metadata": {"k": "v"},
            "model": "", "usageDetails": {}, "tags": ["prod"], "userId": "u-1", "sessionId": "s-1",
            "traceName": "weather", "release": "r1", "version": "", "isRootObservation": parent is None,
            "updatedAt": "2026-11-30T19:37:00.000Z",
            **more,
        }  # fmt: skip

    return [
        row(ANSWER, ROOT, "GENERATION", "answer", 4, model="gpt-4o", usageDetails={"input": 60, "output": 9},
            input=json.dumps({"messages": [ASK, CALL, SHOWN], "tools": []}), output=json.dumps(REPLY)),
        row(TOOL, ROOT, "TOOL", "get_weather", 3, input='{"city": "Paris"}', output='{"temp_c": 18}'),
        row(PLAN, ROOT, "GENERATION", "plan", 2, model="gpt-4o", input=json.dumps([ASK]), output=json.dumps(CALL)),
        row(ROOT, None, "AGENT", "weather", 1, input='{"question": "Weather in Paris?"}', output=json.dumps(SAID),
            endTime="2026-11-30T19:36:38.000Z"),
    ]  # fmt: skip


def langfuse_trace() -> dict[str, Any]:
    rows = [
        {key: value for key, value in row.items() if key not in ("tags", "userId", "sessionId", "traceName", "release")}
        for row in langfuse_rows()
    ]
    for row in rows:
        row["input"], row["output"] = json.loads(row["input"]), json.loads(row["output"])
    return {
        "id": TRACE_ID, "timestamp": "2026-11-30T19:36:31.000Z", "name": "weather", "environment": "production",
        "tags": ["prod"], "userId": "u-1", "sessionId": "s-1", "release": "r1", "metadata": {"k": "v"},
        "observations": rows, "scores": [],
    }  # fmt: skip


RUN_IDS = [f"0000000{index}-0000-7000-8000-000000000000" for index in range(1, 5)]


def langsmith_runs() -> list[dict[str, Any]]:
    def lc(kind: str, **kwargs: Any) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}

    def order(*steps: int) -> str:
        return ".".join(f"20261130T19363{step}000000Z{RUN_IDS[step - 1]}" for step in steps)

    call = lc("AIMessage", content="", tool_calls=[{"name": "get_weather", "args": {"city": "Paris"}, "id": "c1"}])
    shown = lc("ToolMessage", content='{"temp_c": 18}', tool_call_id="c1", name="get_weather", status="success")
    human = lc("HumanMessage", content=ASKED)
    common: dict[str, Any] = {
        "trace_id": RUN_IDS[0],
        "session_id": "project-1",
        "status": "success",
        "error": None,
        "tags": [],
    }
    meta = {"metadata": {"thread_id": "s-1", "k": "v"}}
    return [
        {**common, "id": RUN_IDS[0], "run_type": "chain", "name": "LangGraph", "parent_run_id": None, "tags": ["prod"],
         "dotted_order": order(1), "start_time": "2026-11-30T19:36:31", "end_time": "2026-11-30T19:36:38",
         "extra": meta, "inputs": {"messages": [{"type": "human", "content": ASKED}]},
         "outputs": {"messages": [{"type": "human", "content": ASKED}, {"type": "ai", "content": SAID}]}},
        {**common, "id": RUN_IDS[1], "run_type": "llm", "name": "ChatOpenAI", "parent_run_id": RUN_IDS[0],
         "dotted_order": order(1, 2), "start_time": "2026-11-30T19:36:32", "end_time": "2026-11-30T19:36:33",
         "extra": {"metadata": {"ls_model_name": "gpt-4o"}}, "inputs": {"messages": [[human]]},
         "outputs": {"generations": [[{"text": "", "message": call}]]}},
        {**common, "id": RUN_IDS[2], "run_type": "tool", "name": "get_weather", "parent_run_id": RUN_IDS[0],
         "dotted_order": order(1, 3), "start_time": "2026-11-30T19:36:33", "end_time": "2026-11-30T19:36:34",
         "inputs": {"city": "Paris"},
         "outputs": {
             "output": {"type": "tool", "content": '{"temp_c": 18}', "tool_call_id": "c1", "status": "success"}}},
        {**common, "id": RUN_IDS[3], "run_type": "llm", "name": "ChatOpenAI", "parent_run_id": RUN_IDS[0],
         "dotted_order": order(1, 4), "start_time": "2026-11-30T19:36:34", "end_time": "2026-11-30T19:36:35",
         "extra": {"invocation_params": {"model": "gpt-4o"}}, "inputs": {"messages": [[human, call, shown]]},
         "outputs": {"generations": [[{"text": SAID, "message": lc("AIMessage", content=SAID)}]]},
         "prompt_tokens": 60, "completion_tokens": 9},
    ]  # fmt: skip


def langsmith_v2() -> list[dict[str, Any]]:
    runs = []
    for run in langsmith_runs():
        run = {key: value for key, value in run.items() if key not in ("parent_run_id", "session_id")}
        run |= {"run_type": run["run_type"].upper(), "status": "SUCCESS", "project_id": "project-1", "thread_id": "s-1"}
        run["metadata"] = run.pop("extra", {}).get("metadata", {"ls_model_name": "gpt-4o"})
        runs.append(run)
    return runs


def langsmith_nested() -> dict[str, Any]:
    root, *children = langsmith_runs()
    for child in children:
        del child["trace_id"], child["dotted_order"], child["parent_run_id"]
    return {**root, "child_runs": children}


def typed(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [typed(item) for item in value]}}
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def otlp(attributes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """An export request with the four spans and these attributes, in arrival order: children first."""
    names = {ROOT: "weather", PLAN: "plan", TOOL: "get_weather", ANSWER: "answer"}
    spans = []
    for index, span in enumerate((PLAN, TOOL, ANSWER, ROOT)):
        start = 0 if span == ROOT else index + 1
        spans.append(
            {
                "traceId": TRACE_ID, "spanId": span, "name": names[span], "kind": 1,
                **({} if span == ROOT else {"parentSpanId": ROOT}),
                "startTimeUnixNano": str(NANO + start * 1_000_000_000),
                "endTimeUnixNano": str(NANO + (9 if span == ROOT else start + 1) * 1_000_000_000),
                "attributes": [{"key": key, "value": typed(value)} for key, value in attributes[span].items()],
                "status": {"code": "STATUS_CODE_OK"} if span == TOOL else {},
            }
        )  # fmt: skip
    resource = {"attributes": [{"key": "deployment.environment.name", "value": {"stringValue": "production"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}


GENAI: dict[str, dict[str, Any]] = {
    ROOT: {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-1",
        "pydantic_ai.all_messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]),
        "final_result": SAID,
    },
    PLAN: {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [
                {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}}]}]),
    },
    TOOL: {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": '{"city":"Paris"}', "gen_ai.tool.call.result": '{"temp_c": 18}',
    },
    ANSWER: {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 60,
        "gen_ai.usage.output_tokens": 9,
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "You help."}]),
        "gen_ai.input.messages": json.dumps([
            {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
            {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"city": "Paris"}}]},
            {"role": "user", "parts": [
                {"type": "tool_call_response", "id": "c1", "name": "get_weather", "result": '{"temp_c": 18}'}]},
        ]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]),
    },
}  # fmt: skip
OPENINFERENCE: dict[str, dict[str, Any]] = {
    ROOT: {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": SAID, "session.id": "s-1"},
    PLAN: {
        "openinference.span.kind": "LLM", "llm.model_name": "gpt-4o",
        "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": ASKED,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "get_weather",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city":"Paris"}',
    },
    TOOL: {
        "openinference.span.kind": "TOOL", "tool.name": "get_weather",
        "input.value": '{"city":"Paris"}', "input.mime_type": "application/json", "output.value": '{"temp_c": 18}',
    },
    ANSWER: {
        "openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "llm.token_count.prompt": 60,
        "llm.token_count.completion": 9, "input.value": "{}", "output.value": "{}",
        "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": ASKED,
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "get_weather",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": '{"city":"Paris"}',
        "llm.input_messages.2.message.role": "tool", "llm.input_messages.2.message.tool_call_id": "c1",
        "llm.input_messages.2.message.content": '{"temp_c": 18}',
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": SAID,
    },
}  # fmt: skip
VERCEL: dict[str, dict[str, Any]] = {
    ROOT: {
        "ai.operationId": "ai.generateText", "ai.prompt": json.dumps({"messages": [ASK]}), "ai.response.text": SAID,
        "ai.telemetry.metadata.sessionId": "s-1",
    },
    PLAN: {
        "ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "gpt-4o",
        "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": ASKED}]}]),
        "ai.response.toolCalls": json.dumps(
            [{"toolCallId": "c1", "toolName": "get_weather", "args": '{"city":"Paris"}'}]),
    },
    TOOL: {
        "ai.operationId": "ai.toolCall", "ai.toolCall.name": "get_weather", "ai.toolCall.id": "c1",
        "ai.toolCall.args": '{"city":"Paris"}', "ai.toolCall.result": '{"temp_c": 18}',
    },
    ANSWER: {
        "ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "gpt-4o", "ai.usage.promptTokens": 60,
        "ai.usage.completionTokens": 9, "ai.response.text": SAID,
        "ai.prompt.messages": json.dumps([
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
            {"role": "assistant", "content": [
                {"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "args": {"city": "Paris"}}]},
            {"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "get_weather", "result": {"temp_c": 18}}]},
        ]),
    },
}  # fmt: skip
LANGFUSE_SDK: dict[str, dict[str, Any]] = {
    ROOT: {
        "langfuse.observation.type": "agent", "langfuse.observation.input": json.dumps({"question": ASKED}),
        "langfuse.observation.output": json.dumps(SAID), "langfuse.trace.tags": ["prod"], "session.id": "s-1",
        "langfuse.trace.metadata.k": '"v"', "user.id": "u-1", "langfuse.internal.is_app_root": True,
    },
    PLAN: {
        "langfuse.observation.type": "generation", "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.input": json.dumps([ASK]), "langfuse.observation.output": json.dumps(CALL),
    },
    TOOL: {
        "langfuse.observation.type": "tool", "langfuse.observation.input": '{"city": "Paris"}',
        "langfuse.observation.output": '{"temp_c": 18}',
    },
    ANSWER: {
        "langfuse.observation.type": "generation", "langfuse.observation.model.name": "gpt-4o",
        "langfuse.observation.input": json.dumps([ASK, CALL, SHOWN]), "langfuse.observation.output": json.dumps(REPLY),
    },
}  # fmt: skip
TRACELOOP: dict[str, dict[str, Any]] = {
    ROOT: {"traceloop.span.kind": "workflow", "traceloop.entity.output": SAID, "session.id": "s-1"},
    PLAN: {
        "llm.request.type": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": ASKED, "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1", "gen_ai.completion.0.tool_calls.0.name": "get_weather",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"city":"Paris"}',
    },
    TOOL: {
        "traceloop.span.kind": "tool", "tool.name": "get_weather", "traceloop.entity.input": '{"city": "Paris"}',
        "traceloop.entity.output": '{"temp_c": 18}',
    },
    ANSWER: {
        "llm.request.type": "chat", "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": ASKED,
        "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.tool_calls.0.id": "c1",
        "gen_ai.prompt.1.tool_calls.0.name": "get_weather",
        "gen_ai.prompt.1.tool_calls.0.arguments": '{"city":"Paris"}', "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "c1", "gen_ai.prompt.2.content": '{"temp_c": 18}',
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": SAID,
    },
}  # fmt: skip


def phoenix(*, nested: bool) -> list[dict[str, Any]]:
    """Spans as Phoenix gives them: ids under `context`, attributes flat or nested."""
    spans = []
    for index, span in enumerate((ROOT, PLAN, TOOL, ANSWER)):
        attributes = dict(OPENINFERENCE[span])
        kind = attributes.pop("openinference.span.kind")
        record: dict[str, Any] = {
            "name": {ROOT: "weather", PLAN: "plan", TOOL: "get_weather", ANSWER: "answer"}[span], "span_kind": kind,
            "parent_id": None if span == ROOT else ROOT, "start_time": f"2026-11-30T19:36:3{index}+00:00",
            "end_time": f"2026-11-30T19:36:3{9 if span == ROOT else index + 1}+00:00", "status_code": "OK",
            "status_message": "", "events": [],
        }  # fmt: skip
        if nested:
            record |= {"context": {"trace_id": TRACE_ID, "span_id": span}, "attributes": attributes}
        else:
            record |= {"context.trace_id": TRACE_ID, "context.span_id": span}
            record |= {f"attributes.{key}": value for key, value in attributes.items() if "messages" not in key}
            for name in ("llm.input_messages", "llm.output_messages"):
                if messages := _listed(attributes, name):
                    record[f"attributes.{name}"] = messages
        spans.append(record)
    return spans


def _listed(attributes: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Messages as a data frame holds them: a list of flat objects, tool calls being lists of flat objects."""
    out: list[dict[str, Any]] = []
    for key, value in attributes.items():
        if key.startswith(f"{name}."):
            index, _, rest = key.removeprefix(f"{name}.").partition(".")
            while len(out) <= int(index):
                out.append({})
            if "tool_calls.0." in rest:
                call = out[int(index)].setdefault("message.tool_calls", [{}])
                call[0][rest.rpartition("tool_calls.0.")[2]] = value
            else:
                out[int(index)][rest] = value
    return out


FORMATS: dict[str, tuple[str, Any]] = {
    "langfuse rows": ("langfuse", langfuse_rows()),
    "langfuse page": ("langfuse", {"data": langfuse_rows(), "meta": {}}),
    "langfuse trace": ("langfuse", langfuse_trace()),
    "langfuse traces": ("langfuse", {"data": [langfuse_trace()], "meta": {"page": 1}}),
    "langsmith v1": ("langsmith", langsmith_runs()),
    "langsmith v1 page": ("langsmith", {"runs": langsmith_runs(), "cursors": {}}),
    "langsmith v2 page": ("langsmith", {"items": langsmith_v2(), "next_cursor": None}),
    "langsmith nested": ("langsmith", langsmith_nested()),
    "otlp genai": ("otlp", otlp(GENAI)),
    "otlp openinference": ("otlp", otlp(OPENINFERENCE)),
    "otlp vercel": ("otlp", otlp(VERCEL)),
    "otlp langfuse sdk": ("otlp", otlp(LANGFUSE_SDK)),
    "otlp traceloop": ("otlp", otlp(TRACELOOP)),
    "phoenix nested": ("openinference", phoenix(nested=True)),
    "phoenix flat": ("openinference", phoenix(nested=False)),
    "phoenix page": ("openinference", {"data": phoenix(nested=True), "next_cursor": None}),
}


def read_one(path: Path) -> Trace:
    (trace,) = read_traces(path)
    assert isinstance(trace, Trace), trace
    return trace


@pytest.mark.parametrize("lines", [False, True], ids=["json", "jsonl"])
@pytest.mark.parametrize("shape", FORMATS)
def test_each_format_tells_the_same_run(shape: str, lines: bool, tmp_path: Path) -> None:
    source, value = FORMATS[shape]
    path = tmp_path / "traces.json"
    records = value if lines and isinstance(value, list) else [value]
    path.write_text("".join(json.dumps(record, indent=None if lines else 2) + "\n" for record in records))
    trace = read_one(path)
    assert trace.source == source
    assert trace.session_id == "s-1"
    assert trace.flags == ()
    root, plan, tool, answer = trace.spans
    assert root.parent_id is None
    assert {span.parent_id for span in (plan, tool, answer)} == {root.span_id}
    assert [span.kind for span in (plan, tool, answer)] == ["LLM", "TOOL", "LLM"]
    assert (plan.model, answer.model) == ("gpt-4o", "gpt-4o")
    assert [message.text for message in answer.input_messages if message.text] in ([ASKED], ["You help.", ASKED])
    assert answer.output_messages[-1].text == SAID
    assert _said(root) == SAID
    assert (tool.tool_name, tool.input) == ("get_weather", {"city": "Paris"})
    assert _result(tool) in ({"temp_c": 18}, '{"temp_c": 18}')
    assert trace.duration == pytest.approx(9 if source in ("otlp", "openinference") else 7)
    (partition,) = cut(trace, "trace")
    assert [span.kind for span in partition.spans].count("TOOL") == 1  # what the messages show is that span
    spans = cut(trace, "span")
    assert [(one.target_span_id, len(one.spans)) for one in spans] == [(plan.span_id, 1), (answer.span_id, 1)]


def _said(span: Span) -> str:
    return span.output_messages[-1].text if span.output_messages else str(span.output)


def _result(span: Span) -> Any:
    return span.output if span.output is not None else span.output_messages[0].parts[0].model_dump()["response"]


def test_what_a_filter_asks_for_is_read(tmp_path: Path) -> None:
    for name, value in (("rows", langfuse_rows()), ("trace", langfuse_trace())):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(value))
        trace = read_one(path)
        assert (trace.name, trace.environment, trace.tags, trace.user_id) == ("weather", "production", ("prod",), "u-1")
        assert (trace.release, trace.version, trace.metadata) == ("r1", None, {"k": "v"})
        assert (trace.models, trace.has_error, trace.level) == (("gpt-4o",), False, "DEFAULT")
        assert trace.spans[-1].usage == {"input": 60, "output": 9}
    path = tmp_path / "otlp.json"
    path.write_text(json.dumps(otlp(LANGFUSE_SDK)))
    trace = read_one(path)
    assert (trace.environment, trace.tags, trace.user_id, trace.metadata) == (
        "production",
        ("prod",),
        "u-1",
        {"k": "v"},
    )
    path.write_text(json.dumps(langsmith_runs()))
    trace = read_one(path)
    assert (trace.name, trace.tags, trace.metadata["k"]) == ("LangGraph", ("prod",), "v")
    assert trace.spans[-1].usage == {"input": 60, "output": 9}


def test_the_newest_of_two_rows_with_one_id_counts(tmp_path: Path) -> None:
    rows = langfuse_rows()
    old = {**rows[1], "output": '{"temp_c": 99}', "updatedAt": "2026-11-30T19:36:50.000Z"}
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, old]))
    trace = read_one(path)
    assert trace.flags == ("duplicate_span_ids",)
    assert [span.output for span in trace.spans if span.kind == "TOOL"] == [{"temp_c": 18}]
    assert cut(trace, "trace")[0].attributes == {"groundwire.flags": ["duplicate_span_ids"]}


def test_odd_trees_are_read_and_flagged(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    rows = langfuse_rows()
    rows[3]["parentObservationId"] = TOOL
    path.write_text(json.dumps(rows))
    assert read_one(path).flags == ("parent_cycle",)
    rows[3]["parentObservationId"] = "not-exported"
    rows[2]["parentObservationId"] = None
    path.write_text(json.dumps([{**row, "endTime": None} for row in rows]))
    trace = read_one(path)
    assert trace.flags == ("several_roots", "no_end_times")
    assert trace.duration is None


def test_a_failed_tool_and_its_message_are_kept(tmp_path: Path) -> None:
    rows = langfuse_rows()
    rows[1] |= {"level": "ERROR", "statusMessage": "connection refused", "output": None}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    trace = read_one(path)
    tool = next(span for span in trace.spans if span.kind == "TOOL")
    assert (tool.status, tool.status_message, tool.output) == ("error", "connection refused", None)
    assert (trace.has_error, trace.level) == (True, "ERROR")
    request = otlp(GENAI)
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans[1] |= {"status": {"code": 2, "message": "refused"}}
    spans[0]["events"] = [
        {"name": "exception", "attributes": [{"key": "exception.message", "value": {"stringValue": "boom"}}]}
    ]
    path.write_text(json.dumps(request))
    read = {span.name: (span.status, span.status_message) for span in read_one(path).spans}
    assert read["get_weather"] == ("error", "refused")
    assert read["plan"] == ("error", "boom")
    assert read["answer"] == ("unset", "")


def test_langgraphs_hidden_steps_go_and_their_children_move_up(tmp_path: Path) -> None:
    runs = langsmith_runs()
    hidden = {
        **runs[0],
        "id": "hidden",
        "parent_run_id": RUN_IDS[0],
        "tags": ["langsmith:hidden"],
        "dotted_order": None,
    }
    runs[2]["parent_run_id"] = "hidden"
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([*runs, hidden]))
    trace = read_one(path)
    assert [(span.name, span.parent_id) for span in trace.spans if span.kind == "TOOL"] == [("get_weather", RUN_IDS[0])]
    assert len(trace.spans) == 4


def test_ids_in_protobufs_base64_are_hex(tmp_path: Path) -> None:
    request = otlp(GENAI)
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["traceId"] = "CvdlGRbNQ92ESOshHIAxnA=="
    path = tmp_path / "t.json"
    path.write_text(json.dumps(request))
    assert read_one(path).trace_id == TRACE_ID


def test_otlp_events_hold_messages_in_older_instrumentation(tmp_path: Path) -> None:
    def event(name: str, **attributes: str) -> dict[str, Any]:
        return {
            "name": name,
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
        }

    attributes = {**GENAI, ANSWER: {"gen_ai.operation.name": "chat"}}
    request = otlp(attributes)
    request["resourceSpans"][0]["scopeSpans"][0]["spans"][2]["events"] = [
        event("gen_ai.user.message", content=ASKED),
        event("gen_ai.tool.message", id="c1", content='{"temp_c": 18}'),
        event("gen_ai.choice", message=json.dumps({"role": "assistant", "content": SAID}), index="0"),
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(request))
    answer = read_one(path).spans[-1]
    assert [message.role for message in answer.input_messages] == ["user", "tool"]
    assert answer.output_messages[0].text == SAID


def test_a_retriever_gives_its_documents(tmp_path: Path) -> None:
    attributes = {
        **OPENINFERENCE,
        TOOL: {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "weather",
            "retrieval.documents.0.document.content": "Paris: 18 °C",
            "retrieval.documents.0.document.score": "0.9",
            "retrieval.documents.1.document.content": "Rome: 25 °C",
        },
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps(otlp(attributes)))
    (found,) = [span for span in read_one(path).spans if span.kind == "RETRIEVER"]
    assert found.output == [{"content": "Paris: 18 °C", "score": "0.9"}, {"content": "Rome: 25 °C"}]


def test_canonical_partitions_come_out_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(langfuse_rows()))
    (partition,) = cut(read_one(path), "trace")
    again = tmp_path / "partitions.jsonl"
    again.write_text((partition.model_dump_json(by_alias=True) + "\n") * 2)
    assert list(read_traces(again)) == [partition, partition]


RECORDED = Path("/work/shared/recorded/langfuse/dual")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded exchanges are not here")
def test_recorded_rows_and_traces_read_alike(tmp_path: Path) -> None:
    for name in (
        "agent",
        "openai",
        "rag",
        "nested",
        "error",
        "multimodal",
        "tworoots",
        "unicode",
        "plain",
        "empty",
        "long",
    ):
        read: list[list[Any]] = []
        for file in (f"obs_v2_all_{name}.json", f"trace_get_{name}.json"):
            path = tmp_path / file
            path.write_text(json.dumps(json.loads((RECORDED / file).read_text())["response"]["body"]))
            trace = read_one(path)
            read.append([(span.span_id, span.kind, span.input_messages, span.output_messages) for span in trace.spans])
        assert sorted(read[0], key=str) == sorted(read[1], key=str), name


@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recorded exchanges are not here")
def test_recorded_exports_of_the_sdk_are_read(tmp_path: Path) -> None:
    path = tmp_path / "otlp.jsonl"
    with path.open("w") as file:
        for wire in sorted(RECORDED.with_name("dual_sdk_wire").glob("*otel*.json")):
            decoded = json.loads(wire.read_text())["request"].get("body", {})
            export = json.loads(wire.read_text())["request"].get("otlp_decoded") or decoded.get("otlp_decoded")
            if export:
                file.write(json.dumps(export) + "\n")
    found = list(read_traces(path))
    assert not [item for item in found if isinstance(item, (Problem, Partition))]
    assert {"plain-generation", "weather-agent"} <= {item.name for item in found if isinstance(item, Trace)}


def test_a_root_that_indexes_only_a_part_of_its_messages_is_read_whole(tmp_path: Path) -> None:
    whole = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]}
    root = {
        "name": "LangGraph",
        "context": {"trace_id": TRACE_ID, "span_id": ROOT},
        "span_kind": "CHAIN",
        "parent_id": None,
        "start_time": "2026-11-30T19:36:30Z",
        "end_time": "2026-11-30T19:36:31Z",
        "status_code": "OK",
        "attributes": {
            "openinference.span.kind": "CHAIN",
            "input.value": json.dumps(whole),
            "llm.input_messages.0.message.role": "system",
        },
    }
    for attributes in ({}, {"llm.input_messages.0.message.content": "Be brief."}):
        span = {**root, "attributes": {**root["attributes"], **attributes}}  # type: ignore[dict-item]
        (tmp_path / "spans.jsonl").write_text(json.dumps(span))
        messages = read_one(tmp_path / "spans.jsonl").spans[0].input_messages
        assert [(message.role, message.text) for message in messages] == [("system", "Be brief."), ("user", ASKED)]
