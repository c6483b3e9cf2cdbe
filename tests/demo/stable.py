"""Captured traces made the same on every run: ids by order of appearance, a fixed clock, nothing of the machine."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from opentelemetry.sdk.trace.id_generator import IdGenerator

__all__ = ["SeededIds", "dumped", "stable"]

EPOCH = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
"""When the first step of every demo trace begins."""
STEP = timedelta(milliseconds=180)
"""Between one point in time and the next of the same trace."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ISO = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}(?:Z|\+00:00)?")
"""With fractions of a second: the demo's own dates have none."""
_DOTTED = re.compile(r"\b20\d{6}T\d{12}Z")
_MACHINE = {"runtime", "serialized", "exception.stacktrace", "server.address", "server.port"}
"""Keys of what only says on which machine and with which build a trace was made."""


class SeededIds(IdGenerator):
    """Trace and span ids from a seed."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed)

    def generate_trace_id(self) -> int:
        """128 bits."""
        return self._random.getrandbits(128) or 1

    def generate_span_id(self) -> int:
        """64 bits."""
        return self._random.getrandbits(64) or 1


def stable(value: Any, seed: str) -> Any:
    """The captured value with UUIDs, times and traces of the machine replaced; equal ids and times stay equal."""
    value = _without_machine(value)
    moments = sorted({moment for text in _strings(value) for moment in _moments(text)})
    times = {moment: EPOCH + STEP * index for index, moment in enumerate(moments)}
    numbers = count()
    ids: dict[str, str] = {}

    def new_id(found: re.Match[str]) -> str:
        if found[0] not in ids:
            digest = hashlib.sha256(f"{seed}:{next(numbers)}".encode()).hexdigest()
            ids[found[0]] = f"{digest[:8]}-{digest[8:12]}-7{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
        return ids[found[0]]

    def replaced(text: str) -> str:
        text = _UUID.sub(new_id, text)
        text = _ISO.sub(lambda found: _iso(times[_from_iso(found[0])]), text)
        text = _DOTTED.sub(lambda found: times[_from_dotted(found[0])].strftime("%Y%m%dT%H%M%S%fZ"), text)
        return _nano(times[_from_nano(text)]) if _is_nano(text) else text

    return _mapped(value, replaced)


def _without_machine(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_machine(inner) for key, inner in value.items() if key not in _MACHINE}
    if isinstance(value, list):  # OTLP's attributes are lists of pairs
        kept = (item for item in value if not (isinstance(item, dict) and item.get("key") in _MACHINE))
        return [_without_machine(item) for item in kept]
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


def _moments(text: str) -> Iterator[datetime]:
    yield from (_from_iso(found) for found in _ISO.findall(text))
    yield from (_from_dotted(found) for found in _DOTTED.findall(text))
    if _is_nano(text):
        yield _from_nano(text)


def _is_nano(text: str) -> bool:
    return len(text) == 19 and text.isdecimal()


def _from_iso(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _from_dotted(text: str) -> datetime:
    return datetime.strptime(text, "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)


def _from_nano(text: str) -> datetime:
    return datetime.fromtimestamp(0, tz=UTC) + timedelta(microseconds=int(text) // 1_000)


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _nano(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1_000) * 1_000_000)


def dumped(value: Any, *, lines: bool = False) -> str:
    """As JSON with raw Unicode: one value, or a list's items one a line."""
    if lines:
        return "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in value)
    return f"{json.dumps(value, ensure_ascii=False, indent=1)}\n"
