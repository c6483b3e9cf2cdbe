"""Large inputs and outputs that LangSmith keeps in a store: fetched from allowed places only, and never more than so
many bytes."""

import asyncio
import fnmatch
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2

from groundwire.connectors.formats.spans import nonempty
from groundwire.connectors.langsmith.runs import Run
from groundwire.connectors.langsmith.settings import LangsmithSettings

__all__ = ["MISSING", "Payloads", "Resolve", "reference"]

MISSING = "groundwirePayloadMissing"
"""On a run: why its inputs or outputs could not be fetched."""
_STORES = (
    "storage.googleapis.com",
    "*.storage.googleapis.com",
    "*.amazonaws.com",
    "*.blob.core.windows.net",
)
"""Where LangSmith's own regions and self-hosted servers keep large payloads; their addresses must be public."""
_SIDES = ("inputs", "outputs")

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""A host's addresses, as text."""


class Payloads:
    """Fetches what stands behind presigned URLs. No key goes there, and no redirect is followed."""

    def __init__(
        self,
        settings: LangsmithSettings,
        *,
        resolve: Resolve | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._resolve = resolve or _addresses
        self._transport = transport
        self._http: httpx2.AsyncClient | None = None
        self._flights = asyncio.Semaphore(settings.in_flight)

    async def filled(self, runs: Iterable[Run]) -> list[Run]:
        """The runs with their inputs and outputs in place; one that couldn't be fetched says why under `MISSING`."""
        return list(await asyncio.gather(*(self._filled(run) for run in runs)))

    async def close(self) -> None:
        """Let go of the connections."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _filled(self, run: Run) -> Run:
        changed: dict[str, Any] = {}
        for side in _SIDES:
            url = reference(run, side)
            if url is None:
                continue
            try:
                async with self._flights:
                    changed[side] = await self._fetch(url)
            except _Refused as refusal:
                changed[MISSING] = f"its {side} {refusal}"
        return {**run, **changed} if changed else run

    async def _fetch(self, url: str) -> Any:
        address = await self._checked(url)
        if self._http is None:
            self._http = httpx2.AsyncClient(
                timeout=httpx2.Timeout(self._settings.timeout, connect=5.0),
                follow_redirects=False,
                trust_env=False,
                transport=self._transport,
            )
        try:
            async with self._http.stream("GET", address) as response:
                if response.status_code != 200:
                    raise _Refused(f"could not be fetched (HTTP {response.status_code})")
                content = bytearray()
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > self._settings.payload_limit:
                        raise _Refused("are larger than `payload_limit`")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _Refused(f"could not be fetched ({type(error).__name__})") from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            return content.decode("utf-8", "replace")

    async def _checked(self, url: str) -> str:
        """The address to fetch; a relative one is below the API's host. Raises where it isn't allowed."""
        try:
            address = urljoin(self._settings.host + "/", url)
            parts = urlsplit(address)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            raise _Refused("have an address that can't be read") from None
        own = urlsplit(self._settings.host)
        if (parts.scheme, host, port) == (own.scheme, (own.hostname or "").lower(), own.port):
            return address
        if parts.scheme != "https" or parts.username or parts.password:
            raise _Refused("stand at an address that isn't plain https")
        if any(fnmatch.fnmatchcase(host, pattern.lower()) for pattern in self._settings.payload_hosts):
            return address
        if not any(fnmatch.fnmatchcase(host, pattern) for pattern in _STORES):
            raise _Refused("stand on a host that isn't allowed; `payload_hosts` allows more")
        try:
            addresses = await self._resolve(host)
        except OSError:
            raise _Refused("stand on a host that can't be found") from None
        if not addresses or not all(ipaddress.ip_address(one.partition("%")[0]).is_global for one in addresses):
            raise _Refused("stand on a host with a private address")
        return address


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """Why a payload isn't fetched, in words that fit behind "its inputs"."""


def reference(run: Run, side: str) -> str | None:
    """The presigned URL of a run's inputs or outputs, where they don't stand in the run itself."""
    if run.get(side):
        return None
    urls = run.get(f"{side}_s3_urls")
    root = urls.get("ROOT") if isinstance(urls, Mapping) else None
    return nonempty(root.get("presigned_url")) if isinstance(root, Mapping) else None


async def _addresses(host: str) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]
