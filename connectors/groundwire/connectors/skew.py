"""How far this machine's clock is from a server's: a platform asked for stretches of time needs them to agree."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from groundwire.connectors.base import Finding

__all__ = ["clock_finding"]

_TOLERATED = 5.0
"""Seconds; with a clock further off, windows begin too late or ask for what is not there yet."""


def clock_finding(date: str | None, *, now: datetime) -> Finding:
    """What `groundwire doctor` says of the clock; `date` is the Date header of an answer that came at `now` (UTC)."""
    try:
        theirs = parsedate_to_datetime(date or "")
    except ValueError:
        return Finding(what="clock", state="ok", message="the server tells no time to compare with")
    skew = (now - (theirs if theirs.tzinfo is not None else theirs.replace(tzinfo=UTC))).total_seconds()
    if abs(skew) <= _TOLERATED:
        return Finding(what="clock", state="ok", message="agrees with the server's")
    way = "ahead of" if skew > 0 else "behind"
    return Finding(
        what="clock",
        state="warning",
        message=f"this machine's clock is {abs(skew):.0f} s {way} the server's; set it by NTP, or raise `settle`",
    )
