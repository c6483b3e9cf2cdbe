"""What a piece of work is about, fetched as it stands now: a trace, or the traces of a session."""

from collections.abc import Sequence

from groundwire.connectors import Origin, Sessions, Source, Trace
from groundwire.jobs.admission import Evaluator, origin_of, read_origin, session_of
from groundwire.scorer import Partition, SkipThis

__all__ = ["fetch_traces", "partition_in", "partitions_now"]


async def fetch_traces(source: Source, origin: Origin, *, session_id: str | None = None) -> Sequence[Trace]:
    """The trace, or the traces of the session in time order.

    Raises as `Source.fetch` does.
    """
    if session_id is None:
        return [await source.fetch(origin)]
    if not isinstance(source, Sessions):
        raise SkipThis("the source can't read a session by its id")
    traces = [trace for trace in await source.fetch_session(session_id) if trace.spans]
    if not any(trace.trace_id == origin.trace_id for trace in traces):
        # its trace may be told before the session knows it
        traces = sorted([*traces, await source.fetch(origin)], key=lambda trace: trace.spans[0].start_time)
    return traces


def partition_in(traces: Sequence[Trace], partition_id: str, evaluator: Evaluator) -> Partition | None:
    """The partition of that id; None where the traces don't hold it any more, and of a session that has gone on."""
    if evaluator.spec.level == "session":
        found: Sequence[Partition] = [session_of(traces, evaluator.spec)]
    else:
        found = evaluator.partitions(traces[-1])
    return next((one for one in found if one.partition_id == partition_id), None)


async def partitions_now(source: Source, trace: Trace, evaluator: Evaluator) -> Sequence[Partition]:
    """What an evaluator makes of a trace; at session level, the whole session, if the trace is its last turn.

    Raises as `Source.fetch` does.
    """
    if evaluator.spec.level != "session":
        return evaluator.partitions(trace)
    if trace.session_id is None:
        return ()
    traces = await fetch_traces(source, read_origin(origin_of(trace)), session_id=trace.session_id)
    return (session_of(traces, evaluator.spec),) if traces[-1].trace_id == trace.trace_id else ()
