"""LangSmith's rate limits: one bucket for each key and kind of call, shared by everything that calls."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Literal

from groundwire.connectors.http import Answer, retry_after
from groundwire.scorer import RetryLater

__all__ = ["SHARED", "Bucket", "BucketName", "Quotas"]

BucketName = Literal["query", "feedback", "other"]
"""`query`: run queries of both generations. `feedback`: writing feedback. `other`: everything else with a key."""

_PER = 10.0
"""Seconds of a window."""
_LIMITS: Mapping[BucketName, int] = {"query": 15, "feedback": 2000, "other": 1000}
"""Calls in ten seconds (LangSmith's documentation, 2026-11). That the newer queries count as the older is assumed."""
_GUARD = 0.5
"""Seconds by which our window outlasts the server's, because requests are counted when they arrive."""
_LONGEST_WAIT = 90.0
"""Seconds that a caller is made to wait in place."""


class Bucket:
    """At most so many calls in any stretch of ten seconds, however the server counts its windows.

    Not bound to an event loop.
    """

    def __init__(self, limit: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`limit` calls in 10 seconds, ≥ 1."""
        self._limit = limit
        self._clock = clock
        self._booked: deque[float] = deque(maxlen=limit)
        self._closed_until = 0.0

    def take(self, *, patience: float = _LONGEST_WAIT) -> float:
        """Book one call; returns the seconds (≥ 0) to wait before it is made.

        Raises `RetryLater` with the wait where it is longer than `patience`; then nothing is booked.
        """
        now = self._clock()
        at = max(now, self._closed_until)
        if len(self._booked) == self._limit:
            at = max(at, self._booked[0] + _PER + _GUARD)
        if at - now > patience:
            raise RetryLater("the LangSmith key's rate limit is used up", after=at - now)
        self._booked.append(at)
        return at - now

    def learn(self, answer: Answer) -> None:
        """After a 429 nobody calls until its Retry-After is over, or a window has passed."""
        if answer.status == 429:
            asked = retry_after(answer.headers, now=datetime.now(UTC))
            self._closed_until = max(self._closed_until, self._clock() + (_PER if asked is None else asked))


class Quotas:
    """The buckets of every key that this process calls with; a key is remembered by its digest alone."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str, BucketName], Bucket] = {}

    def bucket(self, host: str, key: str, name: BucketName, *, queries: int) -> Bucket:
        """The one bucket of that name; `queries` counts only where the bucket of queries is made."""
        place = (host, hashlib.sha256(key.encode()).hexdigest(), name)
        if place not in self._buckets:
            limit = queries if name == "query" else _LIMITS[name]
            self._buckets[place] = Bucket(limit, clock=self._clock)
        return self._buckets[place]


SHARED = Quotas()
"""The process's own: the limit is the key's, and several sources may share one."""
