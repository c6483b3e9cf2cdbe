"""OpenInference spans as Phoenix and OpenTelemetry's exporters write them: ids under `context`, attributes plain."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.connectors.formats.otel import OtelSpan, hex_id, status_of, time_of, trace_of_spans
from groundwire.connectors.formats.spans import nonempty
from groundwire.connectors.messages import decoded
from groundwire.connectors.trace import Trace
from groundwire.scorer import SpanKind

__all__ = ["is_span", "rows_of", "trace_of_rows"]

_KINDS: dict[str, SpanKind] = {
    "LLM": "LLM",
    "TOOL": "TOOL",
    "AGENT": "AGENT",
    "RETRIEVER": "RETRIEVER",
    "CHAIN": "CHAIN",
    "EMBEDDING": "EMBEDDING",
    "RERANKER": "RERANKER",
    "GUARDRAIL": "GUARDRAIL",
    "EVALUATOR": "EVALUATOR",
}


def is_span(record: Mapping[str, Any]) -> bool:
    """Whether a record is one span: `context.trace_id` and `context.span_id`, nested or flat."""
    return _context(record, "trace_id") is not None and _context(record, "span_id") is not None


def _context(record: Mapping[str, Any], key: str) -> str | None:
    context = record.get("context")
    return hex_id(context.get(key) if isinstance(context, dict) else record.get(f"context.{key}"))


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The span itself."""
    if is_span(record):
        yield _context(record, "trace_id"), record


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes under full dotted names; lists of messages and documents stay lists."""
    flat: dict[str, Any] = {}
    held = decoded(record.get("attributes"))
    if isinstance(held, dict):
        _flatten(held, "", flat)
    for key, value in record.items():
        if key.startswith("attributes."):
            _flatten({key.removeprefix("attributes."): value}, "", flat)
    return flat


def _flatten(value: Mapping[str, Any], prefix: str, flat: dict[str, Any], depth: int = 0) -> None:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, dict) and inner and depth < 8 and name not in _PLAIN:
            _flatten(inner, f"{name}.", flat, depth + 1)
        elif inner is not None:
            flat[name] = inner


_PLAIN = {"input.value", "output.value", "metadata", "tool.parameters", "llm.invocation_parameters"}
"""Attributes whose value may itself be an object."""


def _read(record: Mapping[str, Any]) -> OtelSpan | None:
    trace_id, span_id = _context(record, "trace_id"), _context(record, "span_id")
    start = time_of(record.get("start_time"))
    if trace_id is None or span_id is None or start is None:
        return None
    status = record.get("status")
    code = record.get("status_code") or (
        status.get("status_code") or status.get("code") if isinstance(status, dict) else status
    )
    message = record.get("status_message") or (status.get("description") if isinstance(status, dict) else None)
    resource = record.get("resource")
    resource = resource.get("attributes") if isinstance(resource, dict) else None
    events = decoded(record.get("events"))
    return OtelSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(record.get("parent_id")),
        name=nonempty(record.get("name")) or "",
        start_time=start,
        end_time=time_of(record.get("end_time")),
        attributes=_attributes(record),
        resource=resource if isinstance(resource, dict) else {},
        events=[event for event in events if isinstance(event, dict)] if isinstance(events, list) else (),
        status=status_of(code),
        status_message=nonempty(message) or "",
        kind=_KINDS.get(str(record.get("span_kind", "")).upper()),
    )


def trace_of_rows(rows: Sequence[Mapping[str, Any]], *, origin: str) -> Trace | None:
    """The trace that these spans make; None where not one has ids and a start time."""
    return trace_of_spans(
        [span for row in rows if (span := _read(row)) is not None], source="openinference", origin=origin
    )
