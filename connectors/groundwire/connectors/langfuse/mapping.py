"""Rows of one trace as a canonical trace, whatever the server's generation."""

from collections.abc import Sequence

from groundwire.connectors.formats.langfuse import trace_of_rows
from groundwire.connectors.formats.spans import nonempty, unread
from groundwire.connectors.langfuse.rows import TOO_LARGE, Row
from groundwire.connectors.trace import Trace

__all__ = ["problems_of", "trace_of"]


def trace_of(rows: Sequence[Row], *, origin: str) -> Trace | None:
    """The trace that these rows make, `origin` being the project; None where no row can be read.

    Flags, of the trace and of the span: `body_too_large` where the server could not send a row's input and output.
    """
    trace = trace_of_rows(rows, origin=origin)
    large = {span_id for row in rows if row.get(TOO_LARGE) and (span_id := nonempty(row.get("id"))) is not None}
    return trace if trace is None else unread(trace, "body_too_large", large)


def problems_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """One line for each row that could not be read whole."""
    return tuple(
        f"trace {nonempty(row.get('traceId'))}: Langfuse could not send the input and output of observation "
        f"{nonempty(row.get('id'))}, because they are too large"
        for row in rows
        if row.get(TOO_LARGE)
    )
