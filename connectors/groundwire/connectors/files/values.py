"""JSON of any size read value by value: JSON Lines, one document, a long array, or values one after another."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from groundwire.connectors.messages import decode_at

__all__ = ["Broken", "Elements", "Value", "read_values"]

_FIRST_READ = 1 << 16
_LONGEST_TOKEN = 16
"""A syntax error this near to the end of what was read may only be a value that goes on."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """One decoded value and the line it starts on."""

    value: Any
    line: int


@dataclass(frozen=True, kw_only=True)
class Broken:
    """JSON that can't be read, and the line where it breaks."""

    line: int
    reason: str
    rest_lost: bool = False
    """True where no later value could be found, so that nothing after the break was read."""


@dataclass(frozen=True, kw_only=True)
class Elements:
    """A top-level array: its elements, to be read before the next top-level value."""

    line: int
    items: Iterator[Value | Broken]


def read_values(stream: TextIO) -> Iterator[Value | Elements | Broken]:
    """The top-level values of a text. After a break, reading goes on at the next line that opens an object or list."""
    window = _Window(stream)
    while (char := window.skip_space()) != "":
        if char == "{":
            yield _value_or_break(window, "")
        elif char == "[":
            items = _elements(window)
            yield Elements(line=window.line, items=items)
            for _ in items:  # what the consumer left
                pass
        else:
            yield _break(window, window.line, "no JSON object or list starts here", "")


def _value_or_break(window: "_Window", indent: str | None) -> Value | Broken:
    line = window.line
    try:
        return Value(value=window.decode(), line=line)
    except json.JSONDecodeError as error:
        at = window.line + window.buffer.count("\n", window.at, min(error.pos, len(window.buffer)))
        return _break(window, at, error.msg.lower().removesuffix(" at").removesuffix(" starting"), indent)
    except ValueError as error:
        return _break(window, line, str(error), indent)


def _break(window: "_Window", line: int, reason: str, indent: str | None) -> Broken:
    """What broke, once the next value is found that can be read: at the same indent, else at the start of a line."""
    start = window.line
    found = window.skip_to_line_opening(indent or "")
    if found and window.line <= line:  # one record a line: it ran on into the next because it doesn't end
        return Broken(line=start, reason="the record does not end on its line")
    return Broken(line=line, reason=reason, rest_lost=not found)


def _elements(window: "_Window") -> Iterator[Value | Broken]:
    window.advance(1)
    indent: str | None = None
    while (char := window.skip_space()) != "]":
        if char == "":
            yield Broken(line=window.line, reason="the file ends inside a list", rest_lost=True)
            return
        if char == ",":
            window.advance(1)
            continue
        indent = window.indent() if indent is None else indent
        got = _value_or_break(window, indent)
        yield got
        if isinstance(got, Broken) and (got.rest_lost or indent is None):
            return
    window.advance(1)


class _Window:
    """The stretch of a text stream that is being decoded."""

    def __init__(self, stream: TextIO) -> None:
        self.buffer = ""
        self.at = 0
        self.line = 1
        self._stream = stream
        self._ended = False

    def advance(self, count: int) -> None:
        """Move on, counting lines; what lies behind is let go."""
        self.line += self.buffer.count("\n", self.at, self.at + count)
        self.at += count
        if self.at > _FIRST_READ:
            keep = max(self.buffer.rfind("\n", 0, self.at), self.at - 256, 0)
            self.buffer, self.at = self.buffer[keep:], self.at - keep

    def _fill(self, size: int) -> bool:
        more = "" if self._ended else self._stream.read(size)
        self._ended = self._ended or more == ""
        self.buffer += more
        return more != ""

    def skip_space(self) -> str:
        """Move to the next character that isn't white space and return it; empty at the end."""
        while True:
            rest = self.at
            while rest < len(self.buffer) and self.buffer[rest] in " \t\r\n\ufeff\x1e":
                rest += 1
            self.advance(rest - self.at)
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if not self._fill(_FIRST_READ):
                return ""

    def indent(self) -> str | None:
        """The white space before this place on its line; None where something else stands there."""
        start = self.buffer.rfind("\n", 0, self.at) + 1
        before = self.buffer[start : self.at]
        return before if before.strip() == "" and (start > 0 or self.line == 1) else None

    def decode(self) -> Any:
        """The value that starts here, and move behind it. Raises `ValueError` where it is broken."""
        size = _FIRST_READ
        while True:
            try:
                value, end = decode_at(self.buffer, self.at)
            except json.JSONDecodeError as error:
                goes_on = error.msg.startswith("Unterminated") or error.pos >= len(self.buffer) - _LONGEST_TOKEN
                size = max(size, len(self.buffer) - self.at)  # double what is read, so that the work stays linear
                if goes_on and self._fill(size):
                    continue
                raise
            if end == len(self.buffer) and self.buffer[end - 1] not in '}]"' and self._fill(_FIRST_READ):
                continue  # a number may go on
            self.advance(end - self.at)
            return value

    def skip_to_line_opening(self, indent: str) -> bool:
        """Move to the next line that opens an object or list after `indent`; to the end where there is none."""
        while True:
            places = [self.buffer.find(f"\n{indent}{char}", self.at) for char in "{["]
            found = min((place for place in places if place >= 0), default=-1)
            if found >= 0:
                self.advance(found + 1 + len(indent) - self.at)
                return True
            self.advance(max(len(self.buffer) - self.at - len(indent) - 1, 0))
            if not self._fill(_FIRST_READ):
                self.advance(len(self.buffer) - self.at)
                return False
