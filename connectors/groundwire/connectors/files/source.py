"""Files as a source: new files and appended lines are found, whole traces are given wherever their records stand."""

import asyncio
import glob
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import JsonValue

from groundwire.connectors.base import Finding, Origin, Page, Wanted, Window
from groundwire.connectors.files.index import Index, gathers
from groundwire.connectors.files.lines import Lines, Print, print_of
from groundwire.connectors.files.pieces import Key
from groundwire.connectors.trace import Trace
from groundwire.scorer import SkipThis

__all__ = ["FilesSource"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(kw_only=True)
class _Place:
    """How far each file was read, as the cursor of an open window keeps it."""

    begin: datetime
    """Nothing that ended before it is given."""
    files: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    """By path: `offset`, `head` and `tail` of a `Print`; or `document` (its signature) and `offset` (in traces)."""

    def as_cursor(self) -> dict[str, JsonValue]:
        return {"begin": self.begin.isoformat(), "files": dict(self.files)}


class FilesSource:
    """Traces from the files that a pattern matches.

    An open window gives what was appended since its cursor, whatever its times; a window with an end, or one that goes
    back in time, gives its traces in order of time and has a cursor of its own. Where records of one trace stand in
    several lines or files they make one trace; a document (a list over many lines, gzip) stands for itself. Bare
    conversations without times stand where their file was last written.
    """

    def __init__(
        self,
        pattern: str,
        *,
        leave_out: Sequence[str] = (),
        page_size: int = 100,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`leave_out` names files that the pattern may match and that hold no traces, such as our own scores."""
        self._pattern = pattern
        self._leave_out = {Path(name).resolve() for name in leave_out}
        self._page_size = page_size
        self._clock = clock
        self._index = Index()
        self._lock = Lock()

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """Pages of about `page_size` traces; a last one without any says that all was looked at."""
        live = window.end is None and not window.newest_first
        pages = self._appended(window, cursor, wanted) if live else self._in_time(window, cursor, wanted)
        while (page := await asyncio.to_thread(self._next, pages)) is not None:
            yield page

    async def fetch(self, origin: Origin) -> Trace:
        """The trace as the files hold it now. Raises `SkipThis` where they hold it no more."""
        trace = await asyncio.to_thread(self._fetch, origin.trace_id)
        if trace is None:
            raise SkipThis(f"trace {origin.trace_id} stands in none of the files any more")
        return trace

    async def check(self) -> Sequence[Finding]:
        """How many files match, and whether each can be read."""
        return await asyncio.to_thread(self._check)

    async def close(self) -> None:
        """Let go of the copies of documents."""
        self._index.close()

    def _next(self, pages: Iterator[Page]) -> Page | None:
        with self._lock:
            return next(pages, None)

    def _paths(self) -> list[Path]:
        found = (Path(name) for name in glob.glob(self._pattern, recursive=True))  # noqa: PTH207 - absolute patterns too
        return sorted(path for path in found if path.is_file() and path.resolve() not in self._leave_out)

    # ---- what was appended ----

    def _appended(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, wanted: Wanted | None
    ) -> Iterator[Page]:
        paths = self._paths()
        place, asleep = _resumed(cursor, paths, begin=window.start)
        problems = self._refresh(paths, asleep)
        starts = {path: self._start(place, path) for path in paths if path in self._index.files}
        if any(gathers(key) for path, start in starts.items() for key in self._keys_from(path, start)):
            problems += self._index.refresh(sorted(asleep))
        page: list[Trace] = []
        seen = 0
        given: set[Key] = set()
        for path in sorted(starts, key=lambda path: (self._index.files[path].changed_at, path)):
            lines = self._index.files.get(path)
            if lines is None:
                continue
            start, generation, end = starts[path], lines.generation, lines.end
            problems += [message for offset, message in lines.problems if offset >= start]
            for number in range(lines.first_at(start), len(lines.keys)):
                if lines.generation != generation:
                    break  # replaced since this look began: the next one reads it from its beginning
                key = lines.keys[number]
                if key not in given:
                    given.add(key)
                    trace, ended = self._index.read(key), self._index.ended(key)
                    if trace is None or ended is None:
                        problems.append(f"{path}:{lines.line(number)}: no span of this {key[0]} trace can be read")
                    elif ended >= place.begin:
                        seen += 1
                        if wanted is None or wanted(trace):
                            page.append(trace)
                beyond = lines.offset(number + 1)
                if len(page) >= self._page_size and beyond != lines.offset(number):
                    place.files[str(path)] = _reached(lines, beyond)
                    yield Page(traces=tuple(page), cursor=place.as_cursor(), problems=tuple(problems), seen=seen)
                    page, problems, seen = [], [], 0
            if lines.generation == generation:
                place.files[str(path)] = _reached(lines, end)
        yield Page(traces=tuple(page), cursor=place.as_cursor(), problems=tuple(problems), seen=seen)

    def _refresh(self, paths: Sequence[Path], asleep: set[Path]) -> list[str]:
        for gone in [path for path in self._index.files if path not in set(paths)]:
            self._index.forget(gone)
        return self._index.refresh(path for path in paths if path not in asleep or path in self._index.files)

    def _keys_from(self, path: Path, start: int) -> list[Key]:
        lines = self._index.files.get(path)
        return [] if lines is None else lines.keys[lines.first_at(start) :]

    def _start(self, place: _Place, path: Path) -> int:
        state: Any = place.files.get(str(path))
        lines = self._index.files[path]
        if state is None or state.get("document") != lines.signature:
            return 0
        return int(state["offset"])

    # ---- a stretch of time ----

    def _in_time(self, window: Window, cursor: Mapping[str, JsonValue] | None, wanted: Wanted | None) -> Iterator[Page]:
        paths = self._paths()
        problems = self._refresh(paths, set())
        problems += [message for lines in self._index.files.values() for _, message in lines.problems] * (not cursor)
        end = window.end if window.end is not None else self._clock()
        entries = [
            (ended, key)
            for key in self._index.all_keys()
            if (ended := self._index.ended(key)) is not None and window.start <= ended < end
        ]
        entries.sort(reverse=window.newest_first)
        after: Any = cursor.get("after") if cursor is not None else None
        if after is not None:
            passed = (datetime.fromisoformat(after[0]), (after[1], after[2]))
            entries = [entry for entry in entries if (entry < passed if window.newest_first else entry > passed)]
        last: dict[str, JsonValue] = {} if after is None else {"after": after}
        for at in range(0, len(entries), self._page_size):
            chunk = entries[at : at + self._page_size]
            traces = [trace for _, key in chunk if (trace := self._index.read(key)) is not None]
            ended, (source, trace_id) = chunk[-1]
            last = {"after": [ended.isoformat(), source, trace_id]}
            yield Page(
                traces=tuple(trace for trace in traces if wanted is None or wanted(trace)),
                cursor=last,
                reached=None if window.newest_first else ended,
                problems=tuple(problems),
                seen=len(chunk),
            )
            problems = []
        yield Page(traces=(), cursor=last, reached=end, problems=tuple(problems))

    def _fetch(self, trace_id: str) -> Trace | None:
        with self._lock:
            key = self._index.find(trace_id)
            if key is None:
                self._index.refresh(self._paths())
                key = self._index.find(trace_id)
            else:
                self._index.refresh(self._index.files_of(key))
            return None if key is None else self._index.read(key)

    def _check(self) -> list[Finding]:
        paths = self._paths()
        if not paths:
            return [
                Finding(
                    what="path",
                    state="warning",
                    message=f"no file matches {self._pattern} yet; check `path` if one should",
                )
            ]
        findings = [
            Finding(what="path", state="failed", message=f"{path} may not be read; check its permissions")
            for path in paths
            if not os.access(path, os.R_OK)
        ]
        matching = "1 file matches" if len(paths) == 1 else f"{len(paths):,} files match"
        return findings or [Finding(what="path", state="ok", message=f"{matching} {self._pattern}")]


def _reached(lines: Lines, offset: int) -> dict[str, JsonValue]:
    """How far a file was read, in the form of the cursor; a file that is gone meanwhile begins anew when it is back."""
    if lines.signature is not None:
        return {"document": lines.signature, "offset": offset, "end": lines.end}
    try:
        known = print_of(lines.path, offset)
    except OSError:
        known = None
    return {"offset": 0} if known is None else {"offset": offset, "head": known.head, "tail": known.tail}


def _resumed(
    cursor: Mapping[str, JsonValue] | None, paths: Sequence[Path], *, begin: datetime
) -> tuple[_Place, set[Path]]:
    """The place that a cursor names, as far as the files are still what they were; and those with nothing new.

    A file that was renamed is known again by its content, and the file that took its name is read from the beginning.
    """
    state: Any = cursor or {}
    if "begin" in state:
        begin = datetime.fromisoformat(state["begin"])
    known: dict[str, Any] = state.get("files", {})
    place, asleep = _Place(begin=begin), set()
    moved = list(known)
    fresh: list[Path] = []
    for path in paths:
        got = known.get(str(path))
        finished = None if got is None else _finished(path, got)
        if got is None or finished is None:
            fresh.append(path)
            continue
        place.files[str(path)] = got
        moved.remove(str(path))
        if finished:
            asleep.add(path)
    for path in fresh:
        before = next((name for name in moved if _finished(path, known[name]) is not None), None)
        if before is not None:
            moved.remove(before)
            place.files[str(path)] = known[before]
    return place, asleep


def _finished(path: Path, state: Mapping[str, Any]) -> bool | None:
    """Whether nothing was appended to a file since that state; None where it is another file."""
    try:
        stat = path.stat()
        if "document" in state:
            if state["document"] != f"{stat.st_size}:{stat.st_mtime_ns}":
                return None
            return bool(state["offset"] == state["end"])
        if not state["offset"]:
            return None
        known = Print(offset=state["offset"], head=state["head"], tail=state["tail"])
        return stat.st_size == known.offset if print_of(path, known.offset) == known else None
    except OSError:
        return None
