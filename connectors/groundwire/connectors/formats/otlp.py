"""OTLP in its JSON form: export requests with `resourceSpans`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.connectors.formats.otel import OtelSpan, hex_id, status_of, time_of, trace_of_spans
from groundwire.connectors.formats.spans import nonempty
from groundwire.connectors.trace import Trace

__all__ = ["is_export", "plain_attributes", "rows_of", "trace_of_rows"]

_MAX_NESTING = 20


def is_export(record: Mapping[str, Any]) -> bool:
    """Whether a record is an export request."""
    return isinstance(_either(record, "resourceSpans", "resource_spans"), list)


def _either(record: Any, camel: str, snake: str) -> Any:
    """A field under its JSON name, or the name that some exporters keep from protobuf."""
    if not isinstance(record, dict):
        return None
    return record[camel] if camel in record else record.get(snake)


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """Each span of an export request, with its resource's attributes along as `resource`."""
    for resource_spans in _maps(_either(record, "resourceSpans", "resource_spans")):
        resource = plain_attributes(_either(resource_spans.get("resource"), "attributes", "attributes"))
        scopes = resource_spans.get("scopeSpans") or resource_spans.get("scope_spans")
        for scope_spans in _maps(scopes or resource_spans.get("instrumentationLibrarySpans")):
            for span in _maps(scope_spans.get("spans")):
                yield hex_id(_either(span, "traceId", "trace_id")), {"span": span, "resource": resource}


def plain_attributes(pairs: Any) -> dict[str, Any]:
    """OTLP's list of typed key-value pairs as an object."""
    return {str(pair.get("key")): _plain(pair.get("value")) for pair in _maps(pairs)}


def _plain(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, dict) or depth > _MAX_NESTING:
        return None
    for name in ("stringValue", "string_value", "boolValue", "bool_value"):
        if name in value:
            return value[name]
    for name in ("intValue", "int_value", "doubleValue", "double_value"):
        if name in value:
            return _number(value[name], whole=name.startswith("int"))
    inner = value.get("arrayValue", value.get("array_value"))
    if isinstance(inner, dict):
        return [_plain(item, depth + 1) for item in _maps(inner.get("values"))]
    inner = value.get("kvlistValue", value.get("kvlist_value"))
    if isinstance(inner, dict):
        return {str(pair.get("key")): _plain(pair.get("value"), depth + 1) for pair in _maps(inner.get("values"))}
    return None


def _number(value: Any, *, whole: bool) -> Any:
    """64-bit integers are texts in JSON."""
    if isinstance(value, str):
        try:
            return int(value) if whole else float(value)
        except ValueError:
            return None
    return value


def _read(row: Mapping[str, Any]) -> OtelSpan | None:
    span = row["span"]
    trace_id, span_id = hex_id(_either(span, "traceId", "trace_id")), hex_id(_either(span, "spanId", "span_id"))
    start = time_of(_either(span, "startTimeUnixNano", "start_time_unix_nano"))
    if trace_id is None or span_id is None or start is None:
        return None
    status = span.get("status")
    status = status if isinstance(status, dict) else {}
    return OtelSpan(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=hex_id(_either(span, "parentSpanId", "parent_span_id")),
        name=nonempty(span.get("name")) or "",
        start_time=start,
        end_time=time_of(_either(span, "endTimeUnixNano", "end_time_unix_nano")),
        attributes=plain_attributes(span.get("attributes")),
        resource=row["resource"],
        events=[
            {"name": event.get("name"), "attributes": plain_attributes(event.get("attributes"))}
            for event in _maps(span.get("events"))
        ],
        status=status_of(status.get("code")),
        status_message=nonempty(status.get("message")) or "",
    )


def trace_of_rows(rows: Sequence[Mapping[str, Any]], *, origin: str) -> Trace | None:
    """The trace that these spans make; None where not one has ids and a start time."""
    return trace_of_spans([span for row in rows if (span := _read(row)) is not None], source="otlp", origin=origin)
