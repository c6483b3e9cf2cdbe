"""How far a source has been read, where the platform can only be asked for stretches of time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import JsonValue

from groundwire.connectors.base import Window
from groundwire.connectors.trace import Trace

__all__ = ["Mark", "Progress", "ended_at"]

_VERSION = 1


def ended_at(trace: Trace) -> datetime | None:
    """Where a trace stands in time: its root's end; for one that hasn't ended, the last moment any span shows.

    None where it has no spans.
    """
    root = trace.root
    if root is not None and root.end_time is not None:
        return root.end_time
    return max((span.end_time or span.start_time for span in trace.spans), default=None)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One trace as it was when it was looked at."""

    trace_id: str
    at: datetime
    """Where it stands in time (`ended_at`)."""
    version: str
    """Anything that differs once the trace has changed."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A position in time, with everything at or near it that was already given.

    A trace may turn up, or change, some time after it ended: up to `lateness`. What ended longer than that before the
    last look is settled and forgotten; what ended later is looked at again, and given again if its version differs.
    Deep in history nothing is late, so only the ties at the position are remembered.
    """

    begin: datetime | None = None
    """Start of the first window: nothing that ended before it is ever given."""
    position: datetime | None = None
    """End of the last trace given; None at the beginning."""
    looked_at: datetime | None = None
    """When the look that gave it began, UTC."""
    seen: Mapping[str, Mark] = field(default_factory=dict)
    """By trace id."""

    @classmethod
    def of(cls, cursor: Mapping[str, JsonValue] | None) -> "Progress":
        """Read a cursor that `as_cursor` wrote; one of another make starts from the beginning, which loses nothing."""
        state: Any = cursor
        try:
            if state is None or state["version"] != _VERSION:
                return cls()
            return cls(
                begin=_time(state["begin"]),
                position=_time(state["position"]),
                looked_at=_time(state["looked_at"]),
                seen={
                    key: Mark(trace_id=key, at=_moment(micros), version=version)
                    for key, (micros, version) in state["seen"].items()
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()

    def as_cursor(self) -> dict[str, JsonValue]:
        """The JSON form: times as microseconds since 1970, UTC."""
        return {
            "version": _VERSION,
            "begin": _number(self.begin),
            "position": _number(self.position),
            "looked_at": _number(self.looked_at),
            "seen": {key: [_micros(mark.at), mark.version] for key, mark in self.seen.items()},
        }

    def stretch(self, window: Window, *, now: datetime, lateness: timedelta) -> tuple[datetime, datetime]:
        """What is to be looked at next, `[start, end)`; empty where start isn't before end.

        Once something was given, an open window's start says nothing new: it is the place that was reached, and what
        is late lies before it.
        """
        end = window.end if window.end is not None else now
        if self.position is None:
            return window.start if self.begin is None else min(window.start, self.begin), end
        if window.newest_first:
            # one microsecond more than the position, so that its ties are looked at again
            return window.start, min(end, self.position + timedelta(microseconds=1))
        floor = self._floor(self.position, lateness)
        if window.end is not None:
            return max(window.start, floor), end
        return floor if self.begin is None else max(self.begin, floor), end

    def knows(self, trace_id: str, version: str) -> bool:
        """Whether that trace was already given as it is now."""
        mark = self.seen.get(trace_id)
        return mark is not None and mark.version == version

    def after(self, marks: Iterable[Mark], window: Window, *, looked_at: datetime, lateness: timedelta) -> "Progress":
        """The progress once these were given; they come from one look at the window, in its order of time.

        `looked_at` is when that look began: what it passed over was as it then stood.
        """
        given = {mark.trace_id: mark for mark in marks}
        ends = [mark.at for mark in given.values()]
        if self.position is not None:
            ends.append(self.position)
        position = (min(ends) if window.newest_first else max(ends)) if ends else None
        seen = {**self.seen, **given}
        if position is not None and window.newest_first:
            seen = {key: mark for key, mark in seen.items() if mark.at <= position}
        elif position is not None:
            floor = self._floor(position, lateness, looked_at)
            seen = {key: mark for key, mark in seen.items() if mark.at >= floor}
        begin = window.start if self.begin is None else self.begin
        return Progress(begin=begin, position=position, looked_at=looked_at, seen=seen)

    def _floor(self, position: datetime, lateness: timedelta, looked_at: datetime | None = None) -> datetime:
        """The earliest end that can still bring news."""
        looked_at = looked_at if looked_at is not None else self.looked_at
        return position if looked_at is None else min(position, looked_at - lateness)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _number(moment: datetime | None) -> int | None:
    return None if moment is None else _micros(moment)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
