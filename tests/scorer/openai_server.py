"""A scripted OpenAI-compatible server on loopback: real HTTP, a fixed latency, every fault as a knob.

It reads claims and evidence out of the rendered prompt's fence and answers with the offline rules on what it found
there: a dropped block, a broken id or a prompt without its data shows as a wrong verdict. Exact scripts are for faults.
"""

import asyncio
import json
import re
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import Block, Shown, View
from groundwire.scorer.judges.offline import OfflineJudge

__all__ = ["Call", "Fault", "JudgeServer", "sections_of"]


@dataclass(frozen=True)
class Fault:
    """One call's answer instead of the usual one. With neither status nor content, only `hang` or `cut` happen."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: dict[str, Any] | str | None = None
    """Of a status that is no success: the error object, or plain text."""
    content: str | None = None
    """The message's content instead of the offline rules'."""
    change: Callable[[dict[str, Any]], Any] | None = None
    """What becomes of the form that the offline rules filled in."""
    finish: str = "stop"
    refusal: str | None = None
    reasoning_tokens: int = 0
    usage: bool = True
    hang: bool = False
    """Does its work, counts its tokens, and never answers."""
    cut: bool = False
    """Does its work, counts its tokens, and closes the connection in the middle of the body."""
    html: bool = False
    body: dict[str, Any] | None = None
    """The whole body of a success."""


@dataclass
class Call:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    query: str = ""
    status: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def system(self) -> str:
        return str(self.body.get("instructions") or self.body["messages"][0]["content"])

    @property
    def turns(self) -> list[dict[str, str]]:
        return list(self.body.get("input") or self.body["messages"][1:])

    @property
    def user(self) -> str:
        return self.turns[0]["content"]

    @property
    def sections(self) -> dict[str, str]:
        return sections_of(self.user)

    @property
    def form(self) -> str:
        for name, key in FORMS.items():
            if f'{{"{key}":' in self.system:
                return name
        raise AssertionError("no form is asked for in the static prompt")

    @property
    def mode(self) -> str:
        if "response_format" in self.body or "format" in self.body.get("text", {}):
            return "schema"
        return "tool" if "tools" in self.body else "text"

    @property
    def limit(self) -> int:
        names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
        return int(next(self.body[name] for name in names if name in self.body))


FORMS = {
    "claims": "claims",
    "labels": "labels",
    "quotes": "quotes",
    "faithfulness": "problems",
    "verdict": "unsupported",
    "spans": "spans",
    "facts": "needs_facts",
    "probe": "ok",
}


def sections_of(prompt: str) -> dict[str, str]:
    """The fenced sections by name; what the fence doesn't hold isn't seen."""
    first, _, rest = prompt.partition("\n")
    mark = re.fullmatch(r"Mark: ([0-9]{9})", first)
    assert mark, "the prompt begins with its mark"
    found = re.findall(rf"^<<{mark[1]} (.+?)>>\n(.*?)\n<</{mark[1]}>>$", rest, re.DOTALL | re.MULTILINE)
    assert rest.count(f"<<{mark[1]} ") == len(found) == rest.count(f"<</{mark[1]}>>"), "every section is closed once"
    return dict(found)


class JudgeServer:
    """The server and its knobs; a knob can be turned while it runs."""

    def __init__(self, latency: float = 0.0) -> None:
        self.latency = latency
        self.faults: deque[Fault] = deque()
        """Taken one a call, before anything else."""
        self.plan: Callable[[int, Call], Fault | None] = lambda _index, _call: None
        """By the call's index, where no fault is queued."""
        self.refuses: dict[str, str] = {}
        """Parameter to the message with which it is turned down (400)."""
        self.context_tokens: int | None = None
        """A prompt with more is turned down as too long; a token has four bytes here."""
        self.answering_model: str | None = None
        self.models: set[str] | None = None
        """None has every model."""
        self.key: str | None = None
        self.calls: list[Call] = []
        self.worked = threading.Event()
        """Set once a call's tokens have been counted."""
        self.turned_down = threading.Event()
        """Set once a fault with a status of its own was answered."""
        self.bugs: list[Exception] = []
        """Of this server: a test that meets one fails when it stops."""
        self.under_way = 0
        self.most_under_way = 0
        self._rules = OfflineJudge()
        self._warmed = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.url = ""

    # -- life

    def start(self, *, tls: Path | None = None) -> "JudgeServer":
        """Listen on a free port; with a folder that holds `certificate.pem` and `key.pem`, over TLS."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/v1"
        config = uvicorn.Config(
            self._as_proxy,
            log_level="critical",
            lifespan="off",
            access_log=False,
            loop="asyncio",
            interface="asgi3",
            ssl_certfile=tls / "certificate.pem" if tls else None,
            ssl_keyfile=tls / "key.pem" if tls else None,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, args=(listener,), daemon=True)
        self._thread.start()
        self._warmed.wait(30)
        return self

    def _run(self, listener: socket.socket) -> None:
        assert self._server is not None
        asyncio.run(self._warm())
        self._warmed.set()
        self._server.run(sockets=[listener])

    async def _warm(self) -> None:
        """The rules load their tables now, not during the first call's deadline."""
        view = _view({"E1": "It departs at 18:40."})
        await self._rules.label("When?", (await self._rules.split("When?", "It departs at 18:40.")).value or (), view)

    def stop(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()
        if self.bugs:
            raise self.bugs[0]

    async def _as_proxy(self, scope: Any, receive: Any, send: Any) -> None:
        """A request for a whole address, as proxies get it, is one for its path."""
        path = re.sub(r"^https?://[^/]+", "", scope["path"])
        await self.app({**scope, "path": path, "raw_path": path.encode()}, receive, send)

    @cached_property
    def app(self) -> Starlette:
        paths = (
            "/v1/chat/completions",
            "/v1/responses",
            "/openai/deployments/{deployment}/chat/completions",
            "/v1/openai/deployments/{deployment}/chat/completions",
        )
        return Starlette(routes=[Route(path, self.complete, methods=["POST"]) for path in paths])

    # -- counting

    @property
    def prompt_tokens(self) -> int:
        """Of every call that was worked on, also those that never got their answer."""
        return sum(call.prompt_tokens for call in self.calls)

    @property
    def completion_tokens(self) -> int:
        return sum(call.completion_tokens for call in self.calls)

    def asked(self, form: str) -> list[Call]:
        return [call for call in self.calls if call.status == 200 and call.form == form]

    # -- answering

    async def complete(self, request: Request) -> Response:
        call = Call(
            path=request.url.path, headers=dict(request.headers), body=await request.json(), query=request.url.query
        )
        index = len(self.calls)
        self.calls.append(call)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            fault = self.faults.popleft() if self.faults else self.plan(index, call)
            response = await self._answer(call, fault)
            call.status = response.status_code
            return response
        except Exception as error:
            self.bugs.append(error)
            raise
        finally:
            self.under_way -= 1

    async def _answer(self, call: Call, fault: Fault | None) -> Response:
        if self.key is not None and f"Bearer {self.key}" != call.headers.get("authorization"):
            return _error(401, "invalid_api_key", "Incorrect API key provided: sk-***.")
        if self.models is not None and call.body["model"] not in self.models:
            return _error(404, "model_not_found", f"The model `{call.body['model']}` does not exist.")
        for name, message in self.refuses.items():
            if name in call.body:
                return _error(400, "unsupported_parameter", message, param=name if name in message else None)
        if fault is not None and fault.html:
            return HTMLResponse("<!doctype html><title>Sign in</title>", status_code=fault.status)
        if fault is not None and fault.status != 200:
            self.turned_down.set()
            if isinstance(fault.error, str):
                return PlainTextResponse(fault.error, status_code=fault.status, headers=fault.headers)
            return JSONResponse({"error": fault.error or {}}, status_code=fault.status, headers=fault.headers)
        bytes_in = len(json.dumps(call.body, ensure_ascii=False).encode())
        if self.context_tokens is not None and bytes_in // 4 > self.context_tokens:
            message = f"This model's maximum context length is {self.context_tokens} tokens."
            return _error(400, "context_length_exceeded", message)
        await asyncio.sleep(self.latency)
        fault = fault or Fault()
        content = fault.content
        if content is None and fault.body is None:
            filled = await self._fill(call)
            changed = fault.change(filled) if fault.change else filled
            content = changed if isinstance(changed, str) else json.dumps(changed, ensure_ascii=False)
        content = content or ""
        call.prompt_tokens = bytes_in // 4
        call.completion_tokens = min(len(content.encode()) // 4 + 1 + fault.reasoning_tokens, call.limit)
        self.worked.set()
        if fault.hang:
            await asyncio.Event().wait()
        body = fault.body or _body(call, content, fault, self.answering_model or call.body["model"])
        if fault.cut:
            return _Cut(json.dumps(body).encode())
        return JSONResponse(body)

    async def _fill(self, call: Call) -> dict[str, Any]:
        sections = call.sections
        question, answer = sections.get("QUESTION", ""), sections.get("ANSWER", sections.get("RESPONSE", ""))
        view = _view(sections)
        match call.form:
            case "claims":
                drafts = (await self._rules.split(question, answer)).value or ()
                return {"claims": [{"text": draft.text, "kind": draft.kind} for draft in drafts]}
            case "labels" | "quotes" as form:
                return {form: await self._labels(question, sections["CLAIMS"], view, form)}
            case "faithfulness":
                told = (await self._rules.faithfulness(question, answer, view)).value
                dimensions = told.dimensions.model_dump() if told else dict.fromkeys(DIMENSIONS, 1.0)
                problems = [
                    {"text": claim.text, "dimension": "numeric", "type": "contradiction", "reason": claim.reason}
                    for claim in (told.claims if told else ())
                    if claim.label == "hallucinated"
                ]
                return {"problems": problems, "explanation": "by the offline rules", **dimensions}
            case "verdict":
                verdict = (await self._rules.classify(sections["RECORD"], answer)).value
                wrong = [c for c in (verdict.claims if verdict else ()) if c.label == "hallucinated"]
                unsupported = [{"text": claim.text, "reason": claim.reason} for claim in wrong]
                label = verdict.label if verdict else "grounded"
                return {"unsupported": unsupported, "explanation": "by the offline rules", "label": label}
            case "spans":
                found = (await self._rules.spans(question, answer, view)).value or ()
                return {
                    "spans": [
                        {"text": span.text, "type": span.type, "reason": span.reason, "probability": span.probability}
                        for span in found
                    ]
                }
            case "facts":
                told_facts = (await self._rules.needs_facts(sections["REQUEST"])).value
                return {"needs_facts": bool(told_facts)}
            case _:
                return {"ok": True}

    async def _labels(self, question: str, listed: str, view: View, form: str) -> list[dict[str, Any]]:
        named = [line.partition(": ") for line in listed.split("\n")]
        drafts = [DraftClaim(text=text) for _, _, text in named]
        claims = (await self._rules.label(question, drafts, view)).value or ()
        entries = []
        for (name, _, _), claim in zip(named, claims, strict=True):
            entry = {
                "id": name,
                "reason": claim.reason,
                "label": claim.label or "hallucinated",
                "block": claim.evidence.block if claim.evidence else None,
                "quote": claim.evidence.quote if claim.evidence else None,
                "type": claim.type,
            }
            entries.append(entry if form == "labels" else {key: entry[key] for key in ("id", "block", "quote")})
        return entries


DIMENSIONS = ("numeric", "categorical", "no_fabrication", "completeness")


def _view(sections: dict[str, str]) -> View:
    shown = []
    for title, text in sections.items():
        found = re.match(r"([EUS]\d+)( FAILED)?(?: tool: (.*))?$", title)
        if found:
            kind: Any = {"E": "tool", "U": "user", "S": "provided"}[title[0]]
            block = Block(name=found[1], kind=kind, text=text, failed=bool(found[2]), tool_name=found[3])
            shown.append(Shown(block=block, text=text))
    return View(shown=tuple(shown))


def _error(status: int, code: str, message: str, param: str | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "message": message, "param": param}}, status_code=status)


