"""Rows gathered by trace, and the decisions about them: which traces are new, and in how few requests they are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.langfuse.rows import Row, is_root, stamp

__all__ = ["Group", "Reach", "by_trace", "is_late", "lacks_rows", "reach"]


class Group:
    """The rows that are known of one trace, each once in its newest state."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self._rows: dict[str, Row] = {}
        self._facts: _Facts | None = None

    def add(self, span_id: str, row: Row) -> None:
        """Take in a row of this trace; one that was written before the known one of its id changes nothing."""
        known = self._rows.get(span_id)
        if known is None or stamp(row) >= stamp(known):
            self._rows[span_id] = row
            self._facts = None

    @property
    def rows(self) -> list[Row]:
        """Its rows."""
        return list(self._rows.values())

    @property
    def root(self) -> Row | None:
        """Its root row that has ended; of several the one that ended last."""
        return self._known.root

    @property
    def first(self) -> datetime:
        """When its first row started."""
        return self._known.first

    @property
    def last(self) -> datetime:
        """The last moment that any row tells of."""
        return self._known.last

    @property
    def at(self) -> datetime:
        """Where the trace stands in time: the end of its root, of the last one where there are several, else `last`."""
        return self._known.at

    @property
    def stamp(self) -> str:
        """When its newest row was written: it differs once the trace has changed."""
        return self._known.stamp

    @property
    def _known(self) -> "_Facts":
        if self._facts is None:
            self._facts = _facts_of(self._rows.values())
        return self._facts


@dataclass(frozen=True, kw_only=True)
class _Facts:
    first: datetime
    last: datetime
    at: datetime
    root: Row | None
    stamp: str


def _facts_of(rows: Iterable[Row]) -> _Facts:
    moments: list[datetime] = []
    ended: tuple[datetime, Row] | None = None
    newest = ""
    for row in rows:
        start, end = moment(row.get("startTime")), moment(row.get("endTime"))
        moments += [at for at in (start, end) if at is not None]
        newest = max(newest, stamp(row))
        if end is not None and is_root(row) and (ended is None or end > ended[0]):
            ended = end, row
    return _Facts(
        first=min(moments),
        last=max(moments),
        at=ended[0] if ended is not None else max(moments),
        root=ended[1] if ended is not None else None,
        stamp=newest,
    )


def by_trace(rows: Iterable[Row], into: dict[str, Group] | None = None) -> dict[str, Group]:
    """Rows by trace, added to `into`. A row without a trace, an id or a start is left out."""
    groups = {} if into is None else into
    for row in rows:
        trace_id, span_id = nonempty(row.get("traceId")), nonempty(row.get("id"))
        if trace_id is None or span_id is None or moment(row.get("startTime")) is None:
            continue
        if trace_id not in groups:
            groups[trace_id] = Group(trace_id)
        groups[trace_id].add(span_id, row)
    return groups


def is_late(group: Group, *, since: datetime, after: timedelta) -> bool:
    """Whether a trace was written to after it should have been read: `after` past its end, and since the last sweep."""
    written = moment(group.stamp)
    return written is not None and written >= since and written > group.at + after


def lacks_rows(rows: Sequence[Row]) -> bool:
    """Whether rows of the trace seem to stand elsewhere: no root among them, or a parent that isn't."""
    ids = {nonempty(row.get("id")) for row in rows}
    if not any(is_root(row) for row in rows):
        return True
    return any(
        not is_root(row) and (parent := nonempty(row.get("parentObservationId"))) is not None and parent not in ids
        for row in rows
    )


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How traces are read: those that started from `start` on in one window, the others one by one."""

    start: datetime | None
    """None: all one by one."""
    singles: frozenset[str]
    """Ids of the traces that are read one by one."""


def reach(starts: Mapping[str, datetime], end: datetime, *, rows_per_second: float, rows_a_request: int) -> Reach:
    """The way with the fewest requests to read these traces, which all ended before `end`.

    A window costs the rows of everything that ran in it; a trace by itself costs one request. So one trace that began
    an hour before the others is read alone, and so are few among many that nobody wants.
    """
    ordered = sorted(starts.items(), key=lambda item: item[1])
    best, cost = len(ordered), float(len(ordered))
    for index, (_, start) in enumerate(ordered):
        seconds = max((end - start).total_seconds(), 0.0)
        requests = max(seconds * rows_per_second / rows_a_request, 1.0)
        if index + requests < cost or (index + requests == cost and best == len(ordered)):
            best, cost = index, index + requests
    singles = frozenset(trace_id for trace_id, _ in ordered[:best])
    return Reach(start=ordered[best][1] if best < len(ordered) else None, singles=singles)
