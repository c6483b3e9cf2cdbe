"""What a connector is: where traces come from (Source), where scores go (Sink), what calls us (Hook)."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from pydantic import JsonValue

from groundwire.connectors.score import Delivery, Score
from groundwire.connectors.trace import Trace

__all__ = [
    "Annotation",
    "Annotations",
    "Finding",
    "Hook",
    "Origin",
    "Page",
    "Sessions",
    "Sink",
    "Source",
    "Wanted",
    "Window",
]


@dataclass(frozen=True, kw_only=True)
class Window:
    """A stretch of time `[start, end)` by the end of a trace's root, UTC; an open end is now, less the settle time."""

    start: datetime
    end: datetime | None = None
    newest_first: bool = False


@dataclass(frozen=True, kw_only=True)
class Origin:
    """How a trace is found again. Everything in it survives JSON."""

    trace_id: str
    start_time: datetime | None = None
    end_time: datetime | None = None
    hints: Mapping[str, JsonValue] = field(default_factory=dict)
    """What a platform needs beside the id (a project, a file and its offset)."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some traces, whole, and the cursor after them."""

    traces: tuple[Trace, ...]
    cursor: Mapping[str, JsonValue]
    """Opaque to everyone but the source; JSON. A pull that starts from it loses nothing and may repeat a little."""
    reached: datetime | None = None
    """Everything that ended before this moment (UTC) has been given; None where the source can't say."""
    problems: tuple[str, ...] = ()
    """One line for each thing that couldn't be read."""
    seen: int = 0
    """How many traces were looked at, wanted or not."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of `groundwire doctor`."""

    what: str
    state: Literal["ok", "warning", "failed"]
    message: str
    """What was found and, where it isn't ok, what to do."""


Wanted = Callable[[Trace], bool]
"""Asked with a trace's head (everything but span bodies): False spares the source the reading of its body."""


class Source(Protocol):
    """Where traces come from.

    Raises `RetryLater` (a rate limit, an outage; with its delay), `GiveUp` (a wrong key, a project that is gone).
    """

    def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """Pages of the window after the cursor. Late and changed traces come again; nothing is left out."""
        ...

    async def fetch(self, origin: Origin) -> Trace:
        """One trace as it stands now. Raises `RetryLater` where it can't be found yet, `SkipThis` where it is gone."""
        ...

    async def check(self) -> Sequence[Finding]:
        """Whether the source can be read: host, key, rights, version, clock. Raises nothing."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class Sessions(Protocol):
    """What a source is besides, whose platform can tell the traces of a session or thread."""

    async def fetch_session(self, session_id: str) -> Sequence[Trace]:
        """The traces of a session as they stand now, in time order; none where there is no such session.

        Raises as `Source.fetch` does.
        """
        ...


class Sink(Protocol):
    """Where scores go."""

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """Write the scores; one `Delivery` each, in order. Pushing the same again leaves one score.

        Raises `RetryLater` or `GiveUp` where none could be tried.
        """
        ...

    async def check(self) -> Sequence[Finding]:
        """Whether scores can be written. Raises nothing."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What a person said of a trace, a span or a session, as it stands on the platform."""

    trace_id: str = ""
    span_id: str | None = None
    """The span it stands on; of a whole trace, its root where the platform puts it there."""
    session_id: str | None = None
    value: float | str | bool
    """A number, a category, or yes and no."""
    comment: str = ""
    author: str = ""


class Annotations(Protocol):
    """What people said on the platform."""

    def annotations(self, name: str, *, since: datetime, among: Sequence[str]) -> AsyncIterator[Annotation]:
        """Those of that name made since then, the newest of each target first; a judge's own scores are none.

        `among` are ids of the traces and spans that matter: a platform that can't search by name looks there only.
        Raises as `Source`.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Hook(Protocol):
    """What a platform calls when it has traces for us."""

    def receive(self, headers: Mapping[str, str], body: bytes) -> Sequence[Origin]:
        """The traces that a delivery speaks of. Raises `SkipThis` for a body that can't be read."""
        ...
