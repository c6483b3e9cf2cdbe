"""Traces of documents that can't be read by place, copied one by one into an unnamed temporary file."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter

from groundwire.connectors.files.pieces import Piece, pieces_of_partition, trace_of_pieces
from groundwire.connectors.files.reader import Problem, read_traces
from groundwire.connectors.trace import Trace
from groundwire.scorer import Partition

__all__ = ["Copies"]

_TRACES = TypeAdapter(Trace)


class Copies:
    """One temporary file for all documents of a source; it is gone when the process is."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, path: Path) -> Iterator[tuple[str, int, int] | str]:
        """Copy a document: for each trace its id, place and length in bytes; a line for what can't be read."""
        for got in read_traces(path):
            if isinstance(got, Trace):
                yield self._write(got)
            elif isinstance(got, Partition):
                for piece in pieces_of_partition(got):
                    if isinstance(piece, Piece):
                        trace = trace_of_pieces(piece.key, [piece.value], origin=str(path))
                        if trace is not None:
                            yield self._write(trace)
            else:
                yield str(got) if isinstance(got, Problem) else f"{path}: no valid canonical partition: {got.message}"

    def read(self, place: int, length: int) -> bytes:
        """What was written there."""
        assert self._file is not None  # noqa: S101 - a place comes from `add`
        self._file.seek(place)
        return self._file.read(length)

    def _write(self, trace: Trace) -> tuple[str, int, int]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="groundwire-")  # noqa: SIM115 - closed in close
        data = _TRACES.dump_json(trace)
        self._file.seek(self._end)
        self._file.write(data)
        place, self._end = self._end, self._end + len(data)
        return trace.trace_id, place, len(data)
