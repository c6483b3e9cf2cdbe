"""One score as Langfuse takes it: always the full payload, because the server merges what is sent under one id."""

import hashlib
import json
import math
import re
from datetime import datetime
from typing import Any

from groundwire.connectors.langfuse.settings import Attach
from groundwire.connectors.langfuse.wire import iso
from groundwire.connectors.score import Score

__all__ = ["NAME_IN_CONFIGS", "Unsendable", "event_id", "payload_of", "size_of", "stored_environment"]

NAME_IN_CONFIGS = re.compile(r"[A-Za-z0-9_.()\- ]{1,35}")
"""The names that a score configuration can have."""

_ENVIRONMENT = re.compile(r"[a-z0-9\-_]{1,40}")
_LONGEST_ID = 800
_LARGEST = 900_000
"""Bytes of one request; the server takes 1 MiB."""


class Unsendable(ValueError):  # noqa: N818 - it names the score's fault
    """A score that the server would refuse or, worse, store as something else; the message says why."""


def payload_of(score: Score, *, attach: Attach, config_id: str | None = None) -> dict[str, Any]:
    """The JSON object that writes the score. Raises `Unsendable`; `score.value` is not None."""
    target = score.target
    sent: dict[str, Any] = {"id": _checked_id(score.score_id), "name": score.name}
    if not score.name:
        raise Unsendable("a score needs a name")
    if isinstance(score.value, str):
        sent |= {"value": score.value, "dataType": "CATEGORICAL"}
        if not score.value:
            raise Unsendable("a category needs a text")
    else:
        if score.value is None or not math.isfinite(score.value):
            raise Unsendable("a score is a finite number")
        sent |= {"value": float(score.value), "dataType": "NUMERIC"}
    observation_id = target.span_id
    if target.session_id is not None and observation_id is None:
        sent["sessionId"] = target.session_id
    else:
        sent["traceId"] = target.trace_id
        if observation_id is None and attach == "observation":
            observation_id = target.root_span_id
        if observation_id is not None:
            sent["observationId"] = observation_id
    sent["timestamp"] = iso(target.start_time)
    metadata = dict(score.metadata)
    environment = target.environment or "default"
    sent["environment"] = stored_environment(environment)
    if sent["environment"] != environment:
        metadata["environment"] = environment  # where the score belongs; the server knows no such name
    # an empty comment could leave an older one standing
    sent["comment"] = _clean(score.comment) or "groundwire"
    sent["metadata"] = json.loads(_clean(json.dumps(metadata, ensure_ascii=False, default=str)))
    if config_id is not None:
        sent["configId"] = config_id
    if size_of(sent) > _LARGEST:
        raise Unsendable("the score with its comment and metadata is too large for Langfuse (900 kB)")
    return sent


def event_id(score_id: str, now: datetime) -> str:
    """An id for an ingestion event, in a UUID's form, unique and rising with time.

    All events of a score have the same timestamp, the target's: whatever else the server orders them by, the last one
    sent comes last.
    """
    millis = f"{int(now.timestamp() * 1000):012x}"
    drawn = hashlib.sha256(f"{now.isoformat()}\0{score_id}".encode()).hexdigest()
    return f"{millis[:8]}-{millis[8:]}-7{drawn[:3]}-8{drawn[3:6]}-{drawn[6:18]}"


def size_of(payload: dict[str, Any]) -> int:
    """Bytes of a payload as JSON, at most a little more than is sent."""
    return len(json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace"))


def stored_environment(environment: str) -> str:
    """What the server makes of an environment: lower case, without a leading `langfuse`, else `default`."""
    lowered = environment.lower()
    if lowered.startswith("langfuse"):
        lowered = lowered.removeprefix("langfuse").lstrip("-_")
    return lowered if _ENVIRONMENT.fullmatch(lowered) else "default"


def _checked_id(score_id: str) -> str:
    if not score_id or len(score_id) > _LONGEST_ID or "\r" in score_id or "\n" in score_id:
        raise Unsendable("a score's id has 1 to 800 characters and no line break")
    return score_id


def _clean(text: str) -> str:
    """The text without lone surrogates, which no encoder takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
