"""`POST /v1/guard`: a request, its answer and evidence go in; the answer to give comes out, with warnings beside it."""

import asyncio
import time
from pathlib import Path
from typing import Any

import yaml
from tests.scorer.scripted import ScriptedJudge
from tests.scorer.test_guard import ANSWER, DOCUMENT, NINETY, POLICY, QUESTION, SlowJudge
from tests.web.rig import API, configured, web

from groundwire.jobs.guarding import build_guard
from groundwire.jobs.web import Served
from groundwire.scorer import Failure, Guard

BODY = {"request": QUESTION, "answer": ANSWER, "evidence": POLICY}
GUARD = {"router": yaml.safe_load(DOCUMENT)}


def guarded(judge: Any) -> Any:
    """Puts the configured guard into a service, with that judge."""

    def prepare(served: Served) -> None:
        settings = served.service.settings
        assert settings.guard is not None
        own = build_guard(served.service)
        found = Guard(settings.guard.read()[0], judges={"default": judge}) if judge is not None else own
        object.__setattr__(served, "guard", found)

    return prepare


async def test_the_answer_comes_back_with_its_note_and_the_header(tmp_path: Path) -> None:
    settings = configured(tmp_path, guard=GUARD)
    async with web(settings, prepare=guarded(ScriptedJudge(found=(NINETY,))), on_socket=True) as live:
        reply = await live.client.post("/v1/guard", json=BODY, headers=API)
        assert reply.status_code == 200
        assert reply.headers["x-groundwire-warnings"] == "ungrounded"
        found = reply.json()
        assert found["answer"].endswith(ANSWER)
        assert found["answer"].startswith("Note on this answer: 1 passage")
        assert (found["actions"], found["warnings"]) == (["annotate"], ["ungrounded"])
        signal = found["signals"]["ungrounded"]
        assert (signal["type"], signal["outcome"], signal["reason"]) == ("hallucination", "matched", None)
        [span] = signal["spans"]
        assert ANSWER[span["start"] : span["end"]] == "90 days"
        assert found["signals"]["needs_fact_check"]["label"] == "needs_fact_check"


async def test_an_answer_that_is_fine_comes_back_as_it_was(tmp_path: Path) -> None:
    async with web(configured(tmp_path, guard=GUARD), prepare=guarded(ScriptedJudge())) as live:
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
        for request in (QUESTION, messages):
            reply = await live.client.post("/v1/guard", json={**BODY, "request": request}, headers=API)
            assert reply.json()["answer"] == ANSWER
            assert reply.json()["actions"] == []
            assert "x-groundwire-warnings" not in reply.headers
            assert reply.json()["signals"]["ungrounded"]["outcome"] == "not_matched"


async def test_the_configured_guard_answers_and_keeps_its_checks(tmp_path: Path) -> None:
    async with web(configured(tmp_path, guard=GUARD), prepare=guarded(None)) as live:
        reply = await live.client.post("/v1/guard", json={**BODY, "trace_id": "t1"}, headers=API)
        assert reply.json()["actions"] == ["annotate"]
        await asyncio.sleep(0.2)  # no answer waits for its record
        metrics = await live.client.get("/metrics", headers=API)
        assert 'groundwire_rows_total{evaluator="guard",status="scored"} 1.0' in metrics.text


async def test_a_judge_that_fails_or_is_late_is_unknown_and_never_clean(tmp_path: Path) -> None:
    failing = ScriptedJudge(fail={"spans": Failure(status="error", reason="judge_unreachable")})
    async with web(configured(tmp_path, guard=GUARD), prepare=guarded(failing)) as live:
        reply = await live.client.post("/v1/guard", json=BODY, headers=API)
        assert reply.json()["signals"]["ungrounded"]["reason"] == "judge_unreachable"
        assert reply.headers["x-groundwire-warnings"] == "ungrounded=unknown"
        assert "could not be checked" in reply.json()["answer"]
    config = yaml.safe_load(DOCUMENT)
    config["recipes"][0]["signals"]["hallucination"][0]["timeout_ms"] = 50
    slow = SlowJudge()
    async with web(configured(tmp_path, guard={"router": config}), prepare=guarded(slow)) as live:
        began = time.perf_counter()
        reply = await live.client.post("/v1/guard", json=BODY, headers=API)
        assert time.perf_counter() - began < 2
        assert reply.json()["signals"]["ungrounded"]["reason"] == "timeout"
        assert reply.json()["actions"] == ["annotate"]
        slow.go.set()


async def test_a_busy_loop_of_the_judges_holds_no_answer(tmp_path: Path) -> None:
    config = yaml.safe_load(DOCUMENT)
    for kind in ("fact_check", "hallucination"):
        config["recipes"][0]["signals"][kind][0]["timeout_ms"] = 50
    settings = configured(tmp_path, guard={"router": config})
    async with web(settings, prepare=guarded(ScriptedJudge()), on_socket=True) as live:
        posted = asyncio.create_task(asyncio.to_thread(_post, live.client.base_url, BODY))
        await asyncio.sleep(0.05)
        time.sleep(1.5)  # noqa: ASYNC251 - as a judge that computes: nothing else happens in this loop
        status, taken, body = await posted
        assert (status, body["actions"]) == (200, ["annotate"])
        assert {one["reason"] for one in body["signals"].values()} == {"timeout"}
        assert taken < 1.2


def _post(base: Any, body: dict[str, Any]) -> tuple[int, float, dict[str, Any]]:
    import httpx

    time.sleep(0.1)
    began = time.perf_counter()
    reply = httpx.post(f"{base}/v1/guard", json=body, headers=API, timeout=10)
    return reply.status_code, time.perf_counter() - began, reply.json()


async def test_what_can_not_be_used_is_refused(tmp_path: Path) -> None:
    async with web(configured(tmp_path, guard=GUARD), prepare=guarded(ScriptedJudge())) as live:
        for body, status, code in (
            ({"request": QUESTION}, 422, "invalid_request"),
            ({**BODY, "answer": ["a"]}, 422, "invalid_request"),
            ({**BODY, "stream": True}, 422, "invalid_request"),
        ):
            reply = await live.client.post("/v1/guard", json=body, headers=API)
            assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
        assert (await live.client.post("/v1/guard", json=BODY)).status_code == 401
        empty = await live.client.post("/v1/guard", json={"request": "", "answer": ""}, headers=API)
        assert empty.json()["signals"]["needs_fact_check"]["reason"] == "no_request"
        long = {**BODY, "evidence": [{"n": n} for n in range(20_000)], "answer": "\u202e90 days"}
        assert (await live.client.post("/v1/guard", json=long, headers=API)).status_code == 200


async def test_without_a_guard_there_is_none(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        reply = await live.client.post("/v1/guard", json=BODY, headers=API)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "no_guard")
