"""The contract that every connector keeps, with Langfuse's on the loopback app, in both ways of writing scores."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import row_of_span, settings_for, trace_fields, wire_for

from groundwire.connectors import Sink, Source, Trace
from groundwire.connectors.http import Patience
from groundwire.connectors.langfuse import LangfuseSink, LangfuseSource
from groundwire.connectors.testing import ConnectorContract, Shown


class LoopbackPlatform:
    """The loopback app as a platform under test."""

    secrets: Sequence[str] = (PUBLIC_KEY, SECRET_KEY)
    speaks_http = True

    def __init__(self, app: LangfuseApp, url: str) -> None:
        self._app = app
        # a retry is the contract's own to see; ten minutes back is what it asks of lateness
        self._settings = settings_for(url, lateness=600, settle=0)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def put(self, trace: Trace) -> None:
        about = trace_fields(
            {
                "traceName": trace.name,
                "environment": trace.environment,
                "tags": list(trace.tags),
                "sessionId": trace.session_id,
                "userId": trace.user_id,
                "release": trace.release,
                "metadata": dict(trace.metadata),
            }
        )
        for span in trace.spans:
            self._app.put({**row_of_span(span), **about})

    def source(self, *, page_size: int) -> Source:
        return LangfuseSource(
            self._settings, wire=wire_for(self._settings, patience=Patience(attempts=1)), page=page_size
        )

    def sink(self) -> Sink:
        return LangfuseSink(self._settings, wire=wire_for(self._settings, patience=Patience(attempts=1)))

    def scores(self) -> Sequence[Shown]:
        return [
            Shown(score_id=score["id"], name=score["name"], value=score["value"], comment=score["comment"] or "")
            for score in self._app.shown()
        ]

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        self._app.fail(status, headers=headers)


class TestLangfuse(ConnectorContract):
    """Against a server of either generation of writing."""

    @pytest.fixture(params=["4.75.0", "4.16.0"])
    def platform(self, request: pytest.FixtureRequest) -> Iterator[LoopbackPlatform]:
        app = LangfuseApp(version=request.param)
        with served(app) as url:
            yield LoopbackPlatform(app, url)
