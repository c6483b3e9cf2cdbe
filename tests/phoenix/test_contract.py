"""The contract that every connector keeps, on a real Phoenix."""

from collections.abc import Sequence
from datetime import UTC, datetime

import httpx
import pytest
from tests.phoenix.server import Phoenix

from groundwire.connectors import Sink, Source, Trace
from groundwire.connectors.http import Patience
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSink, PhoenixSource
from groundwire.connectors.phoenix.wire import Wire
from groundwire.connectors.testing import ConnectorContract, Shown

pytestmark = pytest.mark.phoenix

KEY = "phoenix-contract-key"


class Failing(httpx.AsyncBaseTransport):
    """The way to the server, on which answers can be put in its place."""

    def __init__(self, script: list[tuple[int, dict[str, str]]]) -> None:
        self.script = script
        self._way = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.script:
            status, headers = self.script.pop(0)
            return httpx.Response(status, headers=headers, text="refused")
        return await self._way.handle_async_request(request)

    async def aclose(self) -> None:
        await self._way.aclose()


class RealPlatform:
    """A project of its own on the server."""

    secrets: Sequence[str] = (KEY,)
    speaks_http = True

    def __init__(self, phoenix: Phoenix, project: str) -> None:
        self._phoenix = phoenix
        self._project = project
        self._script: list[tuple[int, dict[str, str]]] = []
        self._settings = PhoenixSettings.model_validate(
            {"host": phoenix.url, "api_key": KEY, "project": self._project, "settle": 0, "lateness": 600}
        )

    def now(self) -> datetime:
        return datetime.now(UTC)

    def put(self, trace: Trace) -> None:
        self._phoenix.put(self._project, trace)

    def source(self, *, page_size: int) -> Source:
        return PhoenixSource(self._settings, wire=self._wire(), page=page_size)

    def sink(self) -> Sink:
        return PhoenixSink(self._settings, wire=self._wire())

    def _wire(self) -> Wire:
        return Wire(self._settings, patience=Patience(attempts=1), transport=Failing(self._script))

    def scores(self) -> Sequence[Shown]:
        return [
            Shown(
                score_id=one["identifier"],
                name=one["name"],
                value=one["result"]["score"] if one["result"]["score"] is not None else one["result"]["label"],
                comment=one["result"]["explanation"] or "",
            )
            for one in self._phoenix.annotations(self._project)
        ]

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        self._script.append((status, {} if retry_after is None else {"retry-after": str(retry_after)}))


class TestPhoenix(ConnectorContract):
    @pytest.fixture
    def platform(self, phoenix: Phoenix, project: str) -> RealPlatform:
        return RealPlatform(phoenix, project)
