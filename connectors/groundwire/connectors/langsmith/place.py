"""How far a LangSmith project has been read: the cursor that a page carries."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import JsonValue

from groundwire.connectors.cursor import Progress
from groundwire.connectors.formats.spans import moment

__all__ = ["BUCKET", "Place", "Sums", "bucket_of"]

_VERSION = 1
BUCKET = timedelta(minutes=10)
"""The stretch of ends that one sum stands for."""
_MODULUS = 2**64


def bucket_of(at: datetime) -> int:
    """The number of the stretch that a moment falls into."""
    return int(at.timestamp() // BUCKET.total_seconds())


@dataclass(frozen=True, kw_only=True)
class Sums:
    """For every ten minutes of ends, one number that says which traces were given in which state.

    LangSmith doesn't say when a run was written. A sweep computes the numbers anew from what is there: where one
    differs, something came late or changed, and what ended in those ten minutes is given again.
    """

    by_bucket: Mapping[int, int] = field(default_factory=dict)

    def given(self, trace_id: str, at: datetime, version: str, *, before: str | None = None) -> "Sums":
        """The sums once a trace was given; `before` is the version in which it was given earlier."""
        bucket = bucket_of(at)
        total = self.by_bucket.get(bucket, 0) + _number(trace_id, version)
        if before is not None:
            total -= _number(trace_id, before)
        return Sums(by_bucket={**self.by_bucket, bucket: total % _MODULUS})

    def replaced(self, bucket: int, total: int) -> "Sums":
        """The sums with another number for one stretch."""
        return Sums(by_bucket={**self.by_bucket, bucket: total})

    def since(self, at: datetime) -> "Sums":
        """Without what lies before a moment."""
        floor = bucket_of(at)
        return Sums(by_bucket={bucket: total for bucket, total in self.by_bucket.items() if bucket >= floor})

    @staticmethod
    def of(versions: Mapping[str, str]) -> int:
        """The number that these traces make, each in its version."""
        return sum(_number(trace_id, version) for trace_id, version in versions.items()) % _MODULUS


def _number(trace_id: str, version: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{trace_id}\0{version}".encode()).digest()[:8], "big")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A position, and what a next look needs beside it. Times are UTC."""

    progress: Progress = field(default_factory=Progress)
    """Of the traces whose root has ended, by its end."""
    pending_upto: datetime | None = None
    """Traces whose root is pending have been given up to here, by its start."""
    open_since: datetime | None = None
    """When the first root began that was pending at the last look."""
    hourly: datetime | None = None
    """When the last hours were last swept."""
    daily: datetime | None = None
    """When the last day was last swept."""
    sums: Sums = field(default_factory=Sums)

    @classmethod
    def of(cls, cursor: Mapping[str, JsonValue] | None) -> "Place":
        """Read a cursor that `as_cursor` wrote; another make's starts from the beginning, which loses nothing."""
        state: Any = cursor
        if not isinstance(state, Mapping) or state.get("langsmith") != _VERSION:
            return cls()
        try:
            sums = {int(bucket): int(total, 16) for bucket, total in dict(state.get("sums") or {}).items()}
        except (TypeError, ValueError):
            sums = {}
        return cls(
            progress=Progress.of(state.get("progress")),
            pending_upto=moment(state.get("pending_upto")),
            open_since=moment(state.get("open_since")),
            hourly=moment(state.get("hourly")),
            daily=moment(state.get("daily")),
            sums=Sums(by_bucket=sums),
        )

    def as_cursor(self) -> dict[str, JsonValue]:
        """The JSON form."""
        return {
            "langsmith": _VERSION,
            "progress": self.progress.as_cursor(),
            "pending_upto": _text(self.pending_upto),
            "open_since": _text(self.open_since),
            "hourly": _text(self.hourly),
            "daily": _text(self.daily),
            "sums": {str(bucket): f"{total:x}" for bucket, total in self.sums.by_bucket.items()},
        }


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()
