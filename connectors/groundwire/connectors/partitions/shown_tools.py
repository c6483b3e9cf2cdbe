"""Tool results that stand only in messages, made into spans, so that they are evidence like those that were traced."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from groundwire.connectors.messages import as_json, decoded
from groundwire.connectors.trace import in_time_order
from groundwire.scorer import Span, ToolCallPart, ToolCallResponsePart

__all__ = ["with_shown_tools"]


def with_shown_tools(spans: Sequence[Span]) -> list[Span]:
    """The spans, and a TOOL span under the model call that shows a tool's result where no real TOOL span carries it.

    A result is carried by the TOOL span of the same call id, else by one of the same name (where the message knows
    it) and an equal result. The same result shown again in a later call's history is one span.
    """
    carried = _Carried(spans)
    seen: Counter[tuple[str | None, str]] = Counter()
    out = list(spans)
    for span in _showing(spans):
        here: Counter[tuple[str | None, str]] = Counter()
        made = 0
        for call, part in _results(span):
            if carried.holds(part, call):
                continue
            key = (part.id or part.name, _normal(part.response))
            here[key] += 1
            if here[key] <= seen[key]:
                continue
            seen[key] += 1
            made += 1
            out.append(_tool_span(span, part, call, made))
    return in_time_order(out)


def _showing(spans: Sequence[Span]) -> list[Span]:
    """The spans whose messages can show a result, model calls first, so that they are the ones it hangs under."""
    return [span for span in spans if span.kind == "LLM"] + [
        span
        for span in spans
        if span.kind in ("AGENT", "CHAIN", "UNKNOWN") and (span.input_messages or span.output_messages)
    ]


def _results(span: Span) -> list[tuple[ToolCallPart | None, ToolCallResponsePart]]:
    """The tool results in a span's messages in order, each with the call it answers, where the messages show it."""
    calls: dict[str, ToolCallPart] = {}
    waiting: list[ToolCallPart] = []
    found: list[tuple[ToolCallPart | None, ToolCallResponsePart]] = []
    for message in (*span.input_messages, *span.output_messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                if part.id:
                    calls[part.id] = part
                else:
                    waiting.append(part)
            elif isinstance(part, ToolCallResponsePart):
                call = calls.get(part.id) if part.id else _take(waiting, part.name)
                found.append((call, part))
    return found


def _take(waiting: list[ToolCallPart], name: str | None) -> ToolCallPart | None:
    """The first unanswered call of that name, for messages without call ids (Gemini's)."""
    for index, call in enumerate(waiting):
        if name is None or call.name == name:
            return waiting.pop(index)
    return None


class _Carried:
    """The results that real TOOL spans carry."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._ids: set[str] = set()
        self._results: dict[str, set[str]] = {}
        self._bare: set[tuple[str, str]] = set()
        """By name and arguments: the runs that failed or gave nothing, whose results are told in other words."""
        for span in spans:
            if span.kind != "TOOL":
                continue
            parts = [part for message in span.output_messages for part in message.parts]
            responses = [part for part in parts if isinstance(part, ToolCallResponsePart)]
            call_id = span.attributes.get("groundwire.tool_call_id")
            if responses or span.output is not None or span.status == "error":
                self._ids |= {str(call_id)} if call_id else set()
                self._ids |= {part.id for part in responses if part.id}
            if span.status == "error" or not (span.output or responses):
                self._bare |= {(name, _arguments(span.input)) for name in (span.tool_name, span.name) if name}
            for value in (span.output, *(part.response for part in responses)):
                if value is not None:
                    for name in {span.tool_name, span.name}:
                        self._results.setdefault(_normal(value), set()).add(name or "")

    def holds(self, part: ToolCallResponsePart, call: ToolCallPart | None) -> bool:
        if part.id and part.id in self._ids:
            return True
        name = part.name or (call.name if call is not None else None)
        names = self._results.get(_normal(part.response))
        if names is not None:
            return name is None or name in names
        return call is not None and (name, _arguments(call.arguments)) in self._bare and _is_bare(part)


def _is_bare(part: ToolCallResponsePart) -> bool:
    """Whether a shown result tells of a failure, or of nothing."""
    value = decoded(part.response)
    return part.failed or not value or (isinstance(value, dict) and bool(value.get("error")))


def _arguments(value: Any) -> str:
    """Arguments compared by their values; Langfuse's `@observe` wraps a function's in `args` and `kwargs`."""
    value = decoded(value)
    if isinstance(value, dict) and set(value) == {"args", "kwargs"} and not value["args"]:
        value = value["kwargs"]
    return as_json(_sorted(value))


def _normal(value: Any) -> str:
    """A result compared: JSON by its value, text by its words."""
    value = decoded(value)
    if isinstance(value, dict) and len(value) == 1:
        value = decoded(next(iter(value.values()))) if next(iter(value)) in ("output", "result", "content") else value
    return " ".join(value.split()) if isinstance(value, str) else as_json(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _tool_span(shown_by: Span, part: ToolCallResponsePart, call: ToolCallPart | None, number: int) -> Span:
    name = part.name or (call.name if call is not None else None) or "tool"
    shown_at = shown_by.start_time + timedelta(microseconds=number)  # after its parent, in the order it is shown
    attributes: dict[str, Any] = {"groundwire.flags": ["tool_from_messages"]}
    if part.id:
        attributes["groundwire.tool_call_id"] = part.id
    return Span(
        span_id=f"{shown_by.span_id}:tool-{number:04d}",
        trace_id=shown_by.trace_id,
        parent_id=shown_by.span_id,
        kind="TOOL",
        name=name,
        start_time=shown_at,
        end_time=shown_at,
        status="error" if part.failed else "unset",
        input=call.arguments if call is not None else None,
        output=part.response,
        tool_name=name,
        attributes=attributes,
    )
