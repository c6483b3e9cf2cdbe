"""LangSmith's filter language as the loopback LangSmith knows it: what the connector and its users write."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

TOKEN = re.compile(r'\s*(?:([a-z_]+)|("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?)|([(),\[\]]))')
FIELDS = {
    "id", "name", "run_type", "status", "start_time", "end_time", "error", "tags", "is_root", "thread_id",
    "metadata_key", "metadata_value", "total_tokens", "latency",
}  # fmt: skip
Row = Mapping[str, Any]


class BadFilterError(ValueError):
    """A filter that the language doesn't have."""


def matches(text: str, row: Row) -> bool:
    """Whether a run passes a filter."""
    return bool(_Reader(text).whole()(row))


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[Any] = []
        at = 0
        while at < len(text.rstrip()):
            found = TOKEN.match(text, at)
            if found is None:
                raise BadFilterError(f"unexpected text at {at}")
            word, quoted, number, mark = found.groups()
            self._tokens.append(
                ("word", word)
                if word
                else ("value", json.loads(quoted))
                if quoted
                else ("value", float(number))
                if number
                else ("mark", mark)
            )
            at = found.end()
        self._at = 0

    def whole(self) -> Callable[[Row], bool]:
        condition = self._condition()
        if self._at != len(self._tokens):
            raise BadFilterError("text after the filter")
        return condition

    def _take(self, kind: str, *allowed: str) -> Any:
        if self._at >= len(self._tokens):
            raise BadFilterError("the filter ends too early")
        found, value = self._tokens[self._at]
        if found != kind or (allowed and value not in allowed):
            raise BadFilterError(f"{value} is unexpected")
        self._at += 1
        return value

    def _more(self) -> bool:
        if self._tokens[self._at] == ("mark", ","):
            self._at += 1
            return True
        return False

    def _condition(self) -> Callable[[Row], bool]:
        word = self._take("word")
        self._take("mark", "(")
        if word in ("and", "or"):
            parts = [self._condition()]
            while self._more():
                parts.append(self._condition())
            self._take("mark", ")")
            pick = all if word == "and" else any
            return lambda row: pick(part(row) for part in parts)
        if word not in ("eq", "neq", "gt", "gte", "lt", "lte", "has", "in"):
            raise BadFilterError(f"no comparator {word}")
        name = self._take("word")
        if name not in FIELDS:
            raise BadFilterError(f"no field {name}")
        self._take("mark", ",")
        wanted = self._value()
        self._take("mark", ")")
        return lambda row: _holds(word, name, row, wanted)

    def _value(self) -> Any:
        kind, value = self._tokens[self._at]
        self._at += 1
        if kind == "value":
            return value
        if kind == "word" and value in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[value]
        if (kind, value) == ("mark", "["):
            items = [self._value()]
            while self._more():
                items.append(self._value())
            self._take("mark", "]")
            return items
        raise BadFilterError(f"{value} is no value")


def _holds(word: str, name: str, row: Row, wanted: Any) -> bool:
    metadata = (row.get("extra") or {}).get("metadata") or {}
    if name == "metadata_key":
        return any(key in wanted for key in metadata) if word == "in" else (wanted in metadata) == (word == "eq")
    if name == "metadata_value":
        return (wanted in [str(value) for value in metadata.values()]) == (word == "eq")
    held: Any = (row.get("parent_run_id") is None) if name == "is_root" else row.get(name)
    if name == "thread_id":
        held = next((metadata[key] for key in ("thread_id", "session_id", "conversation_id") if key in metadata), None)
    if name == "latency":
        held = (_moment(row["end_time"]) - _moment(row["start_time"])).total_seconds() if row.get("end_time") else None
        wanted = float(wanted.removesuffix("s"))
    match word:
        case "eq" | "neq":
            return bool((held == wanted) == (word == "eq"))
        case "has":
            return wanted in (held or [])
        case "in":
            return held in wanted
    if held is None:
        return False
    if name.endswith("_time"):
        held, wanted = _moment(held), _moment(wanted)
    return bool({"gt": held > wanted, "gte": held >= wanted, "lt": held < wanted, "lte": held <= wanted}[word])


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
