"""Which LangSmith server it is, and the project on it: asked once and remembered."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from groundwire.connectors.formats.spans import nonempty
from groundwire.connectors.http import Answer
from groundwire.connectors.langsmith.settings import EVALUATORS, Api
from groundwire.connectors.langsmith.wire import Params, Wire, iso
from groundwire.scorer import ConfigError, GiveUp

__all__ = ["NO_ROUTE", "Generation", "Project", "Server", "Version", "read_version"]

Version = tuple[int, int, int]

NO_ROUTE = frozenset({404, 405, 410, 501})
"""What a server answers that doesn't have a path, or no longer."""
_V2_SINCE: Version = (0, 16, 0)


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a server can do."""

    version: Version | None
    """What `/info` says; None where it says nothing readable."""
    reads: Api
    """By which generation of the API runs are read."""
    smithdb_only: bool
    """Whether the older queries are gone."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """A tracing project."""

    project_id: str
    name: str
    long_lived: bool
    """Whether its traces are kept for the extended time anyway."""


class Server:
    """Finds out once which generation a server is, and again after something that was there is gone."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._generation: Generation | None = None
        self._project: Project | None = None

    async def generation(self) -> Generation:
        """What the server can do. Raises `ConfigError` where no LangSmith answers, and what the wire raises."""
        if self._generation is None:
            self._generation = await self._ask()
        return self._generation

    async def project(self) -> Project:
        """The project of the settings. Raises `GiveUp` where there is none, `ConfigError` for the evaluators' own."""
        if self._project is None:
            self._project = await self._find()
        return self._project

    def forget(self) -> None:
        """Ask again at the next use: a path that worked is gone."""
        self._generation = None

    async def info(self) -> Answer:
        """What `/info` says; no key is needed. Raises `ConfigError` where the host answers with something else."""
        answer = await self._wire.get("/api/v1/info", what="its version", bucket=None, accept=NO_ROUTE)
        if not answer.ok:
            answer = await self._wire.get("/info", what="its version", bucket=None, accept=NO_ROUTE)
        if not answer.ok or not isinstance(answer.body, Mapping):
            raise ConfigError(f"no LangSmith answers at {self._wire.settings.host}; check `host`")
        return answer

    async def _ask(self) -> Generation:
        body = (await self.info()).body
        version = read_version(body.get("version"))
        held = body.get("instance_flags")
        flags = held if isinstance(held, Mapping) else {}
        # as the SDK reads them: the older database is there unless it is said to be gone, the newer only if it is said
        older, newer = bool(flags.get("ch_query_enabled", True)), bool(flags.get("sdb_query_enabled", False))
        smithdb_only = newer and not older
        reads: Api | None = self._wire.settings.api
        if reads is None and smithdb_only:
            reads = "v2"
        elif reads is None and not newer and version is not None and version < _V2_SINCE:
            reads = "v1"
        return Generation(version=version, reads=reads or await self._tried(), smithdb_only=smithdb_only)

    async def _tried(self) -> Api:
        """The newer generation where it answers."""
        now = self._wire.now()
        body = {
            "project_ids": [(await self.project()).project_id],
            "is_root": True,
            "min_start_time": iso(now - timedelta(minutes=1)),
            "max_start_time": iso(now),
            "page_size": 1,
            "selects": ["ID"],
        }
        answer = await self._wire.post(
            "/api/v2/runs/query", body, what="its runs", bucket="query", accept=NO_ROUTE | {400, 422}
        )
        return "v2" if answer.ok else "v1"

    async def _find(self) -> Project:
        settings = self._wire.settings
        wanted = settings.project_id
        older = f"/api/v1/sessions/{wanted}" if wanted else "/api/v1/sessions"
        params: Params = {} if wanted else {"name": settings.project, "limit": 1, "include_stats": False}
        answer = await self._wire.get(older, params, what="the project", accept=NO_ROUTE)
        records: Any = answer.body if answer.ok else None
        if answer.status in NO_ROUTE:
            newer: Params = {"id": [wanted]} if wanted else {"name": settings.project}
            answer = await self._wire.get(
                "/api/v2/sessions", {**newer, "page_size": 1}, what="the project", accept=NO_ROUTE
            )
            records = answer.body.get("items") if isinstance(answer.body, Mapping) else None
        if isinstance(records, Mapping):
            records = [records]
        found = next((one for one in records or [] if isinstance(one, Mapping) and nonempty(one.get("id"))), None)
        if found is None:
            raise GiveUp(
                f'LangSmith has no project "{settings.project}" for this key; check `project` and `workspace` '
                "(a project is made by its first trace)"
            )
        name = nonempty(found.get("name")) or ""
        if name.lower() == EVALUATORS:
            raise ConfigError("that project holds the traces of evaluators, which are never scored; name another")
        tier = str(found.get("trace_tier") or "").replace("_", "").lower()
        return Project(project_id=str(found["id"]), name=name, long_lived=tier == "longlived")


def read_version(value: object) -> Version | None:
    """`0.18.2`, also with a `v` before it or a suffix behind it."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", value) if isinstance(value, str) else None
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
