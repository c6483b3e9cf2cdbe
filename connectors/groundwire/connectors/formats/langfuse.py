"""Langfuse: observation rows (v2), observations of the older endpoints, and traces that hold their observations."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundwire.connectors.formats.spans import moment, newest, nonempty, prompt_named, read_io, tree_flags
from groundwire.connectors.messages import decoded, without_media
from groundwire.connectors.trace import Trace, in_time_order
from groundwire.scorer import Span, SpanKind

__all__ = ["KINDS", "is_row", "is_trace", "rows_of", "span_of_row", "trace_of_rows"]

KINDS: dict[str, SpanKind] = {
    "GENERATION": "LLM",
    "SPAN": "UNKNOWN",
    "EVENT": "UNKNOWN",
    "AGENT": "AGENT",
    "TOOL": "TOOL",
    "CHAIN": "CHAIN",
    "RETRIEVER": "RETRIEVER",
    "EVALUATOR": "EVALUATOR",
    "EMBEDDING": "EMBEDDING",
    "GUARDRAIL": "GUARDRAIL",
}
"""Observation types as span kinds."""
# fmt: off
_READ = frozenset(
    (
        "bookmarked", "calculatedInputCost", "calculatedOutputCost", "calculatedTotalCost", "completionStartTime",
        "completionTokens", "costDetails", "createdAt", "endTime", "environment", "id", "input", "inputCost",
        "inputPrice", "inputUsage", "internalModelId", "isRootObservation", "latency", "level", "metadata", "model",
        "modelId", "modelParameters", "name", "output", "outputCost", "outputPrice", "outputUsage",
        "parentObservationId", "projectId", "promptId", "promptName", "promptTokens", "promptVersion",
        "providedModelName", "public", "release", "sessionId", "startTime", "statusMessage", "tags",
        "timeToCompletion", "timeToFirstToken", "totalCost", "totalPrice", "totalTokens", "totalUsage", "trace",
        "traceId", "traceName", "type", "unit", "updatedAt", "usage", "usageDetails", "usagePricingTierId",
        "usagePricingTierName", "userId", "version",
    )
)
# fmt: on
"""What Langfuse is known to send with a row; anything else is kept as an attribute of the span."""
_CALL_ID_ENDINGS = ("tool.call.id", "tool_call_id", "toolCallId", "tool_call.id")


def is_row(record: Mapping[str, Any]) -> bool:
    """Whether a record is one observation."""
    return "traceId" in record and "startTime" in record and str(record.get("type", "")).upper() in KINDS


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trace of the older endpoints with its observations whole (not their ids alone)."""
    held = record.get("observations")
    return isinstance(held, list) and "id" in record and any(isinstance(row, dict) and "type" in row for row in held)


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The observation rows of a row or a trace; a trace's own fields go along with each as `trace`."""
    if is_row(record):
        yield nonempty(record.get("traceId")), record
    elif is_trace(record):
        whole = {key: value for key, value in record.items() if key not in ("observations", "scores")}
        held = [row for row in record["observations"] if isinstance(row, dict)]
        for index, row in enumerate(held):
            yield nonempty(record.get("id")), {**row, "trace": whole} if index == 0 else row


def span_of_row(row: Mapping[str, Any], trace_id: str) -> Span | None:
    """One observation as a span; None without an id or a start time."""
    span_id, start = nonempty(row.get("id")), moment(row.get("startTime"))
    if span_id is None or start is None:
        return None
    kind = KINDS.get(str(row.get("type", "")).upper(), "UNKNOWN")
    name = nonempty(row.get("name")) or ""
    input_messages, plain_input = read_io(kind, row.get("input"), role="user")
    output_messages, plain_output = read_io(kind, row.get("output"), role="assistant")
    level = nonempty(row.get("level"))
    metadata = _metadata(row.get("metadata"))
    attributes: dict[str, Any] = {"level": level} if level not in (None, "DEFAULT") else {}
    if metadata:
        attributes["metadata"] = metadata
    if (prompt := prompt_named(row.get("promptName"), row.get("promptVersion"))) is not None:
        attributes["groundwire.prompt"] = prompt
    if kind == "TOOL" and (call_id := _call_id(metadata)):
        attributes["groundwire.tool_call_id"] = call_id
    unknown = {key: value for key, value in row.items() if key not in _READ and value is not None}
    if unknown:
        attributes |= without_media(unknown)
    return Span(
        span_id=span_id,
        trace_id=trace_id,
        parent_id=nonempty(row.get("parentObservationId")),
        kind=kind,
        name=name,
        start_time=start,
        end_time=moment(row.get("endTime")),
        status="error" if level == "ERROR" else "unset",
        status_message=nonempty(row.get("statusMessage")) or "",
        input_messages=input_messages,
        output_messages=output_messages,
        input=plain_input,
        output=plain_output,
        tool_name=name if kind == "TOOL" and name else None,
        model=nonempty(row.get("model")) or nonempty(row.get("providedModelName")),
        usage=_usage(row),
        attributes=attributes,
    )


