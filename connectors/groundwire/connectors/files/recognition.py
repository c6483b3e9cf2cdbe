"""Which format a record is in, told by what it holds; and the rows that it stands for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never, get_args

from groundwire.connectors.files.canonical import is_canonical
from groundwire.connectors.formats import langfuse, langsmith, openinference, otlp
from groundwire.connectors.formats.conversations import holds_conversation, is_conversation
from groundwire.connectors.trace import Trace

__all__ = ["FORMATS", "Format", "Row", "recognise", "rows_in", "trace_of_rows"]

Format = Literal["canonical", "conversation", "langfuse", "langsmith", "openinference", "otlp"]
FORMATS: tuple[Format, ...] = get_args(Format)
"""The formats that `read_traces` recognises."""
_PAGES = ("data", "items", "runs", "spans", "traces", "observations")
"""Keys under which an exported page holds its rows."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One span's record and the trace that it belongs to."""

    trace_id: str | None
    row: Any


def recognise(record: Any) -> Format | None:
    """The format of one record; None where it is in none of them."""
    if isinstance(record, list):
        return "conversation" if is_conversation(record) else None
    if not isinstance(record, dict):
        return None
    if is_canonical(record):
        return "canonical"
    if otlp.is_export(record):
        return "otlp"
    if langfuse.is_row(record) or langfuse.is_trace(record):
        return "langfuse"
    if langsmith.is_run(record):
        return "langsmith"
    if openinference.is_span(record):
        return "openinference"
    if holds_conversation(record):
        return "conversation"
    page = _page(record)
    inner = recognise(page[0]) if page else None
    return inner if inner not in ("conversation", "canonical") else None


def _page(record: Mapping[str, Any]) -> list[Any] | None:
    for key in _PAGES:
        rows = record.get(key)
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            return rows
    return None


def rows_in(source: Format, record: Mapping[str, Any]) -> Iterator[Row]:
    """The span records that a record of a row format stands for: itself, its children, or a page of them."""
    match source:
        case "otlp":
            flat: Iterator[tuple[str | None, Any]] = otlp.rows_of(record)
        case "langfuse":
            flat = langfuse.rows_of(record)
        case "langsmith":
            flat = langsmith.rows_of(record)
        case "openinference":
            flat = openinference.rows_of(record)
        case "canonical" | "conversation":
            return
        case _:
            assert_never(source)
    own = False
    for trace_id, row in flat:
        own = True
        yield Row(trace_id=trace_id, row=row)
    if not own:
        for inner in _page(record) or ():
            if recognise(inner) == source:
                yield from rows_in(source, inner)


def trace_of_rows(source: Format, rows: Sequence[Any], *, origin: str) -> Trace | None:
    """The trace that the rows of one trace id make; None where not one of them is a span."""
    match source:
        case "otlp":
            return otlp.trace_of_rows(rows, origin=origin)
        case "langfuse":
            return langfuse.trace_of_rows(rows, origin=origin)
        case "langsmith":
            return langsmith.trace_of_rows(rows, origin=origin)
        case "openinference":
            return openinference.trace_of_rows(rows, origin=origin)
        case "canonical" | "conversation":
            return None
        case _:
            assert_never(source)
