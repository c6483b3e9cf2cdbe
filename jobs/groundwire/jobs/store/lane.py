"""Threads that run transactions for an event loop, several in one commit where several wait."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

__all__ = ["Lane"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _Job:
    do: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class Lane:
    """A queue of transactions and the threads that run them.

    With `most` above 1, the jobs that wait at one moment share a transaction and its commit: on SQLite that is half of
    the cost of a small write. Each is still all or nothing: where one fails, they are rolled back together and run one
    by one. A job therefore changes nothing but the database.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        threads: int,
        most: int = 1,
        explain: Callable[[Exception], Exception | None],
    ) -> None:
        self._engine = engine
        self._most = most
        self._explain = explain
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"groundwire-state-{number}", daemon=True)
            for number in range(threads)
        ]
        self._open = True
        for thread in self._threads:
            thread.start()

    async def run(self, do: Callable[[Connection], T]) -> T:
        """Run a job and commit. A job that was handed over runs to its end, also where its caller is cancelled."""
        if not self._open:
            raise RuntimeError("the store is closed")
        loop = asyncio.get_running_loop()
        job = _Job(do=do, loop=loop, future=loop.create_future())
        self._queue.put(job)
        result: T = await job.future
        return result

    def close(self) -> None:
        """Finish what was handed over, and end the threads."""
        self._open = False
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            try:
                while len(batch) < self._most:
                    job = self._queue.get_nowait()
                    if job is None:
                        self._queue.put(None)  # closing: seen again when this batch is done
                        break
                    batch.append(job)
            except Empty:
                pass
            self._commit(batch)

    def _commit(self, batch: Sequence[_Job]) -> None:
        try:
            with self._engine.begin() as tx:
                results = [job.do(tx) for job in batch]
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for it
            if self._explain(error) is None and len(batch) > 1:
                for job in batch:
                    self._commit([job])
                return
            _tell(batch, [self._explain(error) or error for _ in batch], failed=True)
        else:
            _tell(batch, results, failed=False)


def _tell(batch: Sequence[_Job], results: Sequence[Any], *, failed: bool) -> None:
    """Wake every loop once, with all of its results."""
    for loop in {job.loop for job in batch}:
        mine = [(job.future, result) for job, result in zip(batch, results, strict=True) if job.loop is loop]
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_resolve, mine, failed)


def _resolve(results: "Sequence[tuple[asyncio.Future[Any], Any]]", failed: bool) -> None:
    for future, result in results:
        if future.done():  # its caller was cancelled
            continue
        if failed:
            future.set_exception(result)
        else:
            future.set_result(result)
