"""The web service under test: in the test's own loop, or on a socket as it is run."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.scorer.scripted import ScriptedJudge

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.web import Served, build_application, listen, serve
from groundwire.scorer import HallucinationMetric

TOKEN = "token-token-token-token"
SECRET = "secret-secret-secret-secret"
NAME = "support-groundedness"
API = {"Authorization": f"Bearer {TOKEN}"}
HOOK = {"Authorization": f"Bearer {SECRET}"}
HOOK_PATH = f"/hooks/langsmith/{NAME}"


def configured(folder: Path, *, host: str = "http://127.0.0.1:9", **more: Any) -> Settings:
    source = {"platform": "langsmith", "host": host, "api_key": "lsv2_pt_made_up", "project": "support"}
    return Settings.model_validate(
        {
            "sources": {"prod": source},
            "evaluators": [{"name": NAME, "source": "prod", "attach": "webhook"}],
            "state": {"url": f"sqlite:///{folder / 'state.db'}"},
            **more,
            "service": {"token": TOKEN, "hook_secret": SECRET, "port": 0, **more.get("service", {})},
        }
    )


@dataclass(kw_only=True)
class Web:
    """A service, and a client that calls it."""

    service: Service
    client: httpx.AsyncClient
    told: list[None]
    """One for each delivery that was stored."""


@asynccontextmanager
async def web(
    settings: Settings, *, judge: Any = None, on_socket: bool = False, prepare: Callable[[Served], None] | None = None
) -> AsyncIterator[Web]:
    """The service with every evaluator of the settings; `judge` answers in place of the configured one."""
    async with open_service(settings) as service:
        evaluators = [await service.evaluator(spec) for spec in settings.evaluators]
        if judge is not None:
            evaluators = [Evaluator(spec=one.spec, metric=scripted(judge)) for one in evaluators]
        served = Served(
            service=service,
            evaluators={one.spec.name: one for one in evaluators},
            loop=asyncio.get_running_loop() if on_socket else None,
        )
        if judge is not None:
            object.__setattr__(served, "metric", scripted(judge))
        if prepare is not None:
            prepare(served)
        told: list[None] = []
        app = build_application(served, arrived=lambda: told.append(None))
        if not on_socket:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://groundwire") as client:
                yield Web(service=service, client=client, told=told)
            return
        listening = listen(settings.service)
        port, stop = listening.getsockname()[1], asyncio.Event()
        running = asyncio.create_task(serve(app, listening, stop))
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
                yield Web(service=service, client=client, told=told)
        finally:
            stop.set()
            await running
            assert "groundwire-web" not in [thread.name for thread in threading.enumerate() if thread.is_alive()]


def scripted(judge: Any) -> HallucinationMetric:
    return HallucinationMetric(judge=judge)


class SlowJudge(ScriptedJudge):
    """A judge that takes its time."""

    seconds: float = 0.5

    async def split(self, question: str, answer: str) -> Any:
        await asyncio.sleep(self.seconds)
        return await super().split(question, answer)


def delivery(trace_ids: Sequence[str]) -> dict[str, Any]:
    """A rule's delivery in short."""
    return {"rule_id": "r", "runs": [{"id": one, "trace_id": one, "is_root": True} for one in trace_ids]}
