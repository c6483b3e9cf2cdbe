"""The cut itself: spans re-kinded, a subtree chosen, and partitions made of them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from groundwire.connectors.partitions.shown_tools import with_shown_tools
from groundwire.connectors.trace import Trace
from groundwire.scorer import (
    KindRule,
    Message,
    Partition,
    PartitionType,
    RootRule,
    Span,
    TextPart,
    Turn,
    rekind,
)

__all__ = ["cut", "cut_session", "subtree"]


def cut(
    trace: Trace,
    level: PartitionType,
    *,
    kinds: Sequence[KindRule] = (),
    root: RootRule | None = None,
    each_turn: bool = False,
) -> tuple[Partition, ...]:
    """The partitions of one trace.

    `span`: one for each LLM span, holding that span alone, because a span is judged by the tool results in its own
    messages. `trace`: one, holding every span (with `root`, the first matching span and what is below it), and a
    synthetic TOOL span for each tool result that stands only in messages. `session`: the trace as a session of one
    turn. `kinds` is applied first; the first rule that matches a span wins. With `each_turn` a bare conversation
    becomes one span partition for each assistant text at level `span`; other traces have a span for each already.
    """
    spans: Sequence[Span] = rekind(trace.spans, kinds)
    match level:
        case "span":
            if root is not None:
                spans = subtree(spans, root)
            if trace.conversation and each_turn:
                spans = [turn for span in spans for turn in _turns(span)]
            return tuple(_span_partition(trace, span) for span in spans if span.kind == "LLM")
        case "trace":
            spans = with_shown_tools(spans)
            if root is not None:
                spans = subtree(spans, root) or spans
            return (
                Partition(
                    partition_type="trace",
                    partition_id=trace.trace_id,
                    trace_id=trace.trace_id,
                    session_id=trace.session_id,
                    spans=tuple(spans),
                    attributes=_attributes(trace.flags),
                ),
            )
        case "session":
            return (cut_session([trace], kinds=kinds),)


def cut_session(traces: Iterable[Trace], *, kinds: Sequence[KindRule] = ()) -> Partition:
    """The traces of one session as one partition, in time order; raises `ValueError` without any trace.

    A tool result that a later turn shows again in its history is no second span.
    """
    ordered = sorted(
        (trace for trace in traces if trace.spans), key=lambda trace: (trace.spans[0].start_time, trace.trace_id)
    )
    if not ordered:
        raise ValueError("a session needs at least one trace with a span")
    spans: list[Span] = []
    turns: list[Turn] = []
    shown = with_shown_tools([span for trace in ordered for span in rekind(trace.spans, kinds)])
    for trace in ordered:
        turns.append(Turn(trace_id=trace.trace_id, start=len(spans)))
        spans += [span for span in shown if span.trace_id == trace.trace_id]
    session_id = next((trace.session_id for trace in ordered if trace.session_id), None)
    return Partition(
        partition_type="session",
        partition_id=f"session:{session_id or ordered[0].trace_id}",
        trace_id=ordered[-1].trace_id,
        session_id=session_id,
        spans=tuple(spans),
        turns=tuple(turns),
        attributes=_attributes(flag for trace in ordered for flag in trace.flags),
    )


def _span_partition(trace: Trace, span: Span) -> Partition:
    return Partition(
        partition_type="span",
        partition_id=_span_partition_id(trace.trace_id, span.span_id),
        trace_id=trace.trace_id,
        session_id=trace.session_id,
        target_span_id=span.span_id,
        spans=(span,),
        attributes=_attributes(trace.flags),
    )


def _span_partition_id(trace_id: str, span_id: str) -> str:
    """Span ids are scoped to their trace; those made here say it already."""
    return span_id if span_id.startswith(f"{trace_id}:") else f"{trace_id}:{span_id}"


def _attributes(flags: Iterable[str]) -> dict[str, Any]:
    unique = list(dict.fromkeys(flags))
    return {"groundwire.flags": unique} if unique else {}


def subtree(spans: Sequence[Span], root: RootRule) -> list[Span]:
    """The first span that `root` names and all spans below it, in their order; nothing where none matches."""
    chosen = next((span for span in spans if root.matches(span)), None)
    if chosen is None:
        return []
    children: dict[str, list[str]] = {}
    for span in spans:
        if span.parent_id is not None:
            children.setdefault(span.parent_id, []).append(span.span_id)
    inside = {chosen.span_id}
    stack = [chosen.span_id]
    while stack:
        for child in children.get(stack.pop(), ()):
            if child not in inside:
                inside.add(child)
                stack.append(child)
    return [
        span.model_copy(update={"parent_id": None}) if span is chosen else span
        for span in spans
        if span.span_id in inside
    ]


def _turns(span: Span) -> list[Span]:
    """A conversation's model calls: one for each assistant text, its input being all that was said before."""
    messages = (*span.input_messages, *span.output_messages)
    answers = [index for index, message in enumerate(messages) if message.role == "assistant" and _says(message)]
    step = timedelta(milliseconds=1)
    return [
        span.model_copy(
            update={
                "span_id": f"{span.trace_id}:turn-{number}",
                "start_time": span.start_time + max(index - 1, 0) * step,
                "end_time": span.start_time + index * step,
                "input_messages": messages[:index],
                "output_messages": (messages[index],),
            }
        )
        for number, index in enumerate(answers, start=1)
    ]


def _says(message: Message) -> bool:
    return any(isinstance(part, TextPart) and part.content.strip() for part in message.parts)
