"""Small partitions for the scorer's tests."""

from typing import Any

from groundwire.scorer.partition import Partition

START = "2026-11-30T10:00:{:02d}Z"


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def span(span_id: str, kind: str, second: int = 0, parent: str | None = "root", **fields: Any) -> dict[str, Any]:
    return {
        "span_id": span_id,
        "trace_id": "t1",
        "parent_id": parent,
        "kind": kind,
        "name": fields.pop("name", span_id),
        "start_time": START.format(second),
        "end_time": START.format(second + 1),
        **fields,
    }


def tool(name: str, output: Any, second: int = 1, **fields: Any) -> dict[str, Any]:
    return span(f"tool-{name}", "TOOL", second, name=name, tool_name=name, output=output, **fields)


def trace(answer: str | None, *spans: dict[str, Any], question: str = "What do you know?", **root: Any) -> Partition:
    """An agent root with that answer, and spans below it."""
    first = span("root", "AGENT", 0, None, input_messages=[text("user", question)], **root)
    if answer is not None:
        first["output_messages"] = [text("assistant", answer)]
    return Partition.model_validate(
        {"partition_type": "trace", "partition_id": "t1", "trace_id": "t1", "spans": [first, *spans]}
    )


def completion(answer: str, *responses: Any, question: str = "What do you know?") -> Partition:
    """A span partition: one model call that was shown those tool responses."""
    parts = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"c{i}", "name": f"f{i}", "response": value}]}
        for i, value in enumerate(responses)
    ]
    llm = span("llm", "LLM", 1, None, input_messages=[text("user", question), *parts])
    llm["output_messages"] = [text("assistant", answer)]
    return Partition.model_validate(
        {
            "partition_type": "span",
            "partition_id": "t1:llm",
            "trace_id": "t1",
            "target_span_id": "llm",
            "spans": [llm],
        }
    )
