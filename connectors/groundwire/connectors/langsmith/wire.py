"""The connection to one LangSmith workspace: its requests, retried and within the key's rate limits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import httpx2

from groundwire.connectors.http import Answer, Caller, Patience
from groundwire.connectors.langsmith.quota import SHARED, BucketName, Quotas
from groundwire.connectors.langsmith.settings import LangsmithSettings

if TYPE_CHECKING:
    from langsmith import AsyncLangsmith

__all__ = ["PLATFORM", "Params", "Wire", "iso"]

PLATFORM = "LangSmith"
Params = Mapping[str, str | int | bool | Sequence[str]]


class Wire:
    """Requests to one workspace through the SDK's generated client. Its repr shows the host alone.

    Raises what `Caller` raises: `RetryLater`, `GiveUp`, `SkipThis`.
    """

    def __init__(
        self,
        settings: LangsmithSettings,
        *,
        quotas: Quotas = SHARED,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self.now = now
        self.sleep = sleep
        self._quotas = quotas
        self._flights = asyncio.Semaphore(settings.in_flight)
        self._caller = Caller(
            platform=PLATFORM, transport_errors=(httpx2.TransportError,), patience=patience, sleep=sleep, now=now
        )
        self._sdk: AsyncLangsmith | None = None

    def __repr__(self) -> str:
        return f"Wire(host={self.settings.host!r})"

    async def get(
        self,
        path: str,
        params: Params | None = None,
        *,
        what: str,
        bucket: BucketName | None = "other",
        accept: frozenset[int] = frozenset(),
    ) -> Answer:
        """The answer to a GET; a list among `params` is repeated. `bucket` None is for what no key is counted for."""

        async def send() -> httpx2.Response:
            options: Any = {"params": dict(params)} if params else {}
            return await self._client().get(path, cast_to=httpx2.Response, options=options)

        return await self._call(send, what=what, bucket=bucket, accept=accept)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        what: str,
        bucket: BucketName = "other",
        accept: frozenset[int] = frozenset(),
    ) -> Answer:
        """The answer to a POST of a JSON object."""

        async def send() -> httpx2.Response:
            return await self._client().post(path, cast_to=httpx2.Response, body=dict(body))

        return await self._call(send, what=what, bucket=bucket, accept=accept)

    async def patch(
        self, path: str, body: Mapping[str, Any], *, what: str, accept: frozenset[int] = frozenset()
    ) -> Answer:
        """The answer to a PATCH with a JSON object; all of them write feedback."""

        async def send() -> httpx2.Response:
            return await self._client().patch(path, cast_to=httpx2.Response, body=dict(body))

        return await self._call(send, what=what, bucket="feedback", accept=accept)

    async def close(self) -> None:
        """Let go of the connections."""
        if self._sdk is not None:
            await self._sdk.close()
            self._sdk = None

    def _client(self) -> "AsyncLangsmith":
        if self._sdk is None:
            from langsmith import AsyncLangsmith

            key = self.settings.api_key.get_secret_value()
            # the SDK runs on httpx2 and is typed for httpx
            http: Any = httpx2.AsyncClient(
                timeout=httpx2.Timeout(self.settings.timeout, connect=5.0, pool=None),
                follow_redirects=False,
                verify=self.settings.host.startswith("https:"),  # plain http has no certificate, and loading takes long
            )
            self._sdk = AsyncLangsmith(
                api_key=key,
                tenant_id=self.settings.workspace or "",
                base_url=self.settings.host,
                max_retries=0,
                default_headers={"X-API-Key": key},  # also where the environment names headers for the SDK
                http_client=http,
            )
            if self.settings.workspace is None:
                self._sdk.tenant_id = None  # given as None, it would be read from the environment
        return self._sdk

    async def _call(
        self,
        send: Callable[[], Awaitable[httpx2.Response]],
        *,
        what: str,
        bucket: BucketName | None,
        accept: frozenset[int],
    ) -> Answer:
        counted = (
            None
            if bucket is None
            else self._quotas.bucket(
                self.settings.host,
                self.settings.api_key.get_secret_value(),
                bucket,
                queries=self.settings.queries,
            )
        )

        async def within_limits() -> Answer:
            if counted is not None and (wait := counted.take()):
                await self.sleep(wait)
            async with self._flights:
                answer = await _answered(send)
            if counted is not None:
                counted.learn(answer)
            return answer

        return await self._caller.call(within_limits, what=what, accept=accept)


async def _answered(send: Callable[[], Awaitable[httpx2.Response]]) -> Answer:
    """The SDK's errors turned back into what they are: an answer with a status, or the connection's own fault."""
    from langsmith import APIConnectionError, APIStatusError

    try:
        return Answer.of(await send())
    except APIStatusError as error:
        return Answer.of(error.response)
    except APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.TransportError):
            raise error.__cause__ from None
        raise


def iso(moment: datetime) -> str:
    """A time as LangSmith takes and gives it: ISO 8601 in UTC to the microsecond, with `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
