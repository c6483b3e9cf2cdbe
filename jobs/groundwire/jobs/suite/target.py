"""What is under test: a function of the user's, or outputs that were recorded."""

import asyncio
import contextvars
import inspect
import threading
import traceback
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

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
        self._loop: _Loop | None = None

    async def answer(self, case: Case, trial: int) -> Output | Fault:
        """See `Target.answer`. The latency is measured where the target doesn't tell it."""
        extras = {name: value for name, value in {"trial": trial, "case": case}.items() if name in self._extras}
        began = perf_counter()
        try:
            async with asyncio.timeout(self._timeout):
                value = await _in_thread(lambda: self._function(case.input, **extras))
                if inspect.isawaitable(value):
                    value = await self._running_loop().run(value)
        except TimeoutError:
            took = perf_counter() - began
            if self._loop is not None and await self._loop.is_stuck():
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

    def _running_loop(self) -> "_Loop":
        if self._loop is None:
            self._loop = _Loop()
        return self._loop


def _extras(function: Callable[..., Any]) -> frozenset[str]:
    """Which of `trial` and `case` the function takes by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return frozenset(named[1:] if named and named[0] not in ("trial", "case") else named) & {"trial", "case"}


def _where(error: BaseException) -> str:
    """The error's kind and place; its message may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"raised {type(error).__name__}{place}"


async def _in_thread(call: Callable[[], Any]) -> Any:
    """What the call returns, or a `Fault` for what it raises.

    It runs in a daemon thread of its own: a pool would wait for one that hangs.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any) -> None:
        if not future.done():
            future.set_result(value)

    def work() -> None:
        try:
            value = context.run(call)
        except BaseException as error:  # noqa: BLE001 - whatever a target raises, SystemExit included, is its trial's
            value = Fault(message=_where(error))
        with suppress(RuntimeError):  # the loop has ended meanwhile: nobody waits any more
            loop.call_soon_threadsafe(settle, value)

    threading.Thread(target=work, daemon=True, name="groundwire-target").start()
    return await future


class _Loop:
    """An event loop in a daemon thread, for async targets."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="groundwire-target-loop")
        self._thread.start()

    async def run(self, value: Awaitable[Any]) -> Any:
        """What it comes to, or a `Fault` for what it raises."""

        async def awaited() -> Any:
            try:
                return await value
            except GeneratorExit:
                raise
            except BaseException as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                return Fault(message=_where(error))

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), self._loop))

    async def is_stuck(self) -> bool:
        """Whether something blocks the loop: it doesn't answer within a second."""
        pinged = self._loop.create_future()
        self._loop.call_soon_threadsafe(pinged.set_result, None)
        for _ in range(100):
            if pinged.done():
                return False
            await asyncio.sleep(0.01)
        return True

    def stop(self) -> None:
        """End what still runs on it, then the loop and its thread; what won't end keeps them until the process ends."""

        async def end() -> None:
            left = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
            for task in left:
                task.cancel()
            if not left or not (await asyncio.wait(left, timeout=0.5))[1]:
                self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            self._loop.close()


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
