"""What all formats share: times, a span's input and output, and spans joined into a trace."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from groundwire.connectors.messages import decoded, find_messages, read_messages, without_media
from groundwire.connectors.trace import Trace
from groundwire.scorer import Message, Role, Span, SpanKind, ToolCallResponsePart

__all__ = [
    "EPOCH",
    "SpanIO",
    "at_millisecond",
    "moment",
    "newest",
    "nonempty",
    "prompt_named",
    "read_io",
    "tree_flags",
    "unread",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = 253_402_300_799.0
"""The last second that `datetime` can hold, as a Unix time."""

SpanIO = tuple[tuple[Message, ...], Any]
"""A span's input or output: as messages, or else as a plain JSON value; never both."""


def at_millisecond(index: int) -> datetime:
    """The Unix epoch plus that many milliseconds: the place in time of what has only an order."""
    return EPOCH + timedelta(milliseconds=index)


def moment(value: Any) -> datetime | None:
    """A time as sources write it: ISO 8601 text, or a Unix time in seconds, milliseconds, microseconds or nanoseconds.

    A time without a zone is UTC. None where it is no time.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, str):
        text = value.strip()
        if text.isascii() and text.isdecimal() and len(text) >= 9:
            return _unix(float(text)) if len(text) <= 20 else None
        try:
            read = datetime.fromisoformat(text)
        except ValueError:
            return None
        return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e20:
        return _unix(value)
    return None


def _unix(value: float) -> datetime | None:
    if not math.isfinite(value) or value < 0:
        return None
    for unit in (1, 1_000, 1_000_000, 1_000_000_000):
        if value / unit < 20_000_000_000:  # seconds up to the year 2603; beyond that it is a smaller unit
            whole, rest = divmod(value, unit)
            return EPOCH + timedelta(seconds=whole, microseconds=int(rest * 1_000_000 // unit))
    return None


def prompt_named(name: Any, version: Any) -> str | None:
    """`name@version` of the prompt that a call was made with; None where either isn't told."""
    named, told = nonempty(name), nonempty(version)
    return f"{named}@{told}" if named and told else None


def nonempty(value: Any) -> str | None:
    """A text, or None where it is empty or no text; numbers become text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    return value if isinstance(value, str) and value else None


def read_io(kind: SpanKind, value: Any, *, role: Role) -> SpanIO:
    """A span's input or output. A model call's is words; a tool's is data; others' is whichever it clearly is."""
    if value is None or value == "":
        return (), None
    if kind == "LLM":
        return read_messages(value, role=role), None
    found = find_messages(value)
    if kind == "TOOL":
        found = found if found and all(_is_result(message) for message in found) else ()
    if found:
        return found, None
    return (), without_media(decoded(value))


def _is_result(message: Message) -> bool:
    return message.role == "tool" and any(isinstance(part, ToolCallResponsePart) for part in message.parts)


def newest(pairs: Sequence[tuple[Span, datetime | None]]) -> tuple[list[Span], bool]:
    """One span for each id, the one written last (then ended last, then read last); and whether any was repeated."""
    latest: dict[str, tuple[tuple[datetime, datetime], Span]] = {}
    for span, written in pairs:
        age = (written or EPOCH, span.end_time or span.start_time)
        if span.span_id not in latest or age >= latest[span.span_id][0]:
            latest[span.span_id] = (age, span)
    return [span for _, span in latest.values()], len(latest) < len(pairs)


def tree_flags(spans: Sequence[Span]) -> tuple[str, ...]:
    """What is odd about the tree: `no_root`, `several_roots`, `parent_cycle`, `no_end_times`."""
    flags = []
    parents: Mapping[str, str | None] = {span.span_id: span.parent_id for span in spans}
    roots = sum(parent is None or parent not in parents for parent in parents.values())
    if roots > 1:
        flags.append("several_roots")
    safe: set[str] = set()
    for start in parents:
        path: list[str] = []
        seen: set[str] = set()
        at: str | None = start
        while at is not None and at in parents and at not in safe and at not in seen:
            seen.add(at)
            path.append(at)
            at = parents[at]
        if at is not None and at in seen:
            flags.append("parent_cycle")
            break
        safe.update(path)
    if spans and all(span.end_time is None for span in spans):
        flags.append("no_end_times")
    return tuple(flags)


def unread(trace: Trace, flag: str, span_ids: Collection[str]) -> Trace:
    """The trace with that flag, and with it each of these spans: the platform could not send what they hold."""
    if not span_ids:
        return trace
    spans = tuple(_flagged(span, flag) if span.span_id in span_ids else span for span in trace.spans)
    return replace(trace, spans=spans, flags=(*trace.flags, flag))


def _flagged(span: Span, flag: str) -> Span:
    known = span.attributes.get("groundwire.flags")
    flags = [*(known if isinstance(known, list) else ()), flag]
    return span.model_copy(update={"attributes": {**span.attributes, "groundwire.flags": flags}})
