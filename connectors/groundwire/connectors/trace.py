"""One execution of an application, as its source recorded it: canonical spans and what is known of the whole."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from groundwire.scorer import Span

__all__ = ["Level", "Trace", "in_time_order"]

Level = Literal["DEBUG", "DEFAULT", "WARNING", "ERROR"]
"""Langfuse's levels, in rising order; other sources have only DEFAULT and ERROR."""
_LEVELS: tuple[Level, ...] = ("DEBUG", "DEFAULT", "WARNING", "ERROR")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace with its spans in time order, and the fields that a `where` filter can ask for."""

    trace_id: str
    spans: tuple[Span, ...]
    source: str
    """The shape it was read from: one of `groundwire.connectors.FORMATS`."""
    origin: str = ""
    """Where it stood: `file:line`, or the platform's project."""
    session_id: str | None = None
    name: str = ""
    environment: str | None = None
    tags: tuple[str, ...] = ()
    user_id: str | None = None
    release: str | None = None
    version: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    feedback: Mapping[str, float] = field(default_factory=dict)
    """What had been said of it when it was read, by name: the mean of the values (LangSmith's feedback statistics)."""
    conversation: bool = False
    """True where the source held a bare conversation and no spans: its one LLM span is made from the messages."""
    flags: tuple[str, ...] = ()
    """What was read oddly: `no_times`, `no_end_times`, `duplicate_span_ids`, `parent_cycle`, …"""

    @property
    def root(self) -> Span | None:
        """The first span without a parent in the trace; the first span where there is none (a cycle)."""
        known = {span.span_id for span in self.spans}
        roots = (span for span in self.spans if span.parent_id is None or span.parent_id not in known)
        return next(roots, self.spans[0] if self.spans else None)

    @property
    def start_time(self) -> datetime | None:
        """When the first span started."""
        return min((span.start_time for span in self.spans), default=None)

    @property
    def end_time(self) -> datetime | None:
        """When the last span ended; None where no span has an end."""
        return max((span.end_time for span in self.spans if span.end_time is not None), default=None)

    @property
    def duration(self) -> float | None:
        """Seconds from the first start to the last end; None where no span has an end."""
        start, end = self.start_time, self.end_time
        return (end - start).total_seconds() if start is not None and end is not None else None

    @property
    def has_error(self) -> bool:
        """Whether any span failed."""
        return any(span.status == "error" for span in self.spans)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were called, each once, sorted."""
        return tuple(sorted({span.model for span in self.spans if span.model}))

    @property
    def level(self) -> Level:
        """The highest level of its spans."""
        highest = 1
        for span in self.spans:
            named = span.attributes.get("level")
            if span.status == "error" or named == "ERROR":
                return "ERROR"
            if named == "WARNING":
                highest = 2
        if highest == 1 and self.spans and all(span.attributes.get("level") == "DEBUG" for span in self.spans):
            highest = 0
        return _LEVELS[highest]


def in_time_order(spans: Iterable[Span]) -> list[Span]:
    """Spans by start, then end, then id: arrival order doesn't matter."""
    return sorted(spans, key=lambda span: (span.start_time, span.end_time or span.start_time, span.span_id))
