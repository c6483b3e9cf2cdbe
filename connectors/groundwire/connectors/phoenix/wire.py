"""The connection to one Phoenix server: its requests, tried again where that may help."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx

from groundwire.connectors.http import Answer, Caller, Patience
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.scorer import ConfigError, RetryLater

__all__ = ["PLATFORM", "Params", "Project", "Version", "Wire", "iso", "read_version"]

PLATFORM = "Phoenix"
Params = Mapping[str, str | int | Sequence[str]]
Version = tuple[int, int, int]
Project = tuple[str, str]
"""Id and name."""
_VERSION_HEADER = "x-phoenix-server-version"
_NO_PROJECT_FOR = 60.0
"""Seconds to wait for a project that isn't there: Phoenix makes it when its first trace comes."""


class Wire:
    """Requests to one server. Its repr shows the host alone.

    Raises what `Caller` raises: `RetryLater`, `GiveUp`, `SkipThis`. Phoenix's own client isn't used because it
    doesn't pass on the order in which spans were stored, nor the cursor after a page.
    """

    def __init__(
        self,
        settings: PhoenixSettings,
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.now = now
        self.sleep = sleep
        self.version: Version | None = None
        """The server's, as its last answer told it; None where it tells none."""
        self._flights = asyncio.Semaphore(settings.in_flight)
        self._caller = Caller(
            platform=PLATFORM, transport_errors=(httpx.TransportError,), patience=patience, sleep=sleep, now=now
        )
        self._http = httpx.AsyncClient(
            base_url=settings.host,
            headers={"authorization": f"Bearer {settings.key}"} if settings.key else {},
            timeout=httpx.Timeout(settings.timeout, connect=5.0, pool=None),
            verify=settings.host.startswith("https:"),  # plain http has no certificate, and loading takes long
            transport=transport,
        )
        self._project: Project | None = None
        self._asked = asyncio.Lock()

    def __repr__(self) -> str:
        return f"Wire(host={self.settings.host!r})"

    async def get(
        self, path: str, params: Params | None = None, *, what: str, accept: frozenset[int] = frozenset()
    ) -> Answer:
        """The answer to a GET; a list among `params` is repeated."""
        return await self._call(
            lambda: self._http.get(path, params=dict(params) if params else None), what=what, accept=accept
        )

    async def post(
        self, path: str, body: Any, *, params: Params | None = None, what: str, accept: frozenset[int] = frozenset()
    ) -> Answer:
        """The answer to a POST. The body is JSON; a number that isn't finite raises ValueError."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return await self._call(
            lambda: self._http.post(
                path,
                content=content,
                headers={"content-type": "application/json"},
                params=dict(params) if params else None,
            ),
            what=what,
            accept=accept,
        )

    async def delete(self, path: str, params: Params, *, what: str, accept: frozenset[int] = frozenset()) -> Answer:
        """The answer to a DELETE."""
        return await self._call(lambda: self._http.delete(path, params=dict(params)), what=what, accept=accept)

    async def project(self) -> Project:
        """The project that the settings name. Raises `RetryLater` while there is none."""
        async with self._asked:
            if self._project is None:
                self._project = await self._find_project()
            return self._project

    async def project_path(self, rest: str) -> str:
        """The path of something below the project."""
        project_id, _ = await self.project()
        return f"/v1/projects/{quote(project_id, safe='')}/{rest}"

    def forget_project(self) -> None:
        """Look the project up once more: it was deleted, and may have been made again under another id."""
        self._project = None

    async def projects(self, *, named: str | None = None) -> list[Project]:
        """The server's projects, or those whose name contains a text, without those of experiments."""
        found: list[Project] = []
        params: dict[str, str | int] = {"limit": 100, **({"name_contains": named} if named else {})}
        while True:
            answer = await self.get("/v1/projects", params, what="its projects", accept=frozenset({404}))
            body = answer.body
            if not isinstance(body, Mapping) or not isinstance(body.get("data"), list):
                raise ConfigError(f"no Phoenix answers at {self.settings.host}; check `host`")
            found += [(str(one.get("id")), str(one.get("name"))) for one in body["data"] if isinstance(one, Mapping)]
            cursor = body.get("next_cursor")
            if not isinstance(cursor, str) or not cursor:
                return found
            params["cursor"] = cursor

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _find_project(self) -> Project:
        wanted = self.settings.project
        for project_id, name in await self.projects(named=wanted):
            if name == wanted:
                return project_id, name
        for project_id, name in await self.projects():  # servers before 17.16 list all anyway
            if wanted in (project_id, name):
                return project_id, name
        raise RetryLater(f'Phoenix has no project "{wanted}" yet', after=_NO_PROJECT_FOR)

    async def _call(
        self, send: Callable[[], Awaitable[httpx.Response]], *, what: str, accept: frozenset[int]
    ) -> Answer:
        async def once() -> Answer:
            async with self._flights:
                answer = Answer.of(await send())
            self.version = read_version(answer.headers.get(_VERSION_HEADER)) or self.version
            return answer

        return await self._caller.call(once, what=what, accept=accept)


def read_version(text: str | None) -> Version | None:
    """A version's three numbers; None where it begins with none."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", text or "")
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def iso(moment: datetime) -> str:
    """A time as Phoenix takes it: ISO 8601 in UTC to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
