"""Rows gathered by trace: held in memory while they are few, in an unnamed temporary file beyond that."""

import json
import tempfile
from array import array
from collections.abc import Iterator
from types import TracebackType
from typing import IO, Any, Self

from groundwire.connectors.files.recognition import Format

__all__ = ["HELD_CHARACTERS", "RowGroups"]

HELD_CHARACTERS = 32 * 1024 * 1024
"""About how many characters of rows are held before they go to disk."""


class RowGroups:
    """Rows grouped by format and trace, in the order in which the traces first appeared."""

    def __init__(self, *, held: int = HELD_CHARACTERS) -> None:
        self._limit = held
        self._size = 0
        self._rows: dict[tuple[Format, str], list[Any]] = {}
        self._places: dict[tuple[Format, str], array[int]] = {}
        self._lines: dict[tuple[Format, str], int] = {}
        self._disk: IO[bytes] | None = None
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._disk is not None:
            self._disk.close()

    def add(self, source: Format, trace_id: str, line: int, row: Any) -> None:
        """Keep one row of a trace; `line` is where it stood."""
        key = (source, trace_id)
        self._lines.setdefault(key, line)
        self._rows.setdefault(key, []).append(row)
        self._size += _size_of(row)
        if self._size > self._limit:
            self._to_disk()

    def _to_disk(self) -> None:
        if self._disk is None:
            self._disk = tempfile.TemporaryFile(prefix="groundwire-")  # noqa: SIM115 - closed in __exit__
        for key, rows in self._rows.items():
            places = self._places.setdefault(key, array("Q"))
            for row in rows:
                data = json.dumps(row, separators=(",", ":")).encode()
                self._disk.write(data)
                places.extend((self._end, len(data)))
                self._end += len(data)
        self._rows.clear()
        self._size = 0

    def traces(self) -> Iterator[tuple[Format, int, list[Any]]]:
        """Each trace's format, first line and rows in the order read; a trace is let go once it is given."""
        for key in list(self._lines):
            rows: list[Any] = []
            places = self._places.pop(key, None)
            if places is not None and self._disk is not None:
                for at in range(0, len(places), 2):
                    self._disk.seek(places[at])
                    rows.append(json.loads(self._disk.read(places[at + 1])))
            rows += self._rows.pop(key, [])
            yield key[0], self._lines[key], rows


def _size_of(value: Any) -> int:
    """About how many characters a row takes: the length of its texts, and a little for everything else."""
    size = 0
    stack = [value]
    while stack:
        item = stack.pop()
        size += 8
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return size
