"""What a look at a platform came to: a trace as it was seen, or the error for one that can't be found."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from groundwire.connectors.base import Origin
from groundwire.connectors.cursor import Mark
from groundwire.connectors.trace import Trace
from groundwire.scorer import RetryLater, SkipThis

__all__ = ["Given", "not_found"]

_GONE_AFTER = timedelta(minutes=30)
"""A trace that can't be found so long after its end is gone; platforms show what they took at most 15 minutes late."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """One trace that was looked at."""

    trace_id: str
    at: datetime
    """Where it stands in time: its root's end, or what the platform has in its stead while there is none."""
    mark: Mark | None
    """None for a trace whose root hasn't ended or isn't there, which has a position of its own."""
    trace: Trace | None
    """None where nobody wants it, or where it was given before as it is."""
    problems: tuple[str, ...] = ()


def not_found(origin: Origin, *, platform: str, now: datetime) -> RetryLater | SkipThis:
    """The error for a trace that the platform doesn't show: it may not have come yet, or it is gone."""
    ended = origin.end_time or origin.start_time
    if ended is not None and now - ended > _GONE_AFTER:
        return SkipThis(f"trace {origin.trace_id} is gone from {platform}")
    return RetryLater(f"trace {origin.trace_id} can't be found yet", after=15)
