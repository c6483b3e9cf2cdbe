"""A streamed answer under a guard: held until it was checked, or passed live and checked when it ends."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

from groundwire.scorer.guard.result import GuardResult

__all__ = ["GuardedStream"]


class _Check(Protocol):
    """Checks what was said; with a reason why it can't be judged, where there is one."""

    def __call__(self, answer: str, unread: str | None) -> Coroutine[Any, Any, GuardResult]: ...


class GuardedStream:
    """Iterate over it once, to its end; then `await stream.result()` says what the check came to.

    A stream that is held gives its pieces after the check, behind the note where there is one. A live one gives each
    piece as it comes, and its end isn't held up by the check. Where the source fails, or nobody reads on, the check
    ends as `incomplete`: no judge is asked, and the source's error is raised to whoever reads.
    """

    def __init__(
        self,
        chunks: AsyncIterable[str],
        *,
        held: bool,
        check: _Check,
        begin: Callable[[Coroutine[Any, Any, GuardResult]], "asyncio.Task[GuardResult]"],
    ) -> None:
        """`begin` starts a check that outlives the reader."""
        self.held = held
        """Whether nothing is given before the check."""
        self._chunks = chunks
        self._check = check
        self._begin = begin
        self._checking: asyncio.Task[GuardResult] | None = None
        self._begun = asyncio.Event()
        self._pieces = self._read()

    def __aiter__(self) -> AsyncIterator[str]:
        """The pieces, once."""
        return self._pieces

    async def aclose(self) -> None:
        """Read no further; the check then ends as `incomplete`."""
        await self._pieces.aclose()
        if self._checking is None:  # nobody had begun to read
            self._start("", "incomplete")

    async def result(self) -> GuardResult:
        """What the check came to; waits for the end of the stream. Of a live one, `answer` and `warnings` come late."""
        await self._begun.wait()
        assert self._checking is not None  # noqa: S101 - set with the event
        return await asyncio.shield(self._checking)

    async def _read(self) -> AsyncGenerator[str, None]:
        said: list[str] = []
        try:
            async for piece in self._chunks:
                said.append(piece)
                if not self.held:
                    yield piece
        except BaseException:  # the source failed, the reader left, or the task was cancelled
            self._start("".join(said), "incomplete")
            raise
        self._start("".join(said), None)
        if not self.held:
            return
        result = await self.result()
        if "block" in result.actions:
            yield result.answer
            return
        if result.note:
            yield f"{result.note}\n\n"
        for piece in said:
            yield piece

    def _start(self, answer: str, unread: str | None) -> None:
        self._checking = self._begin(self._check(answer, unread))
        self._begun.set()
