"""What is the user's, run beside the suite's own event loop: it may hang, block or exit and costs itself alone."""

import asyncio
import contextvars
import threading
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from groundwire.jobs.suite.output import Fault

__all__ = ["OwnLoop", "in_thread"]


def _where(error: BaseException) -> str:
    """The error's kind and place; its message may hold anything."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"raised {type(error).__name__}{place}"


async def in_thread(call: Callable[[], Any]) -> Any:
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


class OwnLoop:
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
