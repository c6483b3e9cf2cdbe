"""The pieces of traces that one record of a file holds, and the trace that the pieces of many records make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic import TypeAdapter, ValidationError

from groundwire.connectors.files.canonical import Rejected, read_canonical
from groundwire.connectors.files.recognition import FORMATS, Format, recognise, rows_in, trace_of_rows
from groundwire.connectors.formats.conversations import trace_of_conversation
from groundwire.connectors.messages import is_message
from groundwire.connectors.trace import Trace
from groundwire.scorer import Partition, Span

__all__ = ["Key", "Piece", "pieces_of", "pieces_of_partition", "trace_of_pieces"]

Key = tuple[Format | Literal["whole"], str]
"""What the pieces of one trace have in common: their format and the trace's id. `whole` is a trace already read."""
_TRACES = TypeAdapter(Trace)


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What one record says about one trace."""

    key: Key
    value: Any
    """A span's record, a trace, or the spans of a canonical partition with what it says of the trace."""


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A canonical partition's spans of one trace."""

    spans: tuple[Span, ...]
    session_id: str | None


def pieces_of(record: Any, *, stem: str, index: int) -> Iterator[Piece | str]:
    """The pieces of a record, or what is wrong with it in a few words without its text.

    `stem` and `index` (its number in the file) name a conversation that has no id. A list is a conversation or holds
    records.
    """
    if isinstance(record, list) and record and not is_message(record[0]):
        for inner in record:
            yield from pieces_of(inner, stem=stem, index=index)
        return
    source = recognise(record)
    if source is None:
        yield f"this record is in no format that is known ({', '.join(FORMATS)})"
    elif source == "canonical":
        yield from pieces_of_partition(read_canonical(record))
    elif source == "conversation":
        try:
            trace = trace_of_conversation(record, origin="", fallback_id=f"{stem}:{index}")
        except (ValidationError, RecursionError):
            trace = None
        if trace is None:
            yield "no message of this conversation can be read"
        else:
            yield Piece(key=("conversation", trace.trace_id), value=trace)
    else:
        for row in rows_in(source, record):
            if row.trace_id:
                yield Piece(key=(source, row.trace_id), value=row.row)
            else:
                yield f"this {source} row names no trace; it is left out"


def pieces_of_partition(got: Partition | Rejected | str) -> Iterator[Piece | str]:
    """The pieces of a canonical partition, one for each trace in it, or what is wrong with it."""
    if isinstance(got, str):
        yield f"no valid canonical partition: {got}"
    elif isinstance(got, Rejected):
        yield f"no valid canonical partition: {got.message}"
    else:
        by_trace: dict[str, list[Span]] = {}
        for span in got.spans:
            by_trace.setdefault(span.trace_id, []).append(span)
        for trace_id, spans in by_trace.items():
            yield Piece(key=("canonical", trace_id), value=_Part(spans=tuple(spans), session_id=got.session_id))


def trace_of_pieces(key: Key, pieces: Sequence[Any], *, origin: str) -> Trace | None:
    """The trace that the values of its pieces make, in the order in which they were written; the newest word counts.

    None where none of them can be read as a span.
    """
    source, trace_id = key
    if not pieces:
        return None
    if source in ("conversation", "whole"):
        last = pieces[-1]
        return replace(last, origin=origin) if isinstance(last, Trace) else _TRACES.validate_python(last)
    if source == "canonical":
        spans = {span.span_id: span for part in pieces for span in part.spans}
        ordered = sorted(spans.values(), key=lambda span: (span.start_time, span.end_time or span.start_time))
        known = set(spans)
        root = next((span for span in ordered if span.parent_id is None or span.parent_id not in known), ordered[0])
        return Trace(
            trace_id=trace_id,
            spans=tuple(ordered),
            source="canonical",
            origin=origin,
            session_id=next((part.session_id for part in reversed(pieces) if part.session_id), None),
            name=root.name,
        )
    try:
        return trace_of_rows(cast("Format", source), pieces, origin=origin)
    except (ValidationError, RecursionError):
        return None