def _body(call: Call, content: str, fault: Fault, model: str) -> dict[str, Any]:
    if call.path.endswith("/responses"):
        return _responses_body(call, content, fault, model)
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": fault.refusal}
    if call.mode == "tool" and fault.content is None:
        message["content"] = None
        function = {"name": call.body["tools"][0]["function"]["name"], "arguments": content}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_780_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": fault.finish}],
    }
    if fault.usage:
        body["usage"] = {
            "prompt_tokens": call.prompt_tokens,
            "completion_tokens": call.completion_tokens,
            "total_tokens": call.prompt_tokens + call.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": call.prompt_tokens // 2},
            "completion_tokens_details": {"reasoning_tokens": fault.reasoning_tokens},
        }
    return body


def _responses_body(call: Call, content: str, fault: Fault, model: str) -> dict[str, Any]:
    part = {"type": "refusal", "refusal": fault.refusal} if fault.refusal else {"type": "output_text", "text": content}
    incomplete = fault.finish != "stop"
    return {
        "id": "resp_1",
        "object": "response",
        "model": model,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if incomplete else None,
        "output": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [part]}],
        "usage": {
            "input_tokens": call.prompt_tokens,
            "output_tokens": call.completion_tokens,
            "total_tokens": call.prompt_tokens + call.completion_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": fault.reasoning_tokens},
        }
        if fault.usage
        else None,
    }


class _Cut(Response):
    """Promises a body and closes the connection in the middle of it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = bytes(self.body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        raise ConnectionResetError
