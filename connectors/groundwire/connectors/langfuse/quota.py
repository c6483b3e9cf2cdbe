"""Langfuse's rate limits: one bucket for each organization and kind of call, shared by everything that calls."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal

from groundwire.connectors.http import Answer, retry_after
from groundwire.connectors.langfuse.settings import Plan
from groundwire.scorer import RetryLater

__all__ = ["SHARED", "Bucket", "BucketName", "Quotas"]

BucketName = Literal["general", "legacy", "ingestion", "delete"]
"""`general`: v2 observations, v3 scores, writing scores, configurations. `legacy`: traces, observations v1, sessions.
`ingestion`: `/ingestion`. `delete`: deleting scores."""

_MINUTE = 60.0
_DAY = 86_400.0
_LIMITS: Mapping[BucketName, tuple[float, Mapping[Plan, int]]] = {
    "general": (_MINUTE, {"hobby": 30, "core": 100, "pro": 1000}),
    "legacy": (_MINUTE, {"hobby": 15, "core": 30, "pro": 100}),
    "ingestion": (_MINUTE, {"hobby": 1000, "core": 4000, "pro": 20_000}),
    "delete": (_DAY, {"hobby": 50, "core": 200, "pro": 1000}),
}
"""Calls in a window of so many seconds, by plan (Langfuse's documentation, 2026-11); `self-hosted` has none."""

_GUARD = 1.0
"""Seconds by which our window outlasts the server's, whose start we only know to within a request's way."""
_LONGEST_WAIT = 90.0
"""Seconds that a caller is made to wait in place: a whole window of a minute, but no day's."""


class Bucket:
    """The calls that are left in the window that is running.

    The server counts in fixed windows that begin with the first call in them, and refuses the last call of the limit;
    so does this, which makes every call of the limit usable. Not bound to an event loop.
    """

    def __init__(self, limit: int | None, per: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`limit` calls in `per` seconds; None where no limit is known."""
        self._limit = limit
        self._per = per
        self._clock = clock
        self._opened: float | None = None
        self._used = 0
        self._closed_until = 0.0

    @property
    def limit(self) -> int | None:
        """Calls a window, as configured or as the server last said."""
        return self._limit

    def take(self, *, patience: float = _LONGEST_WAIT) -> float:
        """Book one call; returns the seconds (≥ 0) to wait before it is made.

        Raises `RetryLater` with the wait where it is longer than `patience`; then nothing is booked.
        """
        now = self._clock()
        opened, used = self._opened, self._used
        if opened is None or now >= opened + self._per + _GUARD:
            opened, used = now, 0
        if self._limit is not None and used >= max(self._limit - 1, 1):
            opened, used = opened + self._per + _GUARD, 0
        wait = max(opened, self._closed_until) - now if self._limit is not None else self._closed_until - now
        if wait > patience:
            raise RetryLater("the Langfuse organization's rate limit is used up", after=wait)
        self._opened, self._used = opened, used + 1
        return max(wait, 0.0)

    def learn(self, answer: Answer) -> None:
        """Take over what an answer tells of the limit; after a 429 nobody calls until its Retry-After is over."""
        limit = _whole(answer.headers.get("x-ratelimit-limit"))
        if limit is not None and limit > 0:
            self._limit = limit
        remaining = _whole(answer.headers.get("x-ratelimit-remaining"))
        if remaining is not None and self._limit is not None:  # others of the organization call too
            self._used = max(self._used, self._limit - remaining)
        if answer.status == 429:
            wait = _wait_asked(answer)
            self._closed_until = max(self._closed_until, self._clock() + (self._per if wait is None else wait))
            self._opened, self._used = self._closed_until, 0


class Quotas:
    """The buckets of every organization that this process calls."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str, BucketName], Bucket] = {}

    def bucket(self, host: str, organization: str, name: BucketName, plan: Plan) -> Bucket:
        """The one bucket of that name; `plan` counts only where it is made."""
        key = (host, organization, name)
        if key not in self._buckets:
            per, limits = _LIMITS[name]
            self._buckets[key] = Bucket(limits.get(plan), per, clock=self._clock)
        return self._buckets[key]


SHARED = Quotas()
"""The process's own: the limit is the organization's, and several sources may belong to one."""


def _wait_asked(answer: Answer) -> float | None:
    asked = retry_after(answer.headers, now=datetime.now(UTC))
    if asked is None and isinstance(answer.body, Mapping):
        details = answer.body.get("details")
        seconds = details.get("retryAfterSeconds") if isinstance(details, Mapping) else None
        asked = float(seconds) if isinstance(seconds, (int, float)) and seconds >= 0 else None
    return asked


def _whole(value: str | None) -> int | None:
    try:
        return int(value) if value is not None else None
    except ValueError:
        return None
