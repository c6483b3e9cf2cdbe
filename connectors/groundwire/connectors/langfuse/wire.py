"""The connection to one Langfuse project: its requests, retried and within the organization's rate limits."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx

from groundwire.connectors.http import Answer, Caller, Patience
from groundwire.connectors.langfuse.quota import SHARED, Bucket, BucketName, Quotas
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.scorer import ConfigError, GiveUp

if TYPE_CHECKING:
    from langfuse.api import AsyncLangfuseAPI

__all__ = ["PLATFORM", "Project", "Wire", "iso"]

PLATFORM = "Langfuse"
_PREFIX = "/api/public"
_UNKNOWN = "?"
"""Stands for the organization until the server has named it."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """The project that the keys open."""

    project_id: str
    name: str
    organization_id: str


class Wire:
    """Requests to one project. Its repr shows the host alone.

    Raises what `Caller` raises: `RetryLater`, `GiveUp`, `SkipThis`.
    """

    def __init__(
        self,
        settings: LangfuseSettings,
        *,
        quotas: Quotas = SHARED,
        patience: Patience | None = None,
        keep_alive: bool = True,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Without `keep_alive` every request has its own connection, and nothing needs closing."""
        self.settings = settings
        self.now = now
        self._quotas = quotas
        self._sleep = sleep
        self._flights = asyncio.Semaphore(settings.in_flight)
        self._caller = Caller(
            platform=PLATFORM, transport_errors=(httpx.TransportError,), patience=patience, sleep=sleep, now=now
        )
        timeouts = httpx.Timeout(settings.timeout, connect=5.0, pool=None)

        async def own_timeouts(request: httpx.Request) -> None:
            # the SDK puts one number in the place of all four
            request.extensions["timeout"] = timeouts.as_dict()

        self._http = httpx.AsyncClient(
            base_url=settings.host + _PREFIX,
            auth=(settings.public_key.get_secret_value(), settings.secret_key.get_secret_value()),
            headers={"x-langfuse-public-key": settings.public_key.get_secret_value()},
            timeout=timeouts,
            limits=httpx.Limits(max_keepalive_connections=None if keep_alive else 0),
            event_hooks={"request": [own_timeouts]},
        )
        self._project: Project | None = None
        self._sdk: AsyncLangfuseAPI | None = None
        self._asked = asyncio.Lock()

    def __repr__(self) -> str:
        return f"Wire(host={self.settings.host!r})"

    async def get(
        self,
        path: str,
        params: Mapping[str, str | int] | None = None,
        *,
        what: str,
        bucket: BucketName | None = "general",
        accept: frozenset[int] = frozenset(),
    ) -> Answer:
        """The answer to a GET below `/api/public`. `bucket` None is for what the server doesn't count."""
        return await self._call(
            lambda: self._http.get(path, params=dict(params) if params else None),
            what=what,
            bucket=bucket,
            accept=accept,
        )

    async def post(
        self,
        path: str,
        body: Any,
        *,
        what: str,
        bucket: BucketName = "general",
        accept: frozenset[int] = frozenset(),
    ) -> Answer:
        """The answer to a POST below `/api/public`. The body is JSON; a number that isn't finite raises ValueError."""
        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        data = content.encode("utf-8", "replace")
        return await self._call(
            lambda: self._http.post(path, content=data, headers={"content-type": "application/json"}),
            what=what,
            bucket=bucket,
            accept=accept,
        )

    async def delete(self, path: str, *, what: str, accept: frozenset[int] = frozenset()) -> Answer:
        """The answer to a DELETE below `/api/public`; all of them are in the bucket `delete`."""
        return await self._call(lambda: self._http.delete(path), what=what, bucket="delete", accept=accept)

    async def through_sdk(
        self,
        call: Callable[["AsyncLangfuseAPI"], Awaitable[Answer]],
        *,
        what: str,
        accept: frozenset[int] = frozenset(),
    ) -> Answer:
        """The answer to a call that the SDK makes over the same connection, its own retries off.

        `call` gives an `Answer` for success; the SDK's `ApiError` becomes one here.
        """
        from langfuse.api.core.api_error import ApiError

        sdk = self._client()

        async def send() -> Answer:
            try:
                return await call(sdk)
            except ApiError as error:
                headers = {name.lower(): value for name, value in (error.headers or {}).items()}
                return Answer(status=error.status_code or 500, headers=headers, body=error.body)

        return await self._counted(send, what=what, bucket=await self._bucket("general"), accept=accept)

    async def project(self) -> Project:
        """The project of the keys; asked for once. Raises `GiveUp` for keys that open none."""
        async with self._asked:
            if self._project is None:
                self._project = await self._ask_project()
            return self._project

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _ask_project(self) -> Project:
        answer = await self._call(
            lambda: self._http.get("/projects"), what="the project of the key", bucket=None, accept=frozenset({404})
        )
        body = answer.body
        if not isinstance(body, Mapping) or answer.status == 404:
            raise ConfigError(f"no Langfuse answers at {self.settings.host}; check `host`")
        projects = body.get("data")
        if not isinstance(projects, list) or not projects or not isinstance(projects[0], Mapping):
            raise GiveUp("the keys open no Langfuse project; use a project's keys, not the organization's")
        organization = projects[0].get("organization")
        return Project(
            project_id=str(projects[0].get("id") or _UNKNOWN),
            name=str(projects[0].get("name") or ""),
            organization_id=str(organization.get("id") if isinstance(organization, Mapping) else _UNKNOWN),
        )

    def _client(self) -> "AsyncLangfuseAPI":
        if self._sdk is None:
            from langfuse.api import AsyncLangfuseAPI

            self._sdk = AsyncLangfuseAPI(
                base_url=self.settings.host,
                username=self.settings.public_key.get_secret_value(),
                password=self.settings.secret_key.get_secret_value(),
                x_langfuse_public_key=self.settings.public_key.get_secret_value(),
                httpx_client=self._http,
            )
        return self._sdk

    async def _bucket(self, name: BucketName) -> Bucket:
        project = await self.project()
        return self._quotas.bucket(self.settings.host, project.organization_id, name, self.settings.limits)

    async def _call(
        self,
        send: Callable[[], Awaitable[httpx.Response]],
        *,
        what: str,
        bucket: BucketName | None,
        accept: frozenset[int],
    ) -> Answer:
        async def answered() -> Answer:
            return Answer.of(await send())

        counted_in = None if bucket is None else await self._bucket(bucket)
        return await self._counted(answered, what=what, bucket=counted_in, accept=accept)

    async def _counted(
        self, send: Callable[[], Awaitable[Answer]], *, what: str, bucket: Bucket | None, accept: frozenset[int]
    ) -> Answer:
        async def within_limits() -> Answer:
            if bucket is None:
                async with self._flights:
                    return await send()
            if wait := bucket.take():
                await self._sleep(wait)
            async with self._flights:
                answer = await send()
            bucket.learn(answer)
            return answer

        return await self._caller.call(within_limits, what=what, accept=accept)


def iso(moment: datetime) -> str:
    """A time as Langfuse takes and gives it: ISO 8601 in UTC to the millisecond, with `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
