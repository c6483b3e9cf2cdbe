"""Exchanges of a real Langfuse server, and a server that plays them."""

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

FILE = Path(__file__).parent / "recorded" / "langfuse.json.gz"


@cache
def exchanges() -> Mapping[str, Any]:
    """All of them, by `mode/name`."""
    return dict(json.loads(gzip.decompress(FILE.read_bytes())))


def recorded(name: str) -> Any:
    """The response to one request: status and body. `{…}` stands for itself, with status 200."""
    if name.startswith("{"):
        return {"status": 200, "body": json.loads(name)}
    return exchanges()[name]["response"]


class Player:
    """Answers the nth request to a path with the nth recording given for it; the last one is repeated."""

    def __init__(self, episodes: Mapping[str, list[str]]) -> None:
        """`episodes`: by method and path below `/api/public` (`GET /projects`), the names of recordings."""
        self._episodes = {key: list(names) for key, names in episodes.items()}
        self.asked: list[tuple[str, dict[str, str], Any]] = []

    def starlette(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._play, methods=["GET", "POST", "DELETE"])])

    async def _play(self, request: Request) -> Response:
        key = f"{request.method} {request.url.path.removeprefix('/api/public')}"
        body = await request.body()
        self.asked.append((key, dict(request.query_params), json.loads(body) if body else None))
        names = self._episodes[key]
        answer = recorded(names.pop(0) if len(names) > 1 else names[0])
        if not isinstance(answer["body"], str):
            return JSONResponse(answer["body"], status_code=answer["status"])
        page = HTMLResponse if answer["body"].startswith("<") else PlainTextResponse
        return page(answer["body"], status_code=answer["status"])
