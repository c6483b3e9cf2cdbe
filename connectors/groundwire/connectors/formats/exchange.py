"""A question, an answer and what it may rest on, as somebody handed them over: a trace made of them."""

import hashlib
import json
from typing import Any
from uuid import UUID

from groundwire.connectors.formats.spans import at_millisecond
from groundwire.connectors.messages import read_messages
from groundwire.connectors.trace import Trace
from groundwire.scorer import Span

__all__ = ["trace_of_exchange"]


def trace_of_exchange(*, question: Any, answer: Any, evidence: Any, trace_id: str | None = None) -> Trace:
    """A trace whose root gives the answer and whose tools gave the evidence, flagged `no_times`.

    Question and answer are text, messages, or data that is shown as JSON. A list of evidence is one block an entry;
    anything else is one block, and None is none. Without a `trace_id` the id is made of what they say: the same
    exchange is the same trace.
    """
    trace_id = trace_id or _digest(question, answer, evidence)
    blocks = evidence if isinstance(evidence, list) else [] if evidence is None else [evidence]
    root = Span(
        span_id=f"{trace_id}:root",
        trace_id=trace_id,
        kind="AGENT",
        name="exchange",
        start_time=at_millisecond(0),
        end_time=at_millisecond(len(blocks) + 1),
        input_messages=read_messages(question, role="user"),
        output_messages=read_messages(answer, role="assistant"),
    )
    tools = [
        Span(
            span_id=f"{trace_id}:{number}",
            trace_id=trace_id,
            parent_id=root.span_id,
            kind="TOOL",
            name="context",
            tool_name="context",
            start_time=at_millisecond(number),
            end_time=at_millisecond(number),
            output=block,
        )
        for number, block in enumerate(blocks, start=1)
    ]
    return Trace(
        trace_id=trace_id,
        spans=(root, *tools),
        source="exchange",
        name="exchange",
        conversation=True,
        flags=("no_times",),
    )


def _digest(*parts: Any) -> str:
    """An id in the form of a UUID."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return str(UUID(hashlib.sha256(text.encode()).hexdigest()[:32]))
