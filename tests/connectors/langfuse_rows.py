"""Rows for the loopback Langfuse, and sources and sinks that don't wait."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import SecretStr
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, iso

from groundwire.connectors.http import Patience
from groundwire.connectors.langfuse import LangfuseSettings, LangfuseSink, LangfuseSource
from groundwire.connectors.langfuse.quota import Quotas
from groundwire.connectors.langfuse.wire import Wire
from groundwire.scorer import Message, Span

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
TYPES = {
    "LLM": "GENERATION",
    "UNKNOWN": "SPAN",
    "AGENT": "AGENT",
    "TOOL": "TOOL",
    "CHAIN": "CHAIN",
    "RETRIEVER": "RETRIEVER",
    "EVALUATOR": "EVALUATOR",
    "EMBEDDING": "EMBEDDING",
    "GUARDRAIL": "GUARDRAIL",
}


class Clock:
    """A clock that tests move."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return (self.now - NOON).total_seconds() + 1_000_000

    async def sleep(self, seconds: float) -> None:
        self.forward(seconds)


def settings_for(url: str, **more: Any) -> LangfuseSettings:
    return LangfuseSettings(host=url, public_key=SecretStr(PUBLIC_KEY), secret_key=SecretStr(SECRET_KEY), **more)


def wire_for(settings: LangfuseSettings, clock: Clock | None = None, *, patience: Patience | None = None) -> Wire:
    if clock is None:
        return Wire(settings, quotas=Quotas(), patience=patience)
    return Wire(settings, quotas=Quotas(clock=clock.monotonic), patience=patience, sleep=clock.sleep, now=clock)


def source_for(url: str, clock: Clock, *, page: int = 250, **more: Any) -> LangfuseSource:
    settings = settings_for(url, **more)
    return LangfuseSource(settings, wire=wire_for(settings, clock), page=page)


def sink_for(url: str, clock: Clock, **more: Any) -> LangfuseSink:
    settings = settings_for(url, **more)
    return LangfuseSink(settings, wire=wire_for(settings, clock))


def row(
    trace_id: str,
    span_id: str,
    *,
    start: datetime,
    seconds: float = 1.0,
    parent: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An observation that started at `start` and lasted `seconds`."""
    end = iso(start + timedelta(seconds=seconds))
    return {
        "id": span_id, "traceId": trace_id, "startTime": iso(start), "endTime": end, "parentObservationId": parent
    } | more  # fmt: skip


def agent_trace(app: LangfuseApp, number: int, *, end: datetime, tools: int = 1, size: int = 0, **root: Any) -> str:
    """A small agent's trace: a root of five seconds that ends at `end`, tools, and a generation. Gives its id."""
    trace_id = f"{number:032x}"
    start = end - timedelta(seconds=5)
    app.put(
        row(
            trace_id,
            f"{number:012x}0000",
            start=start,
            seconds=5,
            type="AGENT",
            name="support-agent",
            traceName="support-agent",
            input=json.dumps({"question": f"Where is order {number}?"}),
            output=f"Order {number} has shipped.",
            sessionId=f"chat-{number // 3}",
            environment="production",
            **root,
        )
    )
    filler = "x" * (size // max(tools, 1))
    for index in range(tools):
        app.put(
            row(
                trace_id,
                f"{number:012x}{index + 1:04x}",
                start=start + timedelta(seconds=1 + index / 10),
                seconds=0.1,
                parent=f"{number:012x}0000",
                type="TOOL",
                name="find_order",
                input=json.dumps({"id": number}),
                output=json.dumps({"id": number, "status": "shipped", "note": filler}),
                environment="production",
            )
        )
    app.put(
        row(
            trace_id,
            f"{number:012x}ffff",
            start=start + timedelta(seconds=3),
            seconds=1.5,
            parent=f"{number:012x}0000",
            type="GENERATION",
            name="answer",
            model="gpt-5-mini",
            input=json.dumps([{"role": "user", "content": f"Where is order {number}?"}]),
            output=json.dumps({"role": "assistant", "content": f"Order {number} has shipped."}),
            usageDetails={"input": 20, "output": 8, "total": 28},
            totalCost=0.0001,
            environment="production",
        )
    )
    return trace_id


def row_of_span(span: Span) -> dict[str, Any]:
    """A canonical span as an application's SDK would send it; its attributes become fields that nobody knows."""
    return {
        "id": span.span_id,
        "traceId": span.trace_id,
        "startTime": iso(span.start_time),
        "endTime": None if span.end_time is None else iso(span.end_time),
        "parentObservationId": span.parent_id,
        "type": TYPES[span.kind],
        "name": span.name,
        "level": "ERROR" if span.status == "error" else "DEFAULT",
        "statusMessage": span.status_message,
        "model": span.model or "",
        "input": _written(span.input_messages, span.input),
        "output": _written(span.output_messages, span.output),
        **span.attributes,
    }


def _written(messages: tuple[Message, ...], plain: Any) -> str | None:
    if messages:
        dumped = [message.model_dump(mode="json", exclude={"attributes", "name"}) for message in messages]
        for message in dumped:
            message["parts"] = [{k: v for k, v in part.items() if k != "attributes"} for part in message["parts"]]
        return json.dumps(dumped)
    return None if plain is None else json.dumps(plain)


def trace_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a trace as they stand on its root row."""
    return {key: value for key, value in fields.items() if value}
