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
            "position": None if self.position is None else _micros(self.position),
            "looked_at": None if self.looked_at is None else _micros(self.looked_at),
            "seen": {key: [_micros(mark.at), mark.version] for key, mark in self.seen.items()},
        }

    def stretch(self, window: Window, *, now: datetime, lateness: timedelta) -> tuple[datetime, datetime]:
        """What is to be looked at next, `[start, end)`; empty where start isn't before end."""
        end = window.end if window.end is not None else now
        if self.position is None:
            return window.start, end
        if window.newest_first:
            # one microsecond more than the position, so that its ties are looked at again
            return window.start, min(end, self.position + timedelta(microseconds=1))
        return max(window.start, self._floor(lateness)), end

    def knows(self, trace_id: str, version: str) -> bool:
        """Whether that trace was already given as it is now."""
        mark = self.seen.get(trace_id)
        return mark is not None and mark.version == version

    def after(
        self, marks: Iterable[Mark], *, looked_at: datetime, lateness: timedelta, newest_first: bool = False
    ) -> "Progress":
        """The progress once these were given; they come from one look, in its order of time.

        `looked_at` is when that look began: what was passed over then, with everything before it, was as it stood.
        """
        given = list(marks)
        position = self.position
        for mark in given:
            if position is None:
                position = mark.at
            else:
                position = min(position, mark.at) if newest_first else max(position, mark.at)
        moved = Progress(position=position, looked_at=looked_at, seen={**self.seen, **{m.trace_id: m for m in given}})
        if position is None:
            return moved
        if newest_first:
            kept = {key: mark for key, mark in moved.seen.items() if mark.at <= position}
        else:
            floor = moved._floor(lateness)
            kept = {key: mark for key, mark in moved.seen.items() if mark.at >= floor}
        return Progress(position=position, looked_at=looked_at, seen=kept)

    def _floor(self, lateness: timedelta) -> datetime:
        """The earliest end that can still bring news."""
        assert self.position is not None  # noqa: S101 - both callers have looked
        return self.position if self.looked_at is None else min(self.position, self.looked_at - lateness)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else _moment(micros)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