def _usage(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Tokens by kind, and `cost` in US dollars where the row has one; what is no finite number is left out."""
    held = row.get("usageDetails") or row.get("usage")
    usage = {key: value for key, value in held.items() if _is_finite(value)} if isinstance(held, dict) else {}
    cost = row.get("totalCost") or row.get("calculatedTotalCost")
    if _is_finite(cost):
        usage["cost"] = cost
    return usage if any(usage.values()) else None


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _metadata(value: Any) -> dict[str, Any]:
    value = decoded(value)
    return without_media(dict(value)) if isinstance(value, dict) else {}


def _call_id(metadata: Mapping[str, Any]) -> str | None:
    attributes = metadata.get("attributes")
    inside = attributes.items() if isinstance(attributes, dict) else ()
    return next(
        (str(value) for key, value in (*metadata.items(), *inside) if key.endswith(_CALL_ID_ENDINGS) and value), None
    )


def trace_of_rows(rows: Sequence[Mapping[str, Any]], *, origin: str) -> Trace | None:
    """The trace that these rows make: one observation for each id, the newest by `updatedAt`. None without a span.

    What belongs to the trace (session, user, tags …) is taken from its own record, else the root row, else the first
    row that has it, because applications put it on all rows or on the root alone.
    """
    trace_id = next(
        (found for row in rows if (found := nonempty(row.get("traceId")) or nonempty(_whole(row).get("id")))), None
    )
    if trace_id is None:
        return None
    pairs = []
    by_id: dict[str, Mapping[str, Any]] = {}
    tree_ids, oddities = _rooted(rows)
    for row in rows:
        if (span := span_of_row(row, trace_id)) is not None:
            if span.span_id in tree_ids:
                span = span.model_copy(update={"parent_id": tree_ids[span.span_id]})
            pairs.append((span, moment(row.get("updatedAt"))))
            by_id[span.span_id] = row
    spans, repeated = newest(pairs)
    if not spans:
        return None
    spans = in_time_order(spans)
    whole: Mapping[str, Any] = next((own for row in rows if (own := _whole(row))), {})
    roots = sorted(by_id.values(), key=lambda row: (row.get("isRootObservation") is not True, _has_parent(row, by_id)))
    sources = (whole, *roots)
    tags = next((found for row in sources if isinstance(found := row.get("tags"), list) and found), [])
    return Trace(
        trace_id=trace_id,
        spans=tuple(spans),
        source="langfuse",
        origin=origin,
        session_id=_first(sources, "sessionId"),
        name=nonempty(whole.get("name")) or _first(roots, "traceName") or nonempty(roots[0].get("name")) or "",
        environment=_first(sources, "environment"),
        tags=tuple(str(tag) for tag in tags),
        user_id=_first(sources, "userId"),
        release=_first(sources, "release"),
        version=_first(sources, "version"),
        metadata=_metadata(whole.get("metadata")) or _metadata(roots[0].get("metadata")),
        flags=(*(("duplicate_span_ids",) if repeated else ()), *oddities, *tree_flags(spans)),
    )


def _rooted(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """The parents to be put in the place of those that exist nowhere, by span id; and flags.

    A row that Langfuse calls a root is one, whatever parent it names. With one root, a row whose parent never came
    hangs under it (`missing_parents`). Without any, the row that started first is the root (`no_root`): the real one
    was not sent to this project, or not yet.
    """
    ids = {key: row for row in rows if (key := nonempty(row.get("id"))) is not None}
    orphans = [
        key for key, row in ids.items() if (parent := nonempty(row.get("parentObservationId"))) and parent not in ids
    ]
    if not orphans:
        return {}, ()
    parents: dict[str, str | None] = {}
    roots = [key for key, row in ids.items() if row.get("isRootObservation") is True]
    roots += [key for key, row in ids.items() if key not in roots and not nonempty(row.get("parentObservationId"))]
    told = any("isRootObservation" in row for row in rows)
    if not told and not roots and len({ids[key].get("parentObservationId") for key in orphans}) > 1:
        roots = list(orphans)  # an older server doesn't say which row is a root: each of these stands alone
    lost = [key for key in orphans if key not in roots]
    parents.update({key: None for key in orphans if key in roots})
    if not roots:
        first = min(lost, key=lambda key: (str(ids[key].get("startTime")), str(key)))
        parents.update({key: None if key == first else first for key in lost})
        return parents, ("no_root",)
    if lost and len(roots) == 1:
        parents.update(dict.fromkeys(lost, roots[0]))
    return parents, ("missing_parents",) if lost else ()


def _whole(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found = row.get("trace")
    return found if isinstance(found, dict) else {}


def _has_parent(row: Mapping[str, Any], by_id: Mapping[str, Any]) -> bool:
    return nonempty(row.get("parentObservationId")) in by_id


def _first(rows: Sequence[Mapping[str, Any]], key: str) -> str | None:
    return next((found for row in rows if (found := nonempty(row.get(key)))), None)
