"""What is under test: a function of the user's, or outputs that were recorded."""

import asyncio
import inspect
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from groundwire.jobs.suite.isolation import OwnLoop, in_thread
from groundwire.jobs.suite.output import Fault, Output, read_output
from groundwire.jobs.suite.spec import json_lines
from groundwire.scorer import Case, ConfigError

__all__ = ["FunctionTarget", "RecordedTarget", "Target"]


class Target(Protocol):
    """Answers the cases of a suite."""

    @property
    def name(self) -> str:
        """What the results call it."""
        ...

    async def answer(self, case: Case, trial: int) -> Output | Fault:
        """One trial's output, or why there is none. Raises nothing, whatever the target does."""
        ...


class FunctionTarget:
    """A function, sync or async, called with a case's input and, where it takes them, `trial` and `case`.

    It runs beside the suite's own event loop, in daemon threads: one that hangs or blocks costs its trial and nothing
    else. Async functions share one loop of their own, so that they can share clients.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, timeout: float) -> None:
        """`timeout` in seconds for one trial."""
        self.name = name
        self._function = function
        self._timeout = timeout
        self._extras = _extras(function)
        self._loop: OwnLoop | None = None

    async def answer(self, case: Case, trial: int) -> Output | Fault:
        """See `Target.answer`. The latency is measured where the target doesn't tell it."""
        extras = {name: value for name, value in {"trial": trial, "case": case}.items() if name in self._extras}
        began = perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                value = await in_thread(lambda: self._function(case.input, **extras))
                if inspect.isawaitable(value):
                    value = await self._running_loop().run(value)
        except TimeoutError:
            took = perf_counter() - began
            loop = self._loop
            if loop is not None and await loop.is_stuck() and self._loop is loop:
                self._loop = None
            return Fault(message=f"gave nothing within {self._timeout:g} s", latency_seconds=took)
        took = perf_counter() - began
        output = value if isinstance(value, Fault) else read_output(value)
        return output if output.latency_seconds is not None else replace(output, latency_seconds=took)

    async def close(self) -> None:
        """End the loop of async targets; one that is stuck ends with the process."""
        if self._loop is not None and not await self._loop.is_stuck():
            self._loop.stop()
        self._loop = None

    def _running_loop(self) -> "OwnLoop":
        if self._loop is None:
            self._loop = OwnLoop()
        return self._loop


def _extras(function: Callable[..., Any]) -> frozenset[str]:
    """Which of `trial` and `case` the function takes by name, after its input."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return frozenset(named[1:]) & {"trial", "case"}


class RecordedTarget:
    """Outputs that were recorded, one JSON object a line: `{id, trial?, answer, …}` as `read_output` reads them."""

    def __init__(self, path: Path) -> None:
        """Read them. Raises `ConfigError`."""
        self.name = path.name
        self.path = path
        self._by_case: dict[str, dict[int, Output | Fault]] = defaultdict(dict)
        for number, data in json_lines(path):
            case = str(data.get("id", data.get("case", "")))
            if not case:
                raise ConfigError(f"{path} line {number}: no id")
            found = self._by_case[case]
            trial = data.get("trial", len(found))
            if not isinstance(trial, int) or isinstance(trial, bool) or trial < 0:
                raise ConfigError(f"{path} line {number}: trial is a number from 0")
            if trial in found:
                raise ConfigError(f"{path} line {number}: {case!r} has a trial {trial} already")
            output = read_output(data)
            if isinstance(output, Fault) and not data.get("error"):
                raise ConfigError(f"{path} line {number}: {output.message}")
            found[trial] = output

    @property
    def most_trials(self) -> int:
        """Trials of the case that has most of them."""
        return max((len(found) for found in self._by_case.values()), default=0)

    def require(self, cases: tuple[Case, ...], trials: int) -> None:
        """Raise `ConfigError` unless every case has that many trials, and no other case has any."""
        known = {case.id for case in cases}
        strange = sorted(self._by_case.keys() - known)
        if strange:
            raise ConfigError(f"{self.path}: the suite has no case {strange[0]!r}")
        for case in cases:
            missing = [trial for trial in range(trials) if trial not in self._by_case.get(case.id, {})]
            if missing:
                raise ConfigError(f"{self.path}: {case.id!r} has no trial {missing[0]} (trials = {trials}, from 0)")

    async def answer(self, case: Case, trial: int) -> Output | Fault:
        """See `Target.answer`."""
        return self._by_case[case.id][trial]
