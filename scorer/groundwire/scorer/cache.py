"""What judges have answered before: a rerun costs nothing, and identical calls in flight are made once."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

__all__ = ["Cache", "Flights", "MemoryCache"]

T = TypeVar("T")


class Cache(Protocol):
    """Replies by key. A key is the digest of the judge's version and the prompt; a reply is the text that was read."""

    async def get(self, key: str) -> str | None:
        """The reply under that key."""
        ...

    async def put(self, entries: Mapping[str, str]) -> None:
        """Keep these replies; a cache whose ledger stores the entries with the settlement does nothing here."""
        ...


@dataclass
class MemoryCache:
    """A cache for one process; what was not asked for longest goes first."""

    entries: int = 10_000
    """Most replies kept."""
    _kept: "OrderedDict[str, str]" = field(default_factory=OrderedDict)

    async def get(self, key: str) -> str | None:
        """See `Cache.get`."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    async def put(self, entries: Mapping[str, str]) -> None:
        """See `Cache.put`."""
        for key, reply in entries.items():
            self._kept[key] = reply
            self._kept.move_to_end(key)
        while len(self._kept) > self.entries:
            self._kept.popitem(last=False)


@dataclass
class Flights(Generic[T]):
    """Calls under way, by key: who asks the same meanwhile waits for the one answer."""

    _under_way: "dict[str, asyncio.Future[T | None]]" = field(default_factory=dict)

    async def once(self, key: str, make: Callable[[], Awaitable[T]], *, shared: Callable[[T], bool]) -> tuple[T, bool]:
        """The answer, and whether somebody else's call gave it.

        An answer that is not to be `shared`, an exception and a cancellation concern the caller they happened to; one
        of those who waited then makes the call itself.
        """
        while (flight := self._under_way.get(key)) is not None:
            answer = await asyncio.shield(flight)
            if answer is not None:
                return answer, True
        flight = asyncio.get_running_loop().create_future()
        self._under_way[key] = flight
        answer = None
        try:
            answer = await make()
            return answer, False
        finally:
            del self._under_way[key]
            flight.set_result(answer if answer is not None and shared(answer) else None)
