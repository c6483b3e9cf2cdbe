"""A scripted System One server on loopback: answers with the offline rules on the state it was sent."""

import json
import socket
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import Block, Shown, View
from groundwire.scorer.judges.offline import OfflineJudge

__all__ = ["SystemOneServer"]


@dataclass
class SystemOneServer:
    """Its knobs can be turned while it runs."""

    replies: deque[tuple[int, Any]] = field(default_factory=deque)
    """(status, body), taken one a call before anything else; a body of None is the usual one."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    _rules: OfflineJudge = field(default_factory=OfflineJudge)
    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    def start(self) -> "SystemOneServer":
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = Starlette(routes=[Route("/v1/systemone", self.answer, methods=["POST"])])
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", access_log=False))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.should_exit = True
        self._thread.join(timeout=10)

    async def answer(self, request: Request) -> Response:
        body = await request.json()
        self.calls.append(body)
        self.headers.append(dict(request.headers))
        if self.replies:
            status, reply = self.replies.popleft()
            if reply is not None:
                return JSONResponse(reply, status_code=status)
        answers = {
            name: await self._answer(name, question, body["state"]) for name, question in body["questions"].items()
        }
        size = len(json.dumps(body))
        usage = {"input_tokens": size // 4, "output_tokens": len(answers)}
        return JSONResponse({"model": f"{body['model']}-2026-11", "answers": answers, "usage": usage})

    async def _answer(self, name: str, question: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
        view = _view(state.get("evidence", ()))
        match question["type"]:
            case "choice":
                drafts = [DraftClaim(text=state["claims"][name])]
                claims = (await self._rules.label(state["question"], drafts, view)).value or ()
                label = claims[0].label or "hallucinated"
                rest = {option: 0.05 for option in question["criteria"] if option != label}
                return {"type": "choice", "choice": label, "probabilities": {label: 0.85, **rest}}
            case "score":
                told = (await self._rules.faithfulness(state["question"], state["answer"], view)).value
                top = len(question["criteria"]) - 1
                return {"type": "score", "score": getattr(told.dimensions, name) * top if told else top}
            case _:
                if "record" in state:
                    verdict = (await self._rules.classify(state["record"], state["response"])).value
                    return {"type": "noul", "noul": 0.9 if verdict and verdict.label == "hallucinated" else 0.1}
                return {"type": "noul", "noul": 0.7}


def _view(evidence: Any) -> View:
    return View(
        shown=tuple(
            Shown(
                block=Block(name=item["id"], kind=item["kind"], text=item["text"], failed=item["failed"]),
                text=item["text"],
            )
            for item in evidence
        )
    )
