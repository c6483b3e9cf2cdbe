"""What a request must pass: secrets, bounded bodies, one form of error; and what the service needs to start."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from tests.web.rig import API, HOOK, HOOK_PATH, NAME, SECRET, TOKEN, configured, web

from groundwire.jobs.service import open_service
from groundwire.jobs.settings import load_settings
from groundwire.jobs.spec import ServiceSpec
from groundwire.jobs.web import Served, build_application, listen, require_secrets
from groundwire.jobs.web.gate import Gate
from groundwire.scorer import ConfigError, GiveUp, RetryLater

BEHIND = [
    ("POST", "/v1/score"),
    ("POST", "/v1/systemone"),
    ("POST", "/v1/none"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", HOOK_PATH),
    ("POST", "/hooks/x"),
]
BROKEN = [
    b"",
    b"{",
    b"\xff\xfe\x00",
    b"[" * 200_000,
    b'{"runs":' * 50_000,
    b'{"answer":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    b'{"state":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b',"questions":{"hallucinated":{"type":"noul"}}}',
    b'{"answer": ' + b"9" * 10_000 + b"}",
    b"null",
    b"[]",
]


async def test_without_its_secret_nothing_is_answered(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        for method, path in BEHIND:
            right, other = (SECRET, TOKEN) if path.startswith("/hooks") else (TOKEN, SECRET)
            for given, status in [
                (None, 401),
                ("", 401),
                ("Bearer", 401),
                (f"Basic {right}", 401),
                (right, 401),
                ("Bearer wrong", 403),
                (f"Bearer {right}x", 403),
                (f"Bearer {right[:-1]}", 403),
                (f"Bearer {other}", 403),
                ("Bearer \u00e9\u00e9".encode("latin-1"), 403),
            ]:
                headers: Any = {} if given is None else {"Authorization": given}
                answer = await live.client.request(method, path, headers=headers, content=b"x" * 100)
                assert (answer.status_code, set(answer.json())) == (status, {"error"}), (path, given)
                assert right not in answer.text
            held = {"Authorization": f"bearer  {right}"}
            answer = await live.client.request(method, path, headers=held, content=b"{}")
            assert answer.status_code not in (401, 403)


async def test_health_needs_no_secret_and_says_when_the_state_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundwire.jobs.web.health.STATE_WITHIN", 0.1)
    async with web(configured(tmp_path)) as live:
        assert (await live.client.get("/healthz")).json() == {"status": "ok"}
        assert (await live.client.get("/readyz")).status_code == 200

        async def away(*_: Any, **__: Any) -> None:
            raise RetryLater("the state can't be reached", after=5)

        monkeypatch.setattr(live.service.store, "read", away)
        answer = await live.client.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
        assert (await live.client.get("/healthz")).status_code == 200
        monkeypatch.setattr(live.service.store, "read", lambda *_, **__: asyncio.sleep(9))
        assert (await live.client.get("/readyz")).status_code == 503


async def _pieces(count: int, size: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * size


async def test_a_body_of_100_mb_is_refused_with_an_answer_and_isnt_held(tmp_path: Path) -> None:
    async with web(configured(tmp_path), on_socket=True) as live:
        for content in (b" " * 100_000_000, _pieces(100, 1_000_000)):
            answer = await live.client.post(HOOK_PATH, headers=HOOK, content=content)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert (await live.client.get("/healthz")).status_code == 200
        try:
            answer = await live.client.post(HOOK_PATH, content=b" " * 100_000_000)
            assert answer.status_code == 401
        except httpx.TransportError:
            pass  # who has no secret isn't listened to: the connection may close under what it sends


async def _status(gate: Gate, *messages: Any) -> int:
    """What the gate answers to a body that arrives in these messages; a number is a wait in seconds."""
    waiting = list(messages)
    sent: list[Any] = []

    async def receive() -> Any:
        if waiting and isinstance(waiting[0], float):
            await asyncio.sleep(waiting.pop(0))
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await gate({"type": "http", "path": "/x", "headers": []}, receive, send)
    return sent[0]["status"] if sent else 0


def _piece(size: int, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": b" " * size, "more_body": more}


async def test_a_body_that_never_ends_one_that_is_broken_off_and_too_many_at_once() -> None:
    gate = Gate(PlainTextResponse("passed"), secrets={}, body_limit=5_000, within=0.2, most_held=3_000)
    slow = asyncio.create_task(_status(gate, _piece(2_000), 1.0, _piece(1, more=False)))
    await asyncio.sleep(0.05)
    assert await _status(gate, _piece(1_000), _piece(1_000, more=False)) == 503
    assert await _status(gate, _piece(1_000, more=False)) == 200
    assert await slow == 408
    assert await _status(gate, _piece(3_000, more=False)) == 200, "what was held is let go of"
    assert await _status(gate, _piece(1_000), {"type": "http.disconnect"}) == 0
    assert await _status(gate, _piece(2_000), _piece(3_001), _piece(9_000, more=False)) == 413
    assert await _status(gate, _piece(3_000, more=False)) == 200


async def test_bodies_that_break_readers_are_422_in_the_one_form(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        for path in ("/v1/score", "/v1/systemone", HOOK_PATH):
            for content in BROKEN:
                headers = HOOK if path == HOOK_PATH else API
                answer = await live.client.post(path, headers=headers, content=content)
                assert answer.status_code == 422, (path, content[:20])
                assert set(answer.json()["error"]) == {"code", "message"}
                assert len(answer.text) < 500


async def test_unknown_paths_and_methods_have_the_form_too(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        assert (await live.client.get("/nothing")).json()["error"]["code"] == "not_found"
        answer = await live.client.get("/v1/score", headers=API)
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
        assert answer.headers["Allow"] == "POST"


def _scoring_by(score: Any, served: Served) -> None:
    object.__setattr__(served.metric, "score", score)


async def test_a_fault_of_our_own_is_told_without_a_word_of_the_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise LookupError("secret words of the trace")

    async def lost(*_: Any, **__: Any) -> None:
        raise GiveUp("the judge's key is wrong")

    body = {"question": "q", "answer": "secret words of the trace", "evidence": "e"}
    with caplog.at_level(logging.DEBUG):
        async with web(configured(tmp_path), prepare=partial(_scoring_by, broken)) as live:
            answer = await live.client.post("/v1/score", headers=API, json=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "secret words" not in answer.text + caplog.text
    assert "LookupError" in json.dumps([getattr(record, "reason", "") for record in caplog.records])

    async with web(configured(tmp_path), prepare=partial(_scoring_by, lost)) as live:
        answer = await live.client.post("/v1/score", headers=API, json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "judge_lost")


@pytest.mark.parametrize(
    ("service", "says"),
    [
        ({"token": None}, r'set service.token = "\$\{GROUNDWIRE_TOKEN\}"'),
        ({"hook_secret": None}, "'support-groundedness' is attached by webhook, which needs a secret"),
    ],
)
async def test_it_refuses_to_start_without_its_secrets(service: dict[str, Any], says: str, tmp_path: Path) -> None:
    async with open_service(configured(tmp_path, service=service)) as held:
        with pytest.raises(ConfigError, match=says):
            require_secrets(held)
        with pytest.raises(ConfigError, match=says):
            build_application(Served(service=held, evaluators={}))


async def test_a_platform_without_webhooks_and_secrets_that_are_too_short(tmp_path: Path) -> None:
    files = {"prod": {"platform": "files", "path": "x.jsonl"}}
    async with open_service(configured(tmp_path, sources=files)) as held:
        with pytest.raises(ConfigError, match="files sends no webhooks"):
            require_secrets(held)
    (tmp_path / "groundwire.toml").write_text('[service]\ntoken = "short"\n')
    with pytest.raises(ConfigError, match=r"service.token: .*at least 16"):
        load_settings(tmp_path / "groundwire.toml", environment={})


def test_it_listens_on_loopback_unless_told_otherwise_and_says_when_a_port_is_taken() -> None:
    assert ServiceSpec().host == "127.0.0.1"
    with listen(ServiceSpec(port=0)) as taken:
        host, port = taken.getsockname()
        assert host == "127.0.0.1"
        assert taken.proto == socket.IPPROTO_TCP, "else every answer waits 40 ms for the kernel"
        with pytest.raises(ConfigError, match=rf"can't listen on 127.0.0.1:{port}: Address already in use"):
            listen(ServiceSpec(port=port))


async def test_metrics_bear_names_and_numbers_and_no_text(tmp_path: Path) -> None:
    body = {"question": "How long?", "answer": "Refunds take 3 days.", "evidence": ["Refunds take 5 business days."]}
    async with web(configured(tmp_path)) as live:
        assert (await live.client.post("/v1/score", headers=API, json=body)).status_code == 200
        await live.client.post("/v1/score", headers=API, json=body, params={"evaluator": NAME})
        await live.client.post(HOOK_PATH, headers=HOOK, json={"runs": [{"id": "0" * 32}]})
        text = (await live.client.get("/metrics", headers=API)).text
    assert 'groundwire_rows_total{evaluator="[service]",status="scored"} 1.0' in text
    assert f'groundwire_rows_total{{evaluator="{NAME}",status="scored"}} 1.0' in text
    assert f'groundwire_hook_deliveries_total{{answer="stored",evaluator="{NAME}"}} 1.0' in text
    assert f'groundwire_hook_queue{{evaluator="{NAME}"}} 1.0' in text
    assert "Refunds" not in text
