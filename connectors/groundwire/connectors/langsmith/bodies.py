"""Whole traces read in as few requests as can be: by stretches of time, or one by one."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from groundwire.connectors.base import Wanted
from groundwire.connectors.cursor import Mark
from groundwire.connectors.given import Given
from groundwire.connectors.langsmith.groups import Covered, Group, read_singly
from groundwire.connectors.langsmith.mapping import problems_of, trace_of
from groundwire.connectors.langsmith.payloads import Payloads
from groundwire.connectors.langsmith.runs import Run, Runs
from groundwire.connectors.langsmith.server import Project

__all__ = ["AFTER", "Bodies"]

AFTER = timedelta(seconds=60)
"""How long after its root's end a trace's last runs may begin and still be read with it; later ones are a sweep's."""
_AN_HOUR = timedelta(hours=1)


class Bodies:
    """Reads whole traces of one project. One of these serves one pull, in one direction of time."""

    def __init__(
        self,
        runs: Runs,
        payloads: Payloads,
        *,
        project: Project,
        now: Callable[[], datetime],
        backwards: bool = False,
    ) -> None:
        self.runs = runs
        self._payloads = payloads
        self._project = project
        self._now = now
        self._backwards = backwards
        self._covered = Covered(runs, roots=False, bodies=True)
        self._runs_a_trace = 8.0
        """As last seen."""

    async def of(self, groups: Sequence[Group], *, traces_per_second: float) -> dict[str, list[Run]]:
        """The runs of these traces, whose roots have ended. A trace that is gone is left out.

        `traces_per_second` is how many traces end in a second there, wanted or not.
        """
        if not groups:
            return {}
        end = max(_end_of(group) for group in groups)
        until = min(end + AFTER, max(self._now(), end + timedelta(milliseconds=1)))
        single = read_singly(
            groups,
            self._covered,
            until,
            runs_per_second=traces_per_second * self._runs_a_trace,
            runs_a_page=self.runs.a_page,
        )
        alone = {group.trace_id for group in single}
        together = [group for group in groups if group.trace_id not in alone]
        found: dict[str, list[Run]] = {}
        if together:
            start = min(group.start for group in together)
            await self._covered.cover(start, until)
            for group in together:
                held = self._covered.groups.get(group.trace_id)
                if held is None or held.root is None or len(held.runs) < len(group.runs):
                    single.append(group)
                else:
                    found[group.trace_id] = held.runs
            if found:
                self._runs_a_trace = max(sum(len(runs) for runs in found.values()) / len(found), 1.0)
            self._forget(groups)
        filled = await self._payloads.filled(run for runs in found.values() for run in runs)
        by_trace: dict[str, list[Run]] = {}
        for run in filled:
            by_trace.setdefault(str(run.get("trace_id")), []).append(run)
        return by_trace | await self.singly(single)

    async def singly(self, groups: Iterable[Group]) -> dict[str, list[Run]]:
        """The runs of these traces, one request each. A trace that is gone is left out."""
        asked = list(groups)
        read = await asyncio.gather(*(self._one(group) for group in asked))
        return {group.trace_id: runs for group, runs in zip(asked, read, strict=True) if runs}

    def given(self, group: Group, runs: Sequence[Run] | None) -> Given:
        """What becomes of a trace; `runs` is None where nobody wants it."""
        at = group.end
        mark = None
        if at is not None:
            whole = group if runs is None else _grouped(group.trace_id, runs)
            mark = Mark(trace_id=group.trace_id, at=at, version=whole.version)
        return Given(
            trace_id=group.trace_id,
            at=at or group.start,
            mark=mark,
            trace=None if runs is None else trace_of(runs, project=self._project.project_id, name=self._project.name),
            problems=() if runs is None else problems_of(runs),
        )

    def wants(self, group: Group, wanted: Wanted | None) -> bool:
        """Whether the trace with this root is wanted."""
        if wanted is None or group.root is None:
            return wanted is None or group.root is not None
        head = trace_of([group.root], project=self._project.project_id, name=self._project.name)
        return head is not None and wanted(head)

    async def _one(self, group: Group) -> list[Run]:
        around = (group.start - _AN_HOUR, max(self._now(), group.end or group.start) + _AN_HOUR)
        return await self._payloads.filled(await self.runs.of_trace(group.trace_id, around=around))

    def _forget(self, done: Sequence[Group]) -> None:
        """Let go of the traces that were just read, and of those that this pull has passed."""
        passed = {group.trace_id for group in done}
        first, last = min(_end_of(group) for group in done), max(_end_of(group) for group in done)
        for trace_id, group in self._covered.groups.items():
            end = group.end
            if end is not None and (end >= last if self._backwards else end < first):
                passed.add(trace_id)
        self._covered.drop(passed)


def _end_of(group: Group) -> datetime:
    return group.end or group.start


def _grouped(trace_id: str, runs: Iterable[Run]) -> Group:
    group = Group(trace_id)
    for run in runs:
        group.add(run)
    return group
