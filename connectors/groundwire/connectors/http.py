"""Requests that are tried again: one retry layer for every platform, and what each HTTP status means to a caller."""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, Self

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from groundwire.scorer import GiveUp, GroundwireError, RetryLater, SkipThis

__all__ = ["Answer", "Caller", "Patience", "Responded", "as_error", "retry_after", "said"]

logger = logging.getLogger(__name__)

_LONGEST_WAIT = 86_400.0
"""Seconds; a longer Retry-After is taken for a mistake and cut to this."""
_SAID_CHARACTERS = 200
"""What is kept of a server's own words."""


class Responded(Protocol):
    """What the responses of `httpx` and `httpx2` have in common."""

    @property
    def status_code(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, by name in any case."""
        ...

    @property
    def content(self) -> bytes:
        """The body, decompressed."""
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer:
    """A server's answer, whatever library or SDK brought it. Its repr shows the status alone."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name."""
    body: Any
    """The decoded JSON; text where it is no JSON; None where it is empty."""
    size: int = 0
    """Bytes of the body, decompressed."""

    @classmethod
    def of(cls, response: Responded) -> Self:
        """Read a response of `httpx` or `httpx2`."""
        return cls(
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            body=_decoded(response.content),
            size=len(response.content),
        )

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def __repr__(self) -> str:
        return f"Answer(status={self.status})"


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a call is tried again before its caller is told to come back later."""

    attempts: int = 6
    """Tries in all, ≥ 1."""
    first: float = 0.5
    """Seconds: the most that is waited after the first failure; it doubles with each."""
    longest: float = 20.0
    """Seconds: the most that is waited at once without the server's own word for it."""
    deadline: float = 180.0
    """Seconds after which no further try is begun."""


class _Unanswered(Exception):  # noqa: N818 - never leaves this module
    """A try that may be repeated; `cause` says what is raised if it isn't."""

    def __init__(self, cause: RetryLater) -> None:
        super().__init__()
        self.cause = cause


class Caller:
    """Sends a request until it is answered for good.

    A status of 408, 409, 425, 429 or 5xx and a failure to connect or to be answered are tried again, after the
    server's Retry-After (seconds or a date) or else a random wait up to a bound that doubles ("full jitter"). What
    is logged is the platform, the call's name, the status and the wait: no address, no body, no header.
    """

    def __init__(
        self,
        *,
        platform: str,
        transport_errors: tuple[type[Exception], ...],
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`transport_errors` are the HTTP library's own (`httpx.TransportError`, `httpx2.TransportError`)."""
        self._platform = platform
        self._transport_errors = transport_errors
        self._patience = patience or Patience()
        self._sleep = sleep
        self._clock = clock
        self._now = now

    async def call(
        self, send: Callable[[], Awaitable[Answer]], *, what: str, accept: frozenset[int] = frozenset()
    ) -> Answer:
        """The answer to `send`, which is made anew for each try: one with a 2xx status, or one of `accept`.

        Any other becomes the error that `as_error` names; `RetryLater` only after the tries are used up, or at once
        where the server asks for a wait beyond the deadline. What `send` itself raises of ours goes through untouched.
        """
        began = self._clock()

        def wait(state: RetryCallState) -> float:
            asked = _cause(state).after
            if asked:
                return asked
            bound = min(self._patience.longest, self._patience.first * 2 ** (state.attempt_number - 1))
            return random.uniform(0.0, bound)

        def stop(state: RetryCallState) -> bool:
            return self._clock() - began + state.upcoming_sleep > self._patience.deadline

        def note(state: RetryCallState) -> None:
            cause = _cause(state)
            logger.warning(
                "%s",
                cause,
                extra={"action": "http_retry", "attempt": state.attempt_number, "wait": round(state.upcoming_sleep, 3)},
            )

        async def once() -> Answer:
            return await self._once(send, what, accept)

        retrying = AsyncRetrying(
            sleep=self._sleep,
            retry=retry_if_exception_type(_Unanswered),
            wait=wait,
            stop=lambda state: stop_after_attempt(self._patience.attempts)(state) or stop(state),
            before_sleep=note,
            reraise=True,
        )
        try:
            return await retrying(once)
        except _Unanswered as unanswered:
            raise unanswered.cause from None

    async def _once(self, send: Callable[[], Awaitable[Answer]], what: str, accept: frozenset[int]) -> Answer:
        try:
            answer = await send()
        except self._transport_errors as error:
            raise _Unanswered(
                RetryLater(f"{self._platform} gave no answer to {what} ({type(error).__name__})")
            ) from None
        if answer.ok or answer.status in accept:
            return answer
        fault = as_error(answer, platform=self._platform, what=what, now=self._now())
        if isinstance(fault, RetryLater):
            raise _Unanswered(fault)
        raise fault


def _cause(state: RetryCallState) -> RetryLater:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.cause if isinstance(error, _Unanswered) else RetryLater("unanswered")


def as_error(answer: Answer, *, platform: str, what: str, now: datetime) -> GroundwireError:
    """What an answer that isn't a success means to the caller.

    401 and 403: `GiveUp`. 408, 409, 425, 429 and 5xx: `RetryLater` with the server's own wait. Redirects and
    everything else: `SkipThis`; the request as it is will never be answered otherwise.
    """
    heard = said(answer.body)
    told = f": {heard}" if heard else ""
    match answer.status:
        case 401 | 403:
            return GiveUp(f"{platform} refuses {what} (HTTP {answer.status}{told}); check the key and its project")
        case 408 | 409 | 425 | 429:
            return RetryLater(
                f"{platform} asks to wait with {what} (HTTP {answer.status})",
                after=retry_after(answer.headers, now=now) or 0.0,
            )
        case status if status >= 500:
            return RetryLater(
                f"{platform} failed at {what} (HTTP {status}{told})", after=retry_after(answer.headers, now=now) or 0.0
            )
        case status:
            return SkipThis(f"{platform} answers {what} with HTTP {status}{told}")


def retry_after(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for, in [0, 86400], whether it is a number or a date.

    None where there is none or it is neither. `headers` are by lower-case name.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    if seconds != seconds:  # NaN
        return None
    return min(max(seconds, 0.0), _LONGEST_WAIT)


def said(body: Any) -> str:
    """A server's own words for a refusal: its message, and the first fields it complains of, in one short line.

    A body that is no JSON object says nothing here, because such pages repeat what they were sent.
    """
    if not isinstance(body, Mapping):
        return ""
    parts = [body.get("message"), body.get("detail")]
    if not any(isinstance(part, str) for part in parts):
        parts.append(body.get("error"))
    for faults in (body.get("error", body.get("errors")), body.get("detail")):
        for fault in faults[:3] if isinstance(faults, list) else ():
            if isinstance(fault, Mapping):
                path = fault.get("path") or fault.get("loc")
                where = ".".join(str(step) for step in path) if isinstance(path, list) else ""
                parts.append(f"{where}: {fault.get('message') or fault.get('msg') or ''}".strip(": "))
            elif isinstance(fault, str):
                parts.append(fault)
    line = " · ".join(" ".join(part.split()) for part in parts if isinstance(part, str) and part.strip())
    return line if len(line) <= _SAID_CHARACTERS else line[: _SAID_CHARACTERS - 1] + "…"


def _decoded(content: bytes) -> Any:
    if not content:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
