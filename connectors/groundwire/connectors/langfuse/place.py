"""How far a Langfuse project has been read: the cursor that a page carries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import JsonValue

from groundwire.connectors.cursor import Progress
from groundwire.connectors.formats.spans import moment

__all__ = ["Place"]

_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Place:
    """A position, and what a next look needs beside it. Times are UTC."""

    progress: Progress = field(default_factory=Progress)
    """Of the traces with a root, by its end."""
    finished_at: datetime | None = None
    """When the last look that came to its end began: what ended before was seen, whether or not there was anything."""
    rootless_upto: datetime | None = None
    """Traces without a root have been given up to here, by their last moment."""
    open_since: datetime | None = None
    """When the first of the traces began that were there without an ended root, and were not given yet."""
    hourly: datetime | None = None
    """When the last 24 hours were last swept."""
    daily: datetime | None = None
    """When the last 7 days were last swept."""

    @classmethod
    def of(cls, cursor: Mapping[str, JsonValue] | None) -> "Place":
        """Read a cursor that `as_cursor` wrote; another make's starts from the beginning, which loses nothing."""
        state: Any = cursor
        if not isinstance(state, Mapping) or state.get("langfuse") != _VERSION:
            return cls()
        return cls(
            progress=Progress.of(state.get("progress")),
            finished_at=moment(state.get("finished_at")),
            rootless_upto=moment(state.get("rootless_upto")),
            open_since=moment(state.get("open_since")),
            hourly=moment(state.get("hourly")),
            daily=moment(state.get("daily")),
        )

    def as_cursor(self) -> dict[str, JsonValue]:
        """The JSON form."""
        return {
            "langfuse": _VERSION,
            "progress": self.progress.as_cursor(),
            "finished_at": _text(self.finished_at),
            "rootless_upto": _text(self.rootless_upto),
            "open_since": _text(self.open_since),
            "hourly": _text(self.hourly),
            "daily": _text(self.daily),
        }


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
