"""Captured OpenTelemetry spans in the file formats that people export: OTLP/JSON, Phoenix spans, Langfuse rows."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

__all__ = ["as_langfuse_rows", "as_otlp", "as_phoenix"]


def as_otlp(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """An OTLP/JSON export request: protobuf's JSON mapping, but ids in hex, as the OTLP specification has it."""
    request: dict[str, Any] = MessageToDict(encode_spans(spans))
    for resource_spans in request["resourceSpans"]:
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64decode(span[key]).hex()
    return request


def as_phoenix(spans: Sequence[ReadableSpan]) -> list[dict[str, Any]]:
    """Spans as Phoenix's REST API and its client's `get_spans` give them, in the order in which they began."""
    rows = []
    for number, span in enumerate(_in_order(spans), start=1):
        attributes = dict(span.attributes or {})
        row = {
            "id": base64.b64encode(f"Span:{number}".encode()).decode(),
            "name": span.name,
            "context": {"trace_id": _trace_id(span), "span_id": _span_id(span)},
            "span_kind": attributes.get("openinference.span.kind", "UNKNOWN"),
            "parent_id": _parent_id(span),
            "start_time": _iso(span.start_time),
            "end_time": _iso(span.end_time),
            "status_code": span.status.status_code.name,
            "status_message": span.status.description or "",
            "attributes": {key: list(item) if isinstance(item, tuple) else item for key, item in attributes.items()},
            "events": [],
        }
        rows.append(row)
    return rows


def as_langfuse_rows(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """A page of `GET /api/public/v2/observations`: newest first, input and output as the raw strings they came as."""
    rows = []
    for span in _in_order(spans):
        held = dict(span.attributes or {})
        row = {
            "id": _span_id(span),
            "traceId": _trace_id(span),
            "projectId": "demo",
            "type": str(held.get("langfuse.observation.type", "span")).upper(),
            "parentObservationId": _parent_id(span),
            "isRootObservation": span.parent is None,
            "name": span.name,
            "startTime": _iso(span.start_time),
            "endTime": _iso(span.end_time),
            "level": held.get("langfuse.observation.level", "DEFAULT"),
            "statusMessage": held.get("langfuse.observation.status_message", ""),
            "version": "",
            "environment": held.get("langfuse.environment", "default"),
            "bookmarked": False,
            "public": False,
            "userId": None,
            "sessionId": held.get("session.id"),
            "input": held.get("langfuse.observation.input"),
            "output": held.get("langfuse.observation.output"),
            "model": held.get("langfuse.observation.model.name"),
            "usageDetails": json.loads(str(held.get("langfuse.observation.usage_details", "{}"))),
            "traceName": held.get("langfuse.trace.name"),
            "tags": [],
            "release": None,
        }
        rows.append(row)
    return {"data": rows[::-1], "meta": {"cursor": None}}


def _in_order(spans: Sequence[ReadableSpan]) -> list[ReadableSpan]:
    return sorted(spans, key=lambda span: span.start_time or 0)


def _trace_id(span: ReadableSpan) -> str:
    return f"{span.context.trace_id:032x}"


def _span_id(span: ReadableSpan) -> str:
    return f"{span.context.span_id:016x}"


def _parent_id(span: ReadableSpan) -> str | None:
    return f"{span.parent.span_id:016x}" if span.parent else None


def _iso(nanoseconds: int | None) -> str:
    moment = datetime.fromtimestamp((nanoseconds or 0) / 1e9, tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
