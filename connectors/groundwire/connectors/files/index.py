"""Where the records of each trace stand in the files of a source, so that a trace is read whole wherever they are."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from groundwire.connectors.cursor import ended_at
from groundwire.connectors.files.copies import Copies
from groundwire.connectors.files.lines import Lines
from groundwire.connectors.files.pieces import Key, trace_of_pieces
from groundwire.connectors.files.recognition import FORMATS
from groundwire.connectors.trace import Trace

__all__ = ["Index", "gathers"]

_RECORDS = 8
"""Decoded records that are kept for the next trace, because one line can hold many traces."""


def gathers(key: Key) -> bool:
    """Whether records of that format make a trace together, perhaps from several files."""
    return key[0] not in ("conversation", "whole")


class Index:
    """All files that were looked at, each read once and then only as it grows."""

    def __init__(self) -> None:
        self.files: dict[Path, Lines] = {}
        self._copies = Copies()
        self._numbered: list[Lines] = []
        self._numbers: dict[Lines, int] = {}
        self._indexed: list[tuple[int, int]] = []
        """For each numbered file: the generation that is indexed, and how many of its places."""
        self._places: dict[Key, array[int]] = {}
        """The number of the file and of the place in it, packed into one integer, in the order of reading."""
        self._ends: dict[Key, tuple[int, datetime]] = {}
        self._decoded: OrderedDict[tuple[int, int, int], dict[Key, list[Any]]] = OrderedDict()

    def close(self) -> None:
        """Let go of the copies of documents."""
        self._copies.close()

    def refresh(self, paths: Iterable[Path]) -> list[str]:
        """Read what is new in those files; one line for each that can't be read."""
        problems = []
        for path in paths:
            lines = self.files.get(path)
            if lines is None:
                lines = Lines(path, self._copies)
                self.files[path] = lines
                self._numbers[lines] = len(self._numbered)
                self._numbered.append(lines)
                self._indexed.append((0, 0))
            try:
                lines.refresh()
            except FileNotFoundError:
                self.forget(path)
            except OSError as error:
                problems.append(f"{path}: it can't be read ({error.strerror or type(error).__name__})")
            else:
                self._take(self._numbers[lines])
        return problems

    def forget(self, path: Path) -> None:
        """A file is gone."""
        lines = self.files.pop(path, None)
        if lines is not None:
            number = self._numbers[lines]
            self._drop(number)
            self._indexed[number] = (lines.generation + 1, 0)

    def all_keys(self) -> list[Key]:
        """Every trace, in the order in which it was first met."""
        return list(self._places)

    def find(self, trace_id: str) -> Key | None:
        """The trace with that id."""
        names = (*FORMATS, "whole")
        return next((key for name in names if (key := (name, trace_id)) in self._places), None)

    def files_of(self, key: Key) -> list[Path]:
        """The files in which records of a trace stand."""
        return [
            self._numbered[number].path for number in sorted({packed >> 32 for packed in self._places.get(key, ())})
        ]

    def read(self, key: Key) -> Trace | None:
        """A trace as its records say now; None where they can't be read any more."""
        places = sorted(
            ((self._numbered[packed >> 32], packed & 0xFFFFFFFF, packed >> 32) for packed in self._places.get(key, ())),
            key=lambda place: (place[0].changed_at, place[2], place[1]),
        )
        values: list[Any] = []
        for lines, number, file_number in places:
            try:
                values += self._values(lines, file_number, number).get(key, [])
            except OSError:
                continue
        if not places:
            return None
        first, number, _ = places[0]
        trace = trace_of_pieces(key, values, origin=f"{first.path}:{first.line(number)}")
        if trace is not None:
            self._ends[key] = (len(places), self._ended(trace, places[-1][0]))
        return trace

    def ended(self, key: Key) -> datetime | None:
        """Where a trace stands in time: its own end, or when its file was last written; None for what can't be read."""
        known = self._ends.get(key)
        if known is None or known[0] != len(self._places[key]):
            self.read(key)
            known = self._ends.get(key)
        return None if known is None else known[1]

    def _ended(self, trace: Trace, last: Lines) -> datetime:
        end = None if "no_times" in trace.flags else ended_at(trace)
        return last.changed_at if end is None else end

    def _values(self, lines: Lines, file_number: int, number: int) -> dict[Key, list[Any]]:
        place = (file_number, lines.generation, lines.offset(number))
        known = self._decoded.get(place)
        if known is None:
            known = self._decoded[place] = lines.values(number)
            if len(self._decoded) > _RECORDS:
                self._decoded.popitem(last=False)
        return known

    def _take(self, number: int) -> None:
        lines = self._numbered[number]
        generation, taken = self._indexed[number]
        if generation != lines.generation:
            self._drop(number)
            taken = 0
        fresh: Sequence[Key] = lines.keys[taken:]
        for at, key in enumerate(fresh, start=taken):
            self._places.setdefault(key, array("Q")).append(number << 32 | at)
        self._indexed[number] = (lines.generation, len(lines.keys))

    def _drop(self, number: int) -> None:
        if not self._indexed[number][1]:
            return
        for key in list(self._places):
            left = array("Q", (packed for packed in self._places[key] if packed >> 32 != number))
            if not left:
                del self._places[key]
                self._ends.pop(key, None)
            elif len(left) < len(self._places[key]):
                self._places[key] = left
                self._ends.pop(key, None)
