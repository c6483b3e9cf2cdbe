"""Which Langfuse server it is: what can be read from it and how scores are written to it, learnt and remembered."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from groundwire.connectors.http import Answer
from groundwire.connectors.langfuse.wire import Wire, iso
from groundwire.scorer import ConfigError

__all__ = ["Generation", "Reads", "Server", "Version", "Writes", "is_missing_route", "read_version"]

Version = tuple[int, int, int]
Reads = Literal["v2", "legacy"]
"""`v2`: observations by `/v2/observations`. `legacy`: traces by `/traces` and `/traces/{id}`."""
Writes = Literal["array", "ingestion", "single"]
"""How a score is written: `POST /scores` with a list, `score-create` through `/ingestion`, `POST /scores` with one."""

_ARRAYS_NEVER_UP_TO: Version = (4, 16, 0)
"""Lists are taken from 4.59.0 at the latest, and not yet here."""
_SCORES_V3_SINCE: Version = (3, 179, 0)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a server can do."""

    version: Version | None
    """What `/health` says; None where it says nothing readable."""
    reads: Reads
    writes: Writes
    """Tried first; what the server refuses is replaced by the next."""
    scores: Literal["v3", "v2"]
    """By which endpoint scores are read back."""


class Server:
    """Finds out once which generation a server is, and again after something that was there is gone."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._known: Generation | None = None

    async def generation(self) -> Generation:
        """What the server can do. Raises `ConfigError` where no read path answers, and what the wire raises."""
        if self._known is None:
            self._known = await self._ask()
        return self._known

    def forget(self) -> None:
        """Ask again at the next use: a path that worked has answered 404."""
        self._known = None

    def writes_by(self, writes: Writes) -> None:
        """Remember that scores are written that way."""
        if self._known is not None:
            self._known = replace(self._known, writes=writes)

    async def _ask(self) -> Generation:
        version = read_version((await self.health()).body.get("version"))
        reads = await self._reads()
        return Generation(
            version=version,
            reads=reads,
            writes=self._writes(version),
            scores="v2" if reads == "legacy" and version is not None and version < _SCORES_V3_SINCE else "v3",
        )

    async def health(self, *, accept: frozenset[int] = frozenset()) -> Answer:
        """What `/health` says; no key is needed. Raises `ConfigError` where the host answers with something else."""
        answer = await self._wire.get("/health", what="its health", bucket=None, accept=accept | {404})
        if answer.status == 404 or not isinstance(answer.body, Mapping):
            raise ConfigError(f"no Langfuse answers at {self._wire.settings.host}; check `host`")
        return answer

    async def _reads(self) -> Reads:
        since = iso(self._wire.now() - timedelta(minutes=1))
        answer = await self._wire.get(
            "/v2/observations",
            {"limit": 1, "fields": "core", "fromStartTime": since},
            what="its observations",
            accept=frozenset({404, 410}),
        )
        if answer.ok:
            return "v2"
        answer = await self._wire.get(
            "/traces",
            {"limit": 1, "fields": "core", "fromTimestamp": since},
            what="its traces",
            bucket="legacy",
            accept=frozenset({404, 410}),
        )
        if answer.ok:
            return "legacy"
        raise ConfigError(
            f"the Langfuse at {self._wire.settings.host} offers neither v2 observations nor traces; set "
            "LANGFUSE_MIGRATION_V4_ALLOW_PREVIEW_OPT_IN=true on the server, or check `host`"
        )

    def _writes(self, version: Version | None) -> Writes:
        # what lies between the two known versions is tried: a server that takes no list says so and stores nothing
        known_old = version is not None and version <= _ARRAYS_NEVER_UP_TO and not self._wire.settings.is_cloud
        return "ingestion" if known_old else "array"


def read_version(value: object) -> Version | None:
    """`4.16.0`, also with a `v` before it or a suffix behind it."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", value) if isinstance(value, str) else None
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def is_missing_route(answer: Answer) -> bool:
    """Whether a 404 or 410 means that the server has no such path, or not in its mode, and not that an item is gone."""
    if answer.status not in (404, 410):
        return False
    return not (isinstance(answer.body, Mapping) and answer.body.get("error") == "LangfuseNotFoundError")
