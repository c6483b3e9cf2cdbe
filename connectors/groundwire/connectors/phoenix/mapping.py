"""Spans of one trace as Phoenix gives them, as a canonical trace."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from groundwire.connectors.formats.openinference import trace_of_rows
from groundwire.connectors.phoenix.spans import Row
from groundwire.connectors.trace import Trace

__all__ = ["trace_of"]

_OBJECTS = ("metadata", "tool.parameters")
"""Attributes that Phoenix stores as objects and gives key by key."""
_READ = (
    "ai.", "document.", "embedding.", "exception.", "gen_ai.", "input.", "langfuse.", "langsmith.", "llm.", "logfire.",
    "metadata", "openinference.", "output.", "reranker.", "retrieval.", "session.", "tag.", "tool.", "traceloop.",
    "user.",
)  # fmt: skip
"""Beginnings of the attributes whose meaning is known: what of them matters stands in the span's own fields."""
_LONGEST_KEPT = 1_000


def trace_of(rows: Sequence[Row], *, project: str) -> Trace | None:
    """The trace that these spans make, `project` being the project's id; None without one that can be read.

    Attributes that nobody knows are kept on their spans.
    """
    trace = trace_of_rows([{**row, "attributes": _whole(_attributes(row))} for row in rows], origin=project)
    if trace is None:
        return None
    unknown = {_span_id(row): _unknown(row) for row in rows}
    spans = tuple(
        span.model_copy(update={"attributes": {**found, **span.attributes}})
        if (found := unknown.get(span.span_id))
        else span
        for span in trace.spans
    )
    return replace(trace, spans=spans)


def _whole(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes with those objects in one piece again."""
    whole: dict[str, Any] = {}
    for key, value in attributes.items():
        for name in _OBJECTS:
            if key.startswith(f"{name}."):
                held = whole.get(name)
                whole[name] = {**(held if isinstance(held, dict) else {}), key.removeprefix(f"{name}."): value}
                break
        else:
            whole[key] = value
    return whole


def _unknown(row: Row) -> dict[str, Any]:
    return {
        key: value[:_LONGEST_KEPT] if isinstance(value, str) else value
        for key, value in _attributes(row).items()
        if not key.startswith(_READ)
    }


def _attributes(row: Row) -> Mapping[str, Any]:
    attributes = row.get("attributes")
    return attributes if isinstance(attributes, Mapping) else {}


def _span_id(row: Row) -> str:
    context = row.get("context")
    return str(context.get("span_id")) if isinstance(context, Mapping) else ""
