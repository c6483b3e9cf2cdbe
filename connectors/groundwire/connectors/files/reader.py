"""Traces read from a file, whichever of the known formats it is in, without holding the file in memory."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from groundwire.connectors.files.canonical import Rejected, read_canonical
from groundwire.connectors.files.recognition import FORMATS, Format, recognise, rows_in, trace_of_rows
from groundwire.connectors.files.rows import RowGroups
from groundwire.connectors.files.values import Broken, Elements, read_values
from groundwire.connectors.formats.conversations import trace_of_conversation
from groundwire.connectors.messages import is_message
from groundwire.connectors.trace import Trace
from groundwire.scorer import Partition

__all__ = ["Problem", "read_traces"]

_SHOWN = {"broken JSON": 20}
"""How many problems of a kind are told one by one, where it isn't one; the rest are counted."""
_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that can't be read, said in one line with what to do; no text of a trace is in it."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line is not None else f"{self.file}: {self.message}"


def read_traces(path: str | Path, *, format: Format | None = None) -> Iterator[Trace | Partition | Rejected | Problem]:  # noqa: A002 - the word users know
    """What a file holds: traces, canonical partitions as they are, and a `Problem` for what can't be read.

    `path` may be `-` for standard input; gzip is recognised by its content. Without `format` each record's format is
    recognised by what it holds. Rows of one trace may stand anywhere in the file: traces made of rows come out at its
    end, in the order in which they first appear. A file is read once; at most about 32 MB of rows are held, the rest
    wait in an unnamed temporary file. Nothing is raised for bad input.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        with ExitStack() as stack:
            try:
                source = _opened(path, stack)
            except OSError as error:
                yield Problem(file=name, line=None, message=_why_not_opened(Path(path), error))
                return
            yield from _Reading(name, format).run(source)
    except (OSError, EOFError, zlib.error):
        yield Problem(file=name, line=None, message="reading stopped: the file is damaged or cut off; export it again")


def _opened(path: str | Path, stack: ExitStack) -> TextIO:
    """The file as text, unpacked where it is gzip; bytes that are no text become U+FFFD."""
    if str(path) == "-":
        opened: Any = sys.stdin.buffer
    else:
        opened = stack.enter_context(Path(path).open("rb"))  # noqa: SIM115 - the stack closes it
    if hasattr(opened, "peek"):
        binary = opened
    else:
        binary = io.BufferedReader(opened)
        stack.callback(binary.detach)  # standard input is not ours to close
    if binary.peek(2)[:2] == b"\x1f\x8b":
        binary = stack.enter_context(gzip.GzipFile(fileobj=binary))
    head = binary.peek(2)[:2]
    encoding = next((name for mark, name in _BOMS if head == mark), "utf-8-sig")
    text = io.TextIOWrapper(binary, encoding=encoding, errors="replace", newline="")
    stack.callback(text.detach)
    return text


def _why_not_opened(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file; check the path"
    if isinstance(error, IsADirectoryError) or path.is_dir():
        return "this is a folder; name the files in it, for example with a pattern such as folder/*.json"
    if isinstance(error, PermissionError):
        return "this file may not be read; check its permissions"
    return f"this can't be opened ({error.strerror or type(error).__name__})"


class _Reading:
    """One pass over one file."""

    def __init__(self, name: str, format: Format | None) -> None:  # noqa: A002 - as above
        self._name = name
        self._format = format
        self._told: dict[str, int] = {}
        self._records = 0
        self._ids: set[str] = set()

    def run(self, stream: TextIO) -> Iterator[Trace | Partition | Rejected | Problem]:
        empty = True
        with RowGroups() as groups:
            for got in read_values(stream):
                empty = False
                if isinstance(got, Elements):
                    yield from self._array(got, groups)
                elif isinstance(got, Broken):
                    yield from self._broken(got)
                else:
                    yield from self._record(got.value, got.line, groups)
            for source, line, rows in groups.traces():
                yield from self._trace_of_rows(source, line, rows)
        if empty:
            yield self._problem(None, "the file is empty; nothing was read")
        for kind, count in self._told.items():
            if (more := count - _SHOWN.get(kind, 1)) > 0:
                yield self._problem(None, f"{more:,} more like this: {kind}")

    def _problem(self, line: int | None, message: str) -> Problem:
        return Problem(file=self._name, line=line, message=message)

    def _tell(self, line: int, kind: str, message: str) -> Iterator[Problem]:
        self._told[kind] = self._told.get(kind, 0) + 1
        if self._told[kind] <= _SHOWN.get(kind, 1):
            yield self._problem(line, message)

    def _broken(self, broken: Broken) -> Iterator[Problem]:
        then = (
            "nothing after it was read; mend it, or write one record a line"
            if broken.rest_lost
            else "mend it; the rest was read"
        )
        yield from self._tell(broken.line, "broken JSON", f"broken JSON here ({broken.reason}); {then}")

    def _array(self, array: Elements, groups: RowGroups) -> Iterator[Trace | Partition | Rejected | Problem]:
        """A list: of messages (one conversation), or of records."""
        messages: list[Any] | None = None
        whole = True
        first = True
        for got in array.items:
            if isinstance(got, Broken):
                whole = False
                yield from self._broken(got)
                continue
            if first:
                first = False
                if self._format in (None, "conversation") and is_message(got.value):
                    messages = []
            if messages is not None:
                messages.append(got.value)
            else:
                yield from self._record(got.value, got.line, groups)
        if messages is not None:
            if whole:
                yield from self._record(messages, array.line, groups)
            else:
                yield self._problem(array.line, "this conversation is left out, because a message of it is broken")
        elif first and whole:
            yield self._problem(array.line, "the list is empty; nothing was read")

    def _record(self, record: Any, line: int, groups: RowGroups) -> Iterator[Trace | Partition | Rejected | Problem]:
        index = self._records
        self._records += 1
        source = recognise(record)
        if source is None or (self._format is not None and source != self._format):
            yield from self._unknown(line, source)
            return
        if source == "canonical":
            got = read_canonical(record)
            if isinstance(got, str):
                yield from self._tell(line, "canonical", f"no valid canonical partition: {got}")
            else:
                yield got
        elif source == "conversation":
            yield from self._conversation(record, line, index)
        else:
            for row in rows_in(source, record):
                if row.trace_id:
                    groups.add(source, row.trace_id, line, row.row)
                else:
                    yield from self._tell(line, "no trace id", f"this {source} row names no trace; it is left out")

    def _unknown(self, line: int, source: Format | None) -> Iterator[Problem]:
        if self._format is not None:
            holds = f" (it looks like {source})" if source else ""
            yield from self._tell(
                line,
                "another format",
                f"this record is not in the format {self._format}{holds}; give another --format or none",
            )
        else:
            yield from self._tell(
                line, "no known format", f"this record is in no format that is known ({', '.join(FORMATS)})"
            )

    def _conversation(self, record: Any, line: int, index: int) -> Iterator[Trace | Problem]:
        stem = Path(self._name).name.partition(".")[0] or self._name
        try:
            trace = trace_of_conversation(record, origin=f"{self._name}:{line}", fallback_id=f"{stem}:{index}")
            if trace is not None and trace.trace_id in self._ids:  # the same task again: each run is a trace of its own
                trace = trace_of_conversation(
                    record, origin=trace.origin, fallback_id=trace.trace_id, trace_id=f"{trace.trace_id}:{index}"
                )
        except (ValidationError, RecursionError):
            trace = None
        if trace is None:
            yield from self._tell(line, "conversation", "no message of this conversation can be read")
        else:
            self._ids.add(trace.trace_id)
            yield trace

    def _trace_of_rows(self, source: Format, line: int, rows: list[Any]) -> Iterator[Trace | Problem]:
        try:
            trace = trace_of_rows(source, rows, origin=f"{self._name}:{line}")
        except (ValidationError, RecursionError):
            trace = None
        if trace is None:
            yield from self._tell(
                line, "rows", f"no span of this {source} trace can be read: ids or start times are missing"
            )
        else:
            yield trace
