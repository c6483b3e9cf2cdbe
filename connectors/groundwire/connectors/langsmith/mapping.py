"""Runs of one trace as a canonical trace, whatever the server's generation."""

from collections.abc import Sequence

from groundwire.connectors.formats.langsmith import trace_of_rows
from groundwire.connectors.formats.spans import nonempty, unread
from groundwire.connectors.langsmith.payloads import MISSING
from groundwire.connectors.langsmith.runs import TOO_LARGE, Run
from groundwire.connectors.trace import Trace

__all__ = ["problems_of", "trace_of"]

_OURS = (MISSING, TOO_LARGE)


def trace_of(runs: Sequence[Run], *, project: str, name: str = "") -> Trace | None:
    """The trace that these runs make, `project` being the project's id and `name` its name; None without a run.

    Flags, of the trace and of the span: `body_too_large` where the server could not send a run's inputs and outputs,
    `payload_missing` where they could not be fetched from where LangSmith keeps them.
    """
    rows = [{key: value for key, value in run.items() if key not in _OURS} for run in runs]
    trace = trace_of_rows([{"session_name": name, **row} for row in rows] if name else rows, origin=project)
    if trace is None:
        return None
    for flag, key in (("body_too_large", TOO_LARGE), ("payload_missing", MISSING)):
        trace = unread(trace, flag, {str(run.get("id")) for run in runs if run.get(key)})
    return trace


def problems_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """One line for each run that could not be read whole."""
    lines = []
    for run in runs:
        who = f"trace {nonempty(run.get('trace_id'))}: run {nonempty(run.get('id'))}"
        if run.get(TOO_LARGE):
            lines.append(f"{who} is too large for LangSmith to send")
        elif why := run.get(MISSING):
            lines.append(f"{who}: {why}")
    return tuple(lines)
