"""Runs gathered by trace, each stretch of time read once, and the decision how bodies are read in few requests."""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from groundwire.connectors.formats.spans import moment, nonempty
from groundwire.connectors.langsmith.runs import Run, Runs

__all__ = ["Covered", "Group", "read_singly", "requests_for"]


class Group:
    """The runs that are known of one trace."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self._runs: dict[str, Run] = {}

    def add(self, run: Run) -> None:
        """Take in a run; of two states of one run the finished one stays, else the later."""
        run_id = str(run["id"])
        known = self._runs.get(run_id)
        if known is None or run.get("end_time") or not known.get("end_time"):
            self._runs[run_id] = run

    @property
    def runs(self) -> list[Run]:
        """Its runs."""
        return list(self._runs.values())

    @property
    def root(self) -> Run | None:
        """Its root run, ended or not: the one that bears the trace's own id."""
        return self._runs.get(self.trace_id)

    @property
    def start(self) -> datetime:
        """When its root started; its first run where the root isn't known."""
        known = moment(self.root.get("start_time")) if self.root is not None else None
        return known or min(at for run in self._runs.values() if (at := moment(run.get("start_time"))) is not None)

    @property
    def end(self) -> datetime | None:
        """When its root ended; None while it is pending, or isn't known."""
        root = self.root
        if root is None or str(root.get("status", "")).lower() == "pending":
            return None
        return moment(root.get("end_time"))

    @property
    def version(self) -> str:
        """What differs once runs are added or end, or their outputs' beginnings change: a digest.

        LangSmith tells of no run when it was written.
        """
        states = sorted(
            "\0".join(
                (
                    str(run.get("id")),
                    str(run.get("status", "")).lower(),
                    end.isoformat() if (end := moment(run.get("end_time"))) is not None else "",
                    nonempty(run.get("outputs_preview")) or "",
                )
            )
            for run in self._runs.values()
        )
        return hashlib.sha256("\n".join(states).encode("utf-8", "replace")).hexdigest()[:16]


class Covered:
    """Runs by trace of one connected stretch of start times, which grows at either side by what isn't read yet."""

    def __init__(self, runs: Runs, *, roots: bool, bodies: bool) -> None:
        self._runs = runs
        self._roots = roots
        self._bodies = bodies
        self._stretch: tuple[datetime, datetime] | None = None
        self.groups: dict[str, Group] = {}

    @property
    def since(self) -> datetime | None:
        """Where the stretch begins; None before anything was read."""
        return self._stretch[0] if self._stretch is not None else None

    def missing(self, start: datetime, end: datetime) -> timedelta:
        """How much of `[start, end)` isn't read yet, with what lies between it and what is."""
        if self._stretch is None:
            return max(end - start, timedelta(0))
        low, high = self._stretch
        return max(low - start, timedelta(0)) + max(end - high, timedelta(0))

    async def cover(self, start: datetime, end: datetime) -> int:
        """Read what is missing of `[start, end)`; returns how many runs that were."""
        if start >= end:
            return 0
        if self._stretch is None:
            await self._read(start, end)
            self._stretch = start, end
            return sum(len(group.runs) for group in self.groups.values())
        low, high = self._stretch
        count = 0
        if start < low:
            count += await self._read(start, low)
        if end > high:
            count += await self._read(high, end)
        self._stretch = min(start, low), max(end, high)
        return count

    def drop(self, trace_ids: Iterable[str]) -> None:
        """Forget these traces: what is read of them later stands alone."""
        for trace_id in trace_ids:
            self.groups.pop(trace_id, None)

    async def _read(self, start: datetime, end: datetime) -> int:
        found = await self._runs.started(start, end, roots=self._roots, bodies=self._bodies)
        for run in found:
            trace_id = nonempty(run.get("trace_id")) or (nonempty(run.get("id")) if self._roots else None)
            if trace_id is not None:
                self.groups.setdefault(trace_id, Group(trace_id)).add(run)
        return len(found)


def requests_for(stretch: timedelta, *, runs_per_second: float, runs_a_page: int) -> float:
    """How many requests the bodies of everything that ran in a stretch of time take, about; 0 for none."""
    seconds = max(stretch.total_seconds(), 0.0)
    return max(seconds * runs_per_second / max(runs_a_page, 1), 1.0) if seconds else 0.0


def read_singly(
    groups: Sequence[Group], covered: Covered, end: datetime, *, runs_per_second: float, runs_a_page: int
) -> list[Group]:
    """Of the traces whose bodies are wanted, those that are better read one by one; the rest by one stretch to `end`.

    One trace that began an hour before the others costs a request by itself, and an hour of everybody's runs
    otherwise; the same goes for a few among many that nobody wants.
    """
    ordered = sorted(groups, key=lambda group: group.start)
    best, cost = len(ordered), float(len(ordered))
    for index, group in enumerate(ordered):
        missing = covered.missing(group.start, end)
        total = index + requests_for(missing, runs_per_second=runs_per_second, runs_a_page=runs_a_page)
        if total < cost:
            best, cost = index, total
    return ordered[:best]
