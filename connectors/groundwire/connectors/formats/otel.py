"""Spans of OpenTelemetry, however they were exported, and the traces that they make."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from groundwire.connectors.formats.attributes import (
    Attributes,
    input_of,
    kind_of,
    model_of,
    output_of,
    tool_call_id_of,
    tool_name_of,
    usage_of,
)
from groundwire.connectors.formats.spans import moment, newest, nonempty, prompt_named, tree_flags
from groundwire.connectors.messages import decoded, without_media
from groundwire.connectors.trace import Trace, in_time_order
from groundwire.scorer import Span, SpanKind, SpanStatus

__all__ = ["OtelSpan", "canonical_span", "hex_id", "status_of", "time_of", "trace_of_spans"]

_SESSION = (
    "session.id",
    "langfuse.session.id",
    "gen_ai.conversation.id",
    "ai.telemetry.metadata.sessionId",
    "thread.id",
)
_USER = ("user.id", "langfuse.user.id", "enduser.id", "ai.telemetry.metadata.userId")
_ENVIRONMENT = ("langfuse.environment", "deployment.environment.name", "deployment.environment")
_RELEASE = ("langfuse.release", "langfuse.trace.release")
_VERSION = ("langfuse.version", "service.version")
_TAGS = ("langfuse.trace.tags", "tag.tags", "langsmith.tags", "ai.telemetry.metadata.tags")
_METADATA_PREFIXES = ("langfuse.trace.metadata.", "langsmith.metadata.", "ai.telemetry.metadata.")
_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")


@dataclass(frozen=True, kw_only=True)
class OtelSpan:
    """One span as OpenTelemetry tells it."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_time: datetime
    end_time: datetime | None
    attributes: Attributes
    """Under their full dotted names."""
    resource: Attributes = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    """Each with `name` and plain `attributes`."""
    status: SpanStatus = "unset"
    status_message: str = ""
    kind: SpanKind | None = None
    """Where the export states it apart from the attributes."""


def hex_id(value: Any) -> str | None:
    """A trace or span id in lower-case hex: from hex, `0x…` or protobuf's base64; others stay as they are."""
    text = nonempty(value)
    if text is None or text.strip("0") == "":
        return None
    if found := _HEX.fullmatch(text):
        return found[1].lower()
    if len(text) in (12, 24) and text.endswith("="):
        try:
            return base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return text


def canonical_span(span: OtelSpan) -> Span:
    """The span in the canonical form."""
    attributes = span.attributes
    kind = span.kind or kind_of(attributes)
    input_messages, plain_input = input_of(kind, attributes, span.events)
    output_messages, plain_output = output_of(kind, attributes, span.events)
    status, message = _status(span)
    kept: dict[str, Any] = {}
    if kind == "TOOL" and (call_id := tool_call_id_of(attributes)):
        kept["groundwire.tool_call_id"] = call_id
    if (level := nonempty(attributes.get("langfuse.observation.level"))) not in (None, "DEFAULT"):
        kept["level"] = level
    if (prompt := _prompt(attributes)) is not None:
        kept["groundwire.prompt"] = prompt
    return Span(
        span_id=span.span_id,
        trace_id=span.trace_id,
        parent_id=span.parent_id,
        kind=kind,
        name=span.name,
        start_time=span.start_time,
        end_time=span.end_time,
        status=status,
        status_message=message,
        input_messages=input_messages,
        output_messages=output_messages,
        input=plain_input,
        output=plain_output,
        tool_name=(tool_name_of(attributes) or span.name or None) if kind == "TOOL" else None,
        model=model_of(attributes),
        usage=usage_of(attributes),
        attributes=kept,
    )


def _prompt(attributes: Attributes) -> str | None:
    """By Langfuse's SDK, then by OpenInference, which names a version of a template and no name."""
    named = prompt_named(
        attributes.get("langfuse.observation.prompt.name"), attributes.get("langfuse.observation.prompt.version")
    )
    version = attributes.get("llm.prompt_template.version")
    return named or prompt_named(attributes.get("llm.prompt_template.name") or "template", version)


def _status(span: OtelSpan) -> tuple[SpanStatus, str]:
    """An exception event or Langfuse's level ERROR counts where the status itself says nothing."""
    if span.status == "unset":
        if str(span.attributes.get("langfuse.observation.level")) == "ERROR":
            return "error", nonempty(span.attributes.get("langfuse.observation.status_message")) or ""
        for event in span.events:
            if event.get("name") == "exception":
                details = event.get("attributes")
                message = details.get("exception.message") if isinstance(details, dict) else None
                return "error", without_media(nonempty(message) or "")[:2_000]
    return span.status, without_media(span.status_message)[:2_000]


def trace_of_spans(spans: Sequence[OtelSpan], *, source: str, origin: str) -> Trace | None:
    """The trace that spans of one trace id make; its own fields are taken from the root, else from any span."""
    canonical, repeated = newest([(canonical_span(span), span.end_time) for span in spans])
    if not canonical:
        return None
    ordered = in_time_order(canonical)
    known = {span.span_id for span in ordered}
    told = {span.span_id: span for span in spans}
    root = next((span for span in ordered if span.parent_id is None or span.parent_id not in known), ordered[0])
    first = told[root.span_id]
    bags = [first.attributes, first.resource, *(span.attributes for span in spans)]
    return Trace(
        trace_id=ordered[0].trace_id,
        spans=tuple(ordered),
        source=source,
        origin=origin,
        session_id=_first(bags, _SESSION),
        name=_first(bags, ("langfuse.trace.name", "ai.telemetry.functionId")) or root.name,
        environment=_first(bags, _ENVIRONMENT),
        tags=_tags(bags),
        user_id=_first(bags, _USER),
        release=_first(bags, _RELEASE),
        version=_first(bags, _VERSION),
        metadata=_metadata(first.attributes),
        flags=(*(("duplicate_span_ids",) if repeated else ()), *tree_flags(ordered)),
    )


def _first(bags: Sequence[Attributes], keys: Sequence[str]) -> str | None:
    return next((found for bag in bags for key in keys if (found := nonempty(bag.get(key)))), None)


def _tags(bags: Sequence[Attributes]) -> tuple[str, ...]:
    for bag in bags:
        for key in _TAGS:
            tags = decoded(bag.get(key))
            if isinstance(tags, list) and tags:
                return tuple(str(tag) for tag in tags)
    return ()


def _metadata(attributes: Attributes) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    whole = decoded(attributes.get("metadata"))
    if isinstance(whole, dict):
        metadata.update(whole)
    for key, value in attributes.items():
        for prefix in _METADATA_PREFIXES:
            if key.startswith(prefix):
                metadata[key.removeprefix(prefix)] = decoded(value)
    return dict(without_media(metadata))


def status_of(code: Any) -> SpanStatus:
    """A status code as any exporter writes it."""
    text = str(code).upper().rpartition("STATUS_CODE_")[2].rpartition("STATUSCODE.")[2]
    return "error" if text in ("ERROR", "2") else "ok" if text in ("OK", "1") else "unset"


def time_of(value: Any) -> datetime | None:
    """A span's time: Unix nanoseconds or text; zero is none."""
    return None if value in (0, "0", "") else moment(value)
