"""How far a Phoenix project has been read: the cursor that a page carries."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import JsonValue

from groundwire.connectors.cursor import Progress
from groundwire.connectors.formats.spans import moment
from groundwire.connectors.phoenix.spans import Stored

__all__ = ["Anchor", "Place"]

_VERSION = 1
_IN_FLIGHT = 10_000
"""Spans before the newest that may still be on their way into the server's tables; no transaction is as large."""


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One stored span: its number and global id, and the digest by which it is known again."""

    number: int
    key: str
    digest: str


@dataclass(frozen=True, kw_only=True)
class Place:
    """A position in the order in which spans were stored, and what is remembered beside it. Times are UTC.

    Spans up to `floor` are done with. Above it, where a span may still turn up between others, those that are done
    with stand in `seen`.
    """

    begin: datetime | None = None
    """Start of the first window: nothing that ended before it is ever given."""
    since: datetime | None = None
    """Where there is no floor yet: spans that started before aren't asked for."""
    floor: Anchor | None = None
    seen: Mapping[int, str] = field(default_factory=dict)
    """By number: the digests of the spans above the floor that are done with."""
    newest: tuple[tuple[datetime, int], ...] = ()
    """When a look began, and the number of the newest span then; the oldest first."""
    waiting: Mapping[str, datetime] = field(default_factory=dict)
    """By trace id: when a trace that hasn't settled, or has no root, is looked at again."""
    progress: Progress = field(default_factory=Progress)
    """In stretches of history, and on servers that don't tell the order of storing: by the ends of roots."""

    @classmethod
    def of(cls, cursor: Mapping[str, JsonValue] | None) -> "Place":
        """Read a cursor that `as_cursor` wrote; another make's starts from the beginning, which loses nothing."""
        state: Any = cursor
        if not isinstance(state, Mapping) or state.get("phoenix") != _VERSION:
            return cls()
        try:
            floor = state.get("floor")
            return cls(
                begin=moment(state.get("begin")),
                since=moment(state.get("since")),
                floor=None if floor is None else Anchor(number=int(floor[0]), key=str(floor[1]), digest=str(floor[2])),
                seen={int(number): str(digest) for number, digest in dict(state.get("seen") or {}).items()},
                newest=tuple(
                    (at, int(number)) for text, number in state.get("newest") or () if (at := moment(text)) is not None
                ),
                waiting={
                    str(key): at for key, text in dict(state.get("waiting") or {}).items() if (at := moment(text))
                },
                progress=Progress.of(state.get("progress")),
            )
        except (TypeError, ValueError, IndexError):
            return cls()

    def as_cursor(self) -> dict[str, JsonValue]:
        """The JSON form."""
        return {
            "phoenix": _VERSION,
            "begin": _text(self.begin),
            "since": _text(self.since),
            "floor": None if self.floor is None else [self.floor.number, self.floor.key, self.floor.digest],
            "seen": {str(number): digest for number, digest in self.seen.items()},
            "newest": [[at.isoformat(), number] for at, number in self.newest],
            "waiting": {key: at.isoformat() for key, at in self.waiting.items()},
            "progress": self.progress.as_cursor(),
        }

    def looking(self, newest: int, *, now: datetime, overlap: timedelta) -> "Place":
        """The place as a look begins; `newest` is the number of the span that was stored last, 0 without one.

        Of the looks before, those that tell what was stored `overlap` ago are remembered.
        """
        marks = (*self.newest, (now, newest))
        old = [mark for mark in marks if mark[0] <= now - overlap]
        return replace(self, newest=(*old[-1:], *(mark for mark in marks if mark[0] > now - overlap)))

    def final(self, *, now: datetime, overlap: timedelta) -> int:
        """The number up to which no span can turn up any more."""
        old = [number for at, number in self.newest if at <= now - overlap]
        newest = self.newest[-1][1] if self.newest else 0
        return max([newest - _IN_FLIGHT, *old])

    def is_done(self, span: Stored) -> bool:
        """Whether a span above the floor, or at it, was dealt with as it is."""
        if self.floor is not None and span.number == self.floor.number:
            return span.digest == self.floor.digest
        return self.seen.get(span.number) == span.digest

    def done(self, spans: Iterable[Stored]) -> "Place":
        """The place once these spans are dealt with."""
        return replace(self, seen={**self.seen, **{span.number: span.digest for span in spans}})

    def awaiting(self, trace_id: str, until: datetime | None) -> "Place":
        """The place where a trace is looked at again then; None where it isn't waited for."""
        waiting = {key: at for key, at in self.waiting.items() if key != trace_id}
        return replace(self, waiting=waiting if until is None else {**waiting, trace_id: until})

    def raised(self, span: Stored) -> "Place":
        """The place once everything up to a span is dealt with."""
        floor = Anchor(number=span.number, key=span.key, digest=span.digest)
        seen = {number: digest for number, digest in self.seen.items() if number > floor.number}
        return replace(self, floor=floor, seen=seen)

    def restarted(self, since: datetime) -> "Place":
        """The place where the order is lost: everything that started since is looked at again."""
        return replace(self, floor=None, seen={}, newest=(), since=since)


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
