"""What a database error means: try again later, give up, or change a setting; never with a value in the message."""

import sqlite3

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from groundwire.scorer import GiveUp, GroundwireError, RetryLater

__all__ = ["StateMovedError", "explain"]

BUSY_AFTER = 1.0
"""Seconds before another try where somebody else held the database."""
GONE_AFTER = 15.0
"""Seconds before another try where the database is unreachable or its disk is full."""


class StateMovedError(Exception):
    """The SQLite file was moved, deleted or replaced under an open connection."""


def explain(error: Exception, where: str) -> GroundwireError | None:
    """The error to raise in place of a database's own; None for one that is a defect and must be seen as it is.

    `where` is the state's address without its password.
    """
    match error:
        case StateMovedError():
            return RetryLater(f"the state file {where} was moved or deleted: put it back", after=GONE_AFTER)
        case PoolTimeoutError():
            return RetryLater(f"the state database {where} is busy: every connection is in use", after=BUSY_AFTER)
        case DBAPIError(orig=sqlite3.Error() as origin):
            return _explain_sqlite(origin, where)
        case DBAPIError():
            return _explain_postgresql(error, where)
        case _:
            return None


def _explain_sqlite(error: sqlite3.Error, where: str) -> GroundwireError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary result code
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return RetryLater(f"the state file {where} is locked by another process", after=BUSY_AFTER)
        case sqlite3.SQLITE_FULL:
            return RetryLater(f"no space left for the state file {where}: free some disk space", after=GONE_AFTER)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return RetryLater(
                f"the state file {where} can't be read or written: check that its folder is there and writable",
                after=GONE_AFTER,
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return GiveUp(f"the state file {where} is damaged: restore it from a copy, or start with a new one")
        case _ if "no such table" in str(error):
            return GiveUp(f"the state file {where} lost its tables while it was in use: restart groundwire")
        case _:
            return None


_STATES: dict[str, tuple[type[GroundwireError], str]] = {
    "40001": (RetryLater, "had a conflict between two processes"),
    "40P01": (RetryLater, "had a conflict between two processes"),
    "42P01": (GiveUp, "lost its tables while it was in use: restart groundwire"),
    "42501": (GiveUp, "refuses a right that groundwire needs: grant its user the rights on its tables"),
    "25006": (RetryLater, "is read-only for now"),
    "55P03": (RetryLater, "is locked by another process"),
    "57014": (RetryLater, "took too long"),
}
_CLASSES: dict[str, tuple[type[GroundwireError], str]] = {
    "53": (RetryLater, "is out of disk space, memory or connections"),
    "57": (RetryLater, "was stopped"),
    "58": (RetryLater, "has trouble with its disk"),
}


def _explain_postgresql(error: DBAPIError, where: str) -> GroundwireError | None:
    state = getattr(error.orig, "sqlstate", None) or ""
    kind, words = _STATES.get(state) or _CLASSES.get(state[:2]) or (None, "")
    if kind is None:
        if not (error.connection_invalidated or type(error.orig).__name__ == "OperationalError"):
            return None
        kind, words = RetryLater, "can't be reached: check that it runs, and the user, password and name in state.url"
    message = f"the state database {where} {words}"
    if kind is RetryLater:
        return RetryLater(message, after=BUSY_AFTER if state[:2] in {"40", "55"} else GONE_AFTER)
    return kind(message)
