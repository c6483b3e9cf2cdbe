"""What the fake platform can be told to do wrong, and the shapes of its answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from groundwire.connectors.trace import Trace

__all__ = ["Faults", "Listed", "Overwriting", "Refused", "StoredScore"]


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong, until it is set otherwise. Everything is off by default."""

    lag: float = 0.0
    """Seconds from a put until it can be read, ≥ 0."""
    latency: float = 0.0
    """Seconds every call takes, ≥ 0."""
    page_limit: int = 1000
    """Most rows of a listing and most traces of a read, whatever is asked for; ≥ 1."""
    shuffle: bool = False
    """The rows of a listing and the spans of a trace come in no order."""
    repeat_every: int = 0
    """Every nth row of a listing comes twice; 0 is never."""
    limit_every: int = 0
    """Every nth call is answered with 429; 0 is never."""
    retry_after: float = 1.0
    """Seconds that those ask to wait."""
    down_from: datetime | None = None
    """Every call in `[down_from, down_until)` is answered with 503; an open end is for ever."""
    down_until: datetime | None = None
    refuse_every: int = 0
    """About every nth score, chosen by its id, is refused for good; 0 is never."""
    busy_every: int = 0
    """Every nth score that is sent is put off; sent again it is another's turn; 0 is never, else ≥ 2."""


@dataclass(frozen=True, kw_only=True)
class Overwriting:
    """When a score replaces another."""

    key: Literal["id", "id_name_date"] = "id_name_date"
    """Langfuse needs the id, the name and the UTC date of its timestamp to agree; others the id alone."""
    merge: bool = False
    """An empty comment or metadata keeps the older one's, and target, environment and timestamp never change."""


@dataclass(frozen=True, kw_only=True)
class StoredScore:
    """A score as the platform shows it."""

    score_id: str
    name: str
    value: float | str
    timestamp: datetime
    trace_id: str
    span_id: str | None = None
    session_id: str | None = None
    environment: str | None = None
    comment: str = ""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    writes: int = 1
    """How often it was written."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A row of a listing."""

    trace_id: str
    ended_at: datetime
    version: int
    """Rises with every change."""
    head: str | Trace
    """The trace without its spans' bodies; JSON where it comes from a file."""


class Refused(Exception):  # noqa: N818 - what the platform answered, not what to do
    """The platform's answer to a call, other than success."""

    def __init__(self, status: int, *, after: float = 0.0) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.after = after
        """Seconds of its Retry-After header; 0 where there is none."""
