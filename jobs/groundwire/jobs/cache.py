"""The stored cache of judges' replies; entries come in with the settlement of the call that made them."""

from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.jobs.store import Store, cache

__all__ = ["StoredCache"]


@dataclass(frozen=True, kw_only=True)
class StoredCache:
    """A `Cache` in the state, shared by every process."""

    store: Store

    async def get(self, key: str) -> str | None:
        """See `Cache.get`."""
        return (await self.store.read(cache.find, [key])).get(key)

    async def put(self, entries: Mapping[str, str]) -> None:
        """Nothing: `StoredLedger.settle` stores the entries in the transaction that books the call."""
