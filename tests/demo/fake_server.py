"""Servers on loopback: a chat model that says what its scenario says, and the ends that trace SDKs post to. A fake."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.demo.scenarios import SCENARIOS, Call

__all__ = ["MODEL", "Server", "serving"]

MODEL = "gpt-5-mini"
"""The name that the fake model goes by."""


@dataclass
class Server:
    """A running server and what was posted to it."""

    url: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """LangSmith runs, with their updates merged in, in the order in which they began."""

    async def chat(self, request: Request) -> JSONResponse:
        """OpenAI's chat completions; the API key names the scenario, the history says how far it has come."""
        scenario = request.headers["authorization"].removeprefix("Bearer ")
        body = await request.json()
        step = sum(message["role"] == "assistant" for message in body["messages"])
        script = SCENARIOS[scenario]
        return JSONResponse(_completion(scenario, step, (*script.steps, *script.closing[1::2])[step]))

    async def post_run(self, request: Request) -> JSONResponse:
        """LangSmith's `POST /runs`."""
        self.runs.append(await request.json())
        return JSONResponse({}, status_code=202)

    async def patch_run(self, request: Request) -> JSONResponse:
        """LangSmith's `PATCH /runs/{id}`."""
        run = next(run for run in self.runs if run["id"] == request.path_params["run_id"])
        run.update({key: value for key, value in (await request.json()).items() if value is not None})
        return JSONResponse({}, status_code=202)


def _completion(scenario: str, step: int, reply: Call | str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None}
    if isinstance(reply, Call):
        function = {"name": reply.tool, "arguments": json.dumps(reply.arguments, ensure_ascii=False)}
        call = {"id": f"call_{scenario}_{step + 1}", "type": "function", "function": function}
        message |= {"content": None, "tool_calls": [call]}
    return {
        "id": f"chatcmpl-{scenario}-{step + 1}",
        "object": "chat.completion",
        "created": 1_796_029_200,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if isinstance(reply, Call) else "stop"}
        ],
        "usage": {"prompt_tokens": 120 + 60 * step, "completion_tokens": 40, "total_tokens": 160 + 60 * step},
    }


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a free port of loopback while the block runs."""
    server = Server()
    routes = [
        Route("/v1/chat/completions", server.chat, methods=["POST"]),
        Route("/runs", server.post_run, methods=["POST"]),
        Route("/runs/{run_id}", server.patch_run, methods=["PATCH"]),
    ]
    ready = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    runner = Announcing(uvicorn.Config(Starlette(routes=routes), host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    if not ready.wait(timeout=20):
        raise TimeoutError("the fake server did not start")
    port = runner.servers[0].sockets[0].getsockname()[1]
    server.url = f"http://127.0.0.1:{port}"
    try:
        yield server
    finally:
        runner.should_exit = True
        thread.join(timeout=20)
