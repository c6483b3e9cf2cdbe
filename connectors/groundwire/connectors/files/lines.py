"""One file as records that can be read again by their place, whether it is JSON Lines or a document."""

import json
import os
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from groundwire.connectors.files.copies import Copies
from groundwire.connectors.files.pieces import Key, Piece, pieces_of
from groundwire.connectors.messages import loads

__all__ = ["Lines", "Print", "print_of"]

_FIRST_LINE = 16 * 1024 * 1024
"""Bytes within which the first line of JSON Lines ends."""
_SAMPLE = 1024
"""Bytes that are compared at the beginning and before a place, to know a file again."""
_PROBLEMS = 200
"""Problems of one file that are told; more are left out."""
_AROUND = "\x00\x1e \t\r\n"


@dataclass(frozen=True, kw_only=True)
class Print:
    """By what the first `offset` bytes of a file are known again, wherever the file has gone."""

    offset: int
    head: str
    tail: str


def print_of(path: Path, offset: int) -> Print | None:
    """The print of the first `offset` bytes; None where there are fewer. Raises `OSError`."""
    with path.open("rb") as stream:
        if stream.seek(0, os.SEEK_END) < offset:
            return None
        size = min(offset, _SAMPLE)
        digests = []
        for start in (0, offset - size):
            stream.seek(start)
            digests.append(blake2b(stream.read(size), digest_size=8).hexdigest())
    return Print(offset=offset, head=digests[0], tail=digests[1])


class Lines:
    """An index of one file: where each trace's records stand. It grows with the file and starts anew when replaced.

    JSON Lines are read by their place in the file. Anything else (a list over many lines, one large object, gzip) is a
    document: its traces are copied out whole, and any change makes all of them new.
    """

    def __init__(self, path: Path, copies: Copies) -> None:
        self.path = path
        self.changed_at = datetime.fromtimestamp(0, UTC)
        """When the file was last written."""
        self.signature: str | None = None
        """Of a document: what changes when it does. None for JSON Lines."""
        self.generation = 0
        """Rises when the file was replaced: numbers from before mean nothing."""
        self.end = 0
        """Up to where it was read, to the end of a whole line (bytes; of a document, traces)."""
        self.keys: list[Key] = []
        """The trace of each place, in file order; a line with several traces is several places."""
        self.problems: list[tuple[int, str]] = []
        """What couldn't be read: the offset, and one line about it."""
        self._copies = copies
        self._offsets = array("Q")
        self._places = array("Q")
        self._lengths = array("Q")
        self._lines = array("Q")
        self._indices = array("Q")
        self._line = 1
        self._records = 0
        self._known: Print | None = None
        self._stat: tuple[int, int, int] | None = None

    def refresh(self) -> None:
        """Read what was appended since; everything where the file is another. Raises `OSError`."""
        stat = self.path.stat()
        now = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if now == self._stat:
            return
        if self._stat is None or self.signature is not None or print_of(self.path, self.end) != self._known:
            self._begin()
        if _is_document(self.path):
            self.signature = f"{stat.st_size}:{stat.st_mtime_ns}"
            self._copy_out()
        else:
            self._read_on()
            self._known = print_of(self.path, self.end)
        self.changed_at = datetime.fromtimestamp(stat.st_mtime, UTC)
        self._stat = now

    def first_at(self, offset: int) -> int:
        """The number of the first place at or after an offset."""
        return bisect_left(self._offsets, offset)

    def offset(self, number: int) -> int:
        """Where the record of a place begins; the end of what was read where there is no such place."""
        return self._offsets[number] if number < len(self._offsets) else self.end

    def line(self, number: int) -> int:
        """The line of a place, from 1."""
        return self._lines[number]

    def values(self, number: int) -> dict[Key, list[Any]]:
        """What the record at a place says, by trace; nothing where the file was changed meanwhile. Raises `OSError`."""
        if self.signature is not None:
            return {self.keys[number]: [json.loads(self._copies.read(self._places[number], self._lengths[number]))]}
        with self.path.open("rb") as stream:
            stream.seek(self._places[number])
            raw = stream.read(self._lengths[number])
        found: dict[Key, list[Any]] = {}
        try:
            record = loads(_text(raw))
        except ValueError:
            return found
        for piece in pieces_of(record, stem=self._stem, index=self._indices[number]):
            if isinstance(piece, Piece):
                found.setdefault(piece.key, []).append(piece.value)
        return found

    @property
    def unfinished(self) -> int:
        """Bytes after the last whole line."""
        return 0 if self._stat is None or self.signature is not None else max(self._stat[1] - self.end, 0)

    @property
    def _stem(self) -> str:
        return self.path.name.partition(".")[0] or self.path.name

    def _begin(self) -> None:
        self.generation += 1
        self.signature = None
        self.end = self._records = 0
        self._line = 1
        self.keys, self.problems = [], []
        self._offsets, self._places, self._lengths, self._lines, self._indices = (array("Q") for _ in range(5))

    def _read_on(self) -> None:
        with self.path.open("rb") as stream:
            stream.seek(self.end)
            while line := stream.readline():
                text = _text(line)
                record, broken = None, ""
                if text:
                    try:
                        record = loads(text)
                    except ValueError as error:
                        broken = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                    if not line.endswith(b"\n") and not isinstance(record, dict | list):
                        return  # it is still being written
                start, self.end = self.end, self.end + len(line)
                if broken:
                    self._problem(start, f"broken JSON here ({broken[:1].lower()}{broken[1:]}); the rest was read")
                elif text:
                    self._keep(record, start, len(line))
                self._line += line.endswith(b"\n")

    def _keep(self, record: Any, start: int, length: int) -> None:
        index = self._records
        self._records += 1
        told: set[Key] = set()
        for piece in pieces_of(record, stem=self._stem, index=index):
            if isinstance(piece, str):
                self._problem(start, piece)
            elif piece.key not in told:
                told.add(piece.key)
                self._place(piece.key, offset=start, place=start, length=length, line=self._line, index=index)

    def _copy_out(self) -> None:
        for got in self._copies.add(self.path):
            if isinstance(got, str):
                if len(self.problems) < _PROBLEMS:
                    self.problems.append((self.end, got))
            else:
                trace_id, place, length = got
                self._place(("whole", trace_id), offset=self.end, place=place, length=length, line=1, index=0)
                self.end += 1

    def _place(self, key: Key, *, offset: int, place: int, length: int, line: int, index: int) -> None:
        self.keys.append(key)
        self._offsets.append(offset)
        self._places.append(place)
        self._lengths.append(length)
        self._lines.append(line)
        self._indices.append(index)

    def _problem(self, start: int, message: str) -> None:
        if len(self.problems) < _PROBLEMS:
            self.problems.append((start, f"{self.path}:{self._line}: {message}"))


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig", "replace").strip(_AROUND)


def _is_document(path: Path) -> bool:
    """Whether a file isn't JSON Lines: neither its first nor, where that one is spoilt, its second line is a value.

    A lone line without an end may still become one.
    """
    with path.open("rb") as stream:
        line = b"\n"
        while line and not line.strip():
            line = stream.readline(_FIRST_LINE)
        if line[:2] in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"):
            return True
        if not line or _is_value(line) or (not line.endswith(b"\n") and len(line) < _FIRST_LINE):
            return False
        return not (line[:1] == b"{" and _is_value(stream.readline(_FIRST_LINE)))


def _is_value(line: bytes) -> bool:
    try:
        return isinstance(loads(_text(line)), dict | list)
    except ValueError:
        return False
