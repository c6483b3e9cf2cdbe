"""The processes of `bench_hook`: the service with a slow judge, and a LangSmith that has any trace it is asked for."""

import asyncio
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.connectors.langsmith_app import API_KEY, PROJECT, iso
from tests.flow.langsmith_rig import NAME, SECRET, TOKEN
from tests.web.rig import SlowJudge

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.intake import Intake
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.web import Served, build_application, listen, serve
from groundwire.scorer import HallucinationMetric

__all__ = ["EMPTY"]

EMPTY = "/hooks/empty"
"""A handler that does nothing, behind the same gate."""
JUDGE_SECONDS = 1.0


def platform(port: int) -> None:
    """A LangSmith whose every trace ended ten seconds ago with one tool call."""

    async def trace(request: Request) -> Response:
        trace_id = request.path_params["id"]
        start = datetime.now(UTC) - timedelta(seconds=11)
        common = {"trace_id": trace_id, "project_id": PROJECT, "status": "SUCCESS", "start_time": iso(start)}
        common["end_time"] = iso(start + timedelta(seconds=1))
        said = {"output": "Refunds take 5 business days."}
        runs = [
            {**common, "id": trace_id, "run_type": "CHAIN", "name": "agent", "inputs": {"input": "?"}, "outputs": said},
            {**common, "id": trace_id[:-4] + "ffff", "parent_run_ids": [trace_id], "run_type": "TOOL", "name": "find",
             "inputs": {}, "outputs": said},
        ]  # fmt: skip
        return JSONResponse({"items": runs})

    async def info(_: Request) -> Response:
        return JSONResponse({"version": "0.18.2", "instance_flags": {"sdb_query_enabled": True}})

    async def projects(_: Request) -> Response:
        return JSONResponse([{"id": PROJECT, "name": "support", "trace_tier": "shortlived"}])

    async def query(_: Request) -> Response:
        return JSONResponse({"items": [], "next_cursor": None})

    app = Starlette(
        routes=[
            Route("/api/v1/info", info),
            Route("/api/v1/sessions", projects),
            Route("/api/v2/runs/query", query, methods=["POST"]),
            Route("/api/v2/traces/{id}/runs", trace),
        ]
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


async def service(folder: Path, host: str, port: int) -> None:
    """The service with its intake, until it is told to stop."""
    source = {"platform": "langsmith", "host": host, "api_key": API_KEY, "project": "support"}
    settings = Settings.model_validate(
        {
            "sources": {"prod": source},
            "evaluators": [{"name": NAME, "source": "prod", "attach": "webhook", "settle": 0}],
            "service": {"token": TOKEN, "hook_secret": SECRET, "port": port},
            "state": {"url": f"sqlite:///{folder / 'state.db'}"},
        }
    )
    judge: Any = SlowJudge()
    judge.seconds = JUDGE_SECONDS
    async with open_service(settings) as opened:
        evaluator = Evaluator(spec=settings.evaluators[0], metric=HallucinationMetric(judge=judge))
        intake = Intake(opened, [evaluator], run_id="bench")
        served = Served(service=opened, evaluators={NAME: evaluator}, loop=asyncio.get_running_loop())
        app = build_application(served, arrived=intake.arrived)

        async def empty() -> None:
            return None

        app.add_api_route(EMPTY, empty, methods=["POST"], status_code=202)
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await asyncio.gather(serve(app, listen(settings.service), stop), intake.run(stop))


if __name__ == "__main__":
    if sys.argv[1] == "platform":
        platform(int(sys.argv[2]))
    else:
        asyncio.run(service(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
