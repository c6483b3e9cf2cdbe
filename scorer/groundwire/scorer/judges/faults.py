"""What went wrong with one attempt at a call, read from the SDK's exceptions: may it be tried again, was it billed.

An attempt that never reached the endpoint (refused, no such host, TLS) and one that it turned down before any work
(every 4xx but 408; 501, 503, 529) cost nothing: what was held for them is released. An attempt that timed out, was cut
off, or ended in another server error (500, 502, 504, …: a gateway may have given up on a model that went on) is settled
at its worst case.
"""

import json
import math
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

__all__ = ["Fault", "FaultKind", "Rejection", "fault_of", "fault_of_status", "retry_after"]

FaultKind = Literal[
    "rejected",
    "overflow",
    "refused",
    "key",
    "model",
    "quota",
    "busy",
    "broken",
    "timeout",
    "unreachable",
    "tls",
    "alien",
]
"""`alien`: what answered is no such endpoint (HTML, an unknown path)."""

_UNBILLED = frozenset({503, 529})
_RETRIED = frozenset({408, 409, 425, 429})
_OVERFLOW = (
    "context_length_exceeded",
    "context length",
    "context window",
    "maximum context",
    "exceed_context_size",
    "context size",
    "prompt is too long",
    "too many tokens",
    "input is too long",
    "max_model_len",
    "reduce the length",
    "token limit",
)
_QUOTA = ("insufficient_quota", "billing_hard_limit", "credit balance", "insufficient balance", "insufficient credits")
_REFUSED = ("content_filter", "content management policy", "moderation", "flagged", "safety policy", "content_policy")
_MODEL = ("model_not_found", "deploymentnotfound", "unknown model", "invalid model", "no such model", "model not found")


@dataclass(frozen=True)
class Rejection:
    """What an endpoint said about a request that it turned down; it may echo trace text and is never shown."""

    code: str = ""
    parameter: str = ""
    message: str = ""

    @property
    def words(self) -> str:
        """All of it, in lower case."""
        return f"{self.code} {self.parameter} {self.message}".lower()


class Fault(Exception):  # noqa: N818 - the word of this module
    """One attempt that gave no answer. Its text is a line without trace text."""

    def __init__(
        self,
        kind: FaultKind,
        *,
        status: int | None = None,
        billed: bool = False,
        retried: bool = False,
        after: float | None = None,
        rejection: Rejection | None = None,
    ) -> None:
        super().__init__(f"{kind}{f' ({status})' if status else ''}")
        self.kind = kind
        self.status = status
        self.billed = billed
        """Whether the attempt may have cost something."""
        self.retried = retried
        """Whether the same may succeed later."""
        self.after = after
        """Seconds that the endpoint asks to wait."""
        self.rejection = rejection or Rejection()


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after` (seconds or an HTTP date); None where neither is read."""
    for name, scale in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / scale
        except ValueError:
            try:
                moment = parsedate_to_datetime(value)
            except ValueError:
                continue
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            seconds = (moment - now).total_seconds()
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    return None


def fault_of(error: BaseException, now: datetime) -> Fault | None:
    """The fault behind an exception of the `openai` SDK or of `httpx2`; None for what is neither."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return fault_of_status(error.status_code, error.body, error.response.headers, now)
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, httpx2.TransportError | httpx2.InvalidURL):
        return _of_transport(cause)
    if isinstance(error, openai.APIResponseValidationError):
        return Fault("alien", status=error.status_code)
    return None


def fault_of_status(status: int, body: object, headers: Mapping[str, str], now: datetime) -> Fault:
    """The fault behind an answer that is no success."""
    rejection = _rejection(body)
    words = rejection.words
    after = retry_after(headers, now)
    if status == 402 or any(word in words for word in _QUOTA):
        return Fault("quota", status=status)
    if status in _RETRIED:
        kind: FaultKind = "busy" if status == 429 else "broken"
        return Fault(kind, status=status, billed=status == 408, retried=True, after=after, rejection=rejection)
    if status == 501:  # the endpoint can't do that with this model, or not in this form
        form = any(word in words for word in ("response_format", "schema", "tool"))
        return Fault("rejected" if form else "model", status=status, rejection=rejection)
    if status >= 500:
        billed = status not in _UNBILLED
        kind = "broken" if billed else "busy"
        return Fault(kind, status=status, billed=billed, retried=True, after=after, rejection=rejection)
    return Fault(_of_refusal(status, words), status=status, rejection=rejection)


def _of_refusal(status: int, words: str) -> FaultKind:
    if status == 401:
        return "key"
    if any(word in words for word in _REFUSED):
        return "refused"
    if status == 403:
        return "key"
    if any(word in words for word in _MODEL) or ("model" in words and ("not exist" in words or "not found" in words)):
        return "model"
    if status in (404, 405):
        return "alien"
    if status == 413 or any(word in words for word in _OVERFLOW):
        return "overflow"
    return "rejected"


def _of_transport(error: Exception) -> Fault:
    import httpx2

    if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return Fault("alien")
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError):
        return Fault("unreachable", retried=True)
    if isinstance(error, httpx2.ConnectError):
        tls = any(isinstance(cause, ssl.SSLError) for cause in _causes(error)) or "SSL" in str(error)
        return Fault("tls") if tls else Fault("unreachable", retried=True)
    if isinstance(error, httpx2.TimeoutException):
        return Fault("timeout", billed=True, retried=True)
    return Fault("broken", billed=True, retried=True)  # reset, or closed before the answer was whole


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _rejection(body: object) -> Rejection:
    """The words of an error body, whichever of the common shapes it has."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, list) and body:  # Gemini wraps its error in a list
        body = body[0]
    if not isinstance(body, Mapping):
        return Rejection(message=body[:4_000] if isinstance(body, str) else "")
    inner: Any = body.get("error", body)
    if not isinstance(inner, Mapping):
        return Rejection(message=str(inner)[:4_000])
    message = inner.get("message") or inner.get("detail") or inner.get("msg") or ""
    return Rejection(
        code=str(inner.get("code") or inner.get("type") or ""),
        parameter=str(inner.get("param") or ""),
        message=message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)[:4_000],
    )
