"""A file of scores, one JSON object a line and never two lines with one id."""

import asyncio
import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from groundwire.connectors.base import Finding
from groundwire.connectors.score import Delivery, Score
from groundwire.scorer import GiveUp, RetryLater

__all__ = ["FilesSink"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EIO)


class FilesSink:
    """New scores are appended; a score that changes or is withdrawn is rewritten with the whole file, at one stroke.

    The file is whole at every instant: a process that is killed leaves at most an unfinished last line, which the next
    push removes. Several processes take turns by a lock beside the file (not on Windows: one writer there).
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lock = Lock()
        self._known: dict[str, tuple[int, bytes]] = {}
        """Of each score: where its line begins, and the digest of it."""
        self._stat: tuple[int, int, int] | None = None

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """Write the scores; all are on the disk when it returns.

        Raises `RetryLater` where the disk is full or busy, `GiveUp` where the file can't be written.
        """
        if scores:
            await asyncio.to_thread(self._push, scores)
        return [Delivery(score_id=score.score_id, state="delivered") for score in scores]

    async def check(self) -> Sequence[Finding]:
        """Whether the file can be written."""
        folder = self._path.resolve().parent
        target = self._path if self._path.exists() else folder
        if not folder.is_dir():
            message = f"the folder of {self._path} isn't there; make it, or change `out`"
        elif self._path.is_dir():
            message = f"{self._path} is a folder; name a file in `out`"
        elif not os.access(target, os.W_OK) or not os.access(folder, os.W_OK):
            message = f"{self._path} may not be written; check the permissions of it and of its folder"
        else:
            return [Finding(what="out", state="ok", message=f"scores go to {self._path}")]
        return [Finding(what="out", state="failed", message=message)]

    async def close(self) -> None:
        """Nothing is held open between pushes."""

    def _push(self, scores: Sequence[Score]) -> None:
        try:
            with self._lock, self._alone():
                self._write(scores)
        except OSError as error:
            self._stat = None
            what = error.strerror or type(error).__name__
            if error.errno in _FULL:
                raise RetryLater(f"{self._path} can't be written now ({what})") from None
            raise GiveUp(f"{self._path} can't be written ({what}); check `out` and its folder") from None

    def _write(self, scores: Sequence[Score]) -> None:
        self._read()
        lines: dict[str, bytes | None] = {}  # what is to stand in the file instead of what does: None for nothing
        for score in scores:
            lines[score.score_id] = None if score.value is None else _line(score)
        for score_id, line in list(lines.items()):
            known = self._known.get(score_id)
            if (known is None) if line is None else (known is not None and known[1] == _digest(line)):
                del lines[score_id]
        if any(score_id in self._known for score_id in lines):
            self._rewrite(lines)
        elif lines:
            with self._path.open("ab") as stream:
                self._add(stream, lines)
        self._stat = self._stat_now()

    def _add(self, stream: BinaryIO, lines: Mapping[str, bytes | None]) -> None:
        """Write lines at the end, down to the disk."""
        place = stream.seek(0, os.SEEK_END)
        written = {score_id: line for score_id, line in lines.items() if line is not None}
        stream.write(b"".join(written.values()))
        stream.flush()
        os.fsync(stream.fileno())
        for score_id, line in written.items():
            self._known[score_id] = (place, _digest(line))
            place += len(line)

    def _rewrite(self, lines: Mapping[str, bytes | None]) -> None:
        """Write the file anew beside itself, without what `lines` replaces and what is spoilt, then take its place."""
        beside = self._path.with_name(f"{self._path.name}.new")
        known, self._known = self._known, {}
        with beside.open("wb") as stream:
            place = 0
            for start, score_id, line in self._lines():
                if score_id is None or score_id in lines or known[score_id][0] != start:
                    continue
                stream.write(line)
                self._known[score_id] = (place, known[score_id][1])
                place += len(line)
            self._add(stream, lines)
        beside.replace(self._path)
        if os.name == "posix":
            folder = os.open(self._path.resolve().parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _read(self) -> None:
        """Learn what the file holds, unless it is as we left it; mend what a killed writer or an editor left."""
        if self._stat_now() == self._stat:
            return
        self._known = {}
        mend = False
        for start, score_id, line in self._lines():
            mend = mend or score_id is None or score_id in self._known
            if score_id is not None:
                self._known[score_id] = (start, _digest(line))
        if mend or self._unended():
            self._rewrite({})

    def _lines(self) -> Iterator[tuple[int, str | None, bytes]]:
        """Each line with its place, its end and the score it holds; None for the unfinished last one."""
        if not self._path.exists():
            return
        with self._path.open("rb") as stream:
            start = 0
            for line in stream:
                whole = line.endswith(b"\n")
                score_id = _id_in(line)
                if score_id is None and whole and line.strip():
                    raise OSError(errno.EINVAL, "it holds lines that are no scores")
                yield start, score_id, line if whole else line + b"\n"
                start += len(line)

    def _unended(self) -> bool:
        if not self._path.exists():
            return False
        with self._path.open("rb") as stream:
            return stream.seek(0, os.SEEK_END) > 0 and stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) != b"\n"

    def _stat_now(self) -> tuple[int, int, int] | None:
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for other processes that write the same file."""
        with self._path.with_name(f"{self._path.name}.lock").open("wb") as stream:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def _id_in(line: bytes) -> str | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    score_id = value.get("score_id") if isinstance(value, dict) else None
    return score_id if isinstance(score_id, str) else None


def _line(score: Score) -> bytes:
    target = score.target
    state = {
        "score_id": score.score_id,
        "name": score.name,
        "value": score.value,
        "trace_id": target.trace_id,
        "span_id": target.span_id,
        "session_id": target.session_id,
        "project": target.project,
        "environment": target.environment,
        "start_time": target.start_time.isoformat(),
        "lower_is_better": score.lower_is_better,
        "comment": score.comment,
        "metadata": dict(score.metadata),
    }
    return f"{json.dumps(state, ensure_ascii=False, separators=(',', ':'))}\n".encode("utf-8", "replace")
