"""Runs for the loopback LangSmith, and sources and sinks that don't wait."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import API_KEY, LangsmithApp, iso

from groundwire.connectors.http import Patience
from groundwire.connectors.langsmith import LangsmithSettings, LangsmithSink, LangsmithSource
from groundwire.connectors.langsmith.quota import Quotas
from groundwire.connectors.langsmith.wire import Wire
from groundwire.scorer import Message, Span, TextPart, ToolCallPart, ToolCallResponsePart

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SPACE = UUID("00000000-0000-4000-8000-00000000ffff")
TYPES = {"LLM": "llm", "TOOL": "tool", "RETRIEVER": "retriever", "EMBEDDING": "embedding"}


def settings_for(url: str, **more: Any) -> LangsmithSettings:
    return LangsmithSettings(**{"host": url, "api_key": API_KEY, "project": "support", **more})


def wire_for(settings: LangsmithSettings, clock: Clock | None = None, *, patience: Patience | None = None) -> Wire:
    if clock is None:
        return Wire(settings, quotas=Quotas(), patience=patience)
    return Wire(settings, quotas=Quotas(clock=clock.monotonic), patience=patience, sleep=clock.sleep, now=clock)


def source_for(url: str, clock: Clock, *, page: int = 250, **more: Any) -> LangsmithSource:
    settings = settings_for(url, **more)
    return LangsmithSource(settings, wire=wire_for(settings, clock), page=page)


def sink_for(url: str, clock: Clock, **more: Any) -> LangsmithSink:
    settings = settings_for(url, **more)
    return LangsmithSink(settings, wire=wire_for(settings, clock))


def trace_id_of(number: int) -> str:
    return str(uuid5(SPACE, f"trace {number}"))


def run(run_id: str, trace_id: str, *, start: datetime, seconds: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A run that started at `start` and lasted `seconds`; None: it is pending."""
    end = None if seconds is None else iso(start + timedelta(seconds=seconds))
    return {"id": run_id, "trace_id": trace_id, "start_time": iso(start), "end_time": end, **more}


def agent_trace(
    app: LangsmithApp, number: int, *, end: datetime, tools: int = 1, seconds: float = 5.0, **root: Any
) -> str:
    """A small agent's trace whose root ends at `end`, with tools and a model call. Gives its id."""
    trace_id = trace_id_of(number)
    start = end - timedelta(seconds=seconds)
    asked = {"type": "human", "content": f"Where is order {number}?"}
    said = {"type": "ai", "content": f"Order {number} has shipped."}
    app.put(
        run(
            trace_id,
            trace_id,
            start=start,
            seconds=seconds,
            **{
                "name": "support-agent",
                "inputs": {"messages": [asked]},
                "outputs": {"messages": [asked, said]},
                "extra": {"metadata": {"thread_id": f"chat-{number // 3}", "environment": "production"}},
                "tags": ["prod"],
                **root,
            },
        )
    )
    for index in range(tools):
        app.put(
            run(
                str(uuid5(SPACE, f"tool {number} {index}")),
                trace_id,
                start=start + timedelta(seconds=seconds / 5),
                seconds=seconds / 50,
                parent_run_id=trace_id,
                run_type="tool",
                name="find_order",
                inputs={"id": number},
                outputs={"output": {"id": number, "status": "shipped"}},
            )
        )
    app.put(
        run(
            str(uuid5(SPACE, f"answer {number}")),
            trace_id,
            start=start + timedelta(seconds=seconds / 2),
            seconds=seconds / 4,
            parent_run_id=trace_id,
            run_type="llm",
            name="ChatOpenAI",
            inputs={"messages": [asked]},
            outputs={"messages": [said]},
            prompt_tokens=20,
            completion_tokens=8,
            total_tokens=28,
            total_cost=0.0001,
        )
    )
    return trace_id


def as_uuid(text: str) -> str:
    """Another platform's id as LangSmith would have it."""
    return str(UUID(text)) if len(text) == 32 else str(uuid5(SPACE, text))


def run_of_span(span: Span, *, root_id: str | None) -> dict[str, Any]:
    """A canonical span as an application's SDK would send it; its attributes become fields that nobody knows."""

    def ident(span_id: str) -> str:
        return as_uuid(span.trace_id if span_id == root_id else span_id)

    kind = {} if span.kind in TYPES else {"openinference.span.kind": span.kind}
    return {
        "id": ident(span.span_id),
        "trace_id": as_uuid(span.trace_id),
        "parent_run_id": None if span.parent_id is None else ident(span.parent_id),
        "start_time": iso(span.start_time),
        "end_time": None if span.end_time is None else iso(span.end_time),
        "run_type": TYPES.get(span.kind, "chain"),
        "name": span.name,
        "error": span.status_message or "failed" if span.status == "error" else None,
        "inputs": _written(span.input_messages, span.input, "input"),
        "outputs": _written(span.output_messages, span.output, "output"),
        "extra": {"metadata": {**({"ls_model_name": span.model} if span.model else {}), **kind}},
        **span.attributes,
    }


def _written(messages: tuple[Message, ...], plain: Any, key: str) -> dict[str, Any] | None:
    if messages:
        return {"messages": [_flat(message) for message in messages]}
    return None if plain is None else {key: plain}


def _flat(message: Message) -> dict[str, Any]:
    """A message as LangChain writes it."""
    results = [part for part in message.parts if isinstance(part, ToolCallResponsePart)]
    if results:
        return {"type": "tool", "tool_call_id": results[0].id, "name": results[0].name, "content": results[0].response}
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    flat: dict[str, Any] = {"type": {"user": "human", "assistant": "ai"}.get(message.role, message.role)}
    flat["content"] = text
    if calls:
        flat["tool_calls"] = [{"id": call.id, "name": call.name, "args": call.arguments} for call in calls]
    return flat
