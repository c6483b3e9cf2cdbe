"""A partition, or a question with its answer, goes in and a row comes out; decisions in whatever form they're asked."""

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.scorer.scripted import ScriptedJudge
from tests.web.rig import API, NAME, SlowJudge, configured, web

from groundwire.connectors import cut
from groundwire.connectors.testing import make_sample
from groundwire.jobs.service import REQUESTS
from groundwire.jobs.store import rows
from groundwire.jobs.store.rows import RowQuery
from groundwire.scorer import Failure, Row, Verdict

CONTEXT = "Refunds take 5 business days. Order 42 costs 99 euros."
WRONG = {"context": CONTEXT, "inputs": "How long do refunds take?", "outputs": "Refunds take 3 days."}
RIGHT = {**WRONG, "outputs": "Refunds take 5 business days."}
TRANSCRIPT = f"USER: How long?\nTOOL find: {CONTEXT}"


def messages(answer: str) -> list[dict[str, Any]]:
    call = {"id": "1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    return [
        {"role": "user", "content": "How long do refunds take?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": CONTEXT},
        {"role": "assistant", "content": answer},
    ]


def text(state: dict[str, str]) -> str:
    return f"CONTEXT:\n{state['context']}\nQuestion: {state['inputs']}\nANSWER:\n{state['outputs']}"


def partition(state: dict[str, str]) -> dict[str, Any]:
    span = {"trace_id": "t", "start_time": "2026-11-30T10:00:00Z", "end_time": "2026-11-30T10:00:02Z"}
    said = {"role": "assistant", "parts": [{"type": "text", "content": state["outputs"]}]}
    spans = [
        {**span, "span_id": "a", "kind": "AGENT", "output_messages": [said]},
        {**span, "span_id": "b", "parent_id": "a", "kind": "TOOL", "tool_name": "find", "output": state["context"]},
    ]
    return {
        "schema": "canonical_partition_v1", "partition_type": "trace", "partition_id": "t", "trace_id": "t",
        "spans": spans, "zz_new": 1,
    }  # fmt: skip


async def test_an_exchange_and_a_partition_are_scored_and_nothing_is_stored(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        for body in (
            {"question": WRONG["inputs"], "answer": WRONG["outputs"], "evidence": [CONTEXT]},
            {"question": messages("x")[:1], "answer": WRONG["outputs"], "evidence": {"note": CONTEXT}},
            partition(WRONG),
        ):
            answer = await live.client.post("/v1/score", headers=API, json=body)
            row = Row.model_validate_json(answer.content)
            assert (answer.status_code, row.status, row.score, row.label) == (200, "scored", 0.0, "hallucinated")
        sample = make_sample(3, kind="hallucinated", end=datetime(2026, 11, 30, tzinfo=UTC))
        [whole] = cut(sample.trace, "trace")
        answer = await live.client.post(
            "/v1/score", headers=API, content=whole.model_dump_json(by_alias=True), params={"evaluator": NAME}
        )
        assert Row.model_validate_json(answer.content).score == sample.score
        found = [page async for page in rows.pages(live.service.store, RowQuery())]
        assert sum(map(len, found)) == 0


async def test_what_cannot_be_scored_says_why(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:

        async def score(body: Any, **params: str) -> Any:
            return await live.client.post("/v1/score", headers=API, json=body, params=params)

        nothing: tuple[Any, ...] = (None, [])
        for evidence in nothing:
            row = (await score({"question": "q", "answer": "Refunds take 3 days.", "evidence": evidence})).json()
            assert (row["status"], row["reason"], row["score"]) == ("unknown", "no_evidence", None)
        assert (await score({"answer": "", "evidence": "e"})).json()["reason"] == "no_answer"
        unknown = await score({"answer": "a", "evidence": "e"}, evaluator="none")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "no_such_evaluator")
        for body in ({"answer": "a", "evidences": "e"}, {"question": "q"}, {**partition(WRONG), "spans": 3}):
            refused = await score(body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_request")
        session = await score({**partition(WRONG), "partition_type": "session"})
        assert session.status_code == 422
        assert "session" in session.json()["error"]["message"]


async def asked(live: Any, state: Any, *names: str, model: str = "groundwire") -> Any:
    questions = {name: {"type": "noul", "instructions": "?"} for name in names or ("hallucinated",)}
    body = {"model": model, "state": state, "questions": questions}
    return await live.client.post("/v1/systemone", headers=API, json=body)


FORMS: dict[str, Any] = {
    "object": lambda state: state,
    "synonyms": lambda state: {
        "documents": [state["context"]], "query": state["inputs"], "response": state["outputs"]
    },
    "json": json.dumps,
    "sections": text,
    "prompt": lambda state: [{"role": "system", "content": "Judge."}, {"role": "user", "content": text(state)}],
    "messages": lambda state: messages(state["outputs"]),
    "held messages": lambda state: {"messages": messages(state["outputs"])},
    "transcript": lambda state: {"transcript": TRANSCRIPT, "output": state["outputs"]},
    "record": lambda state: {"record": TRANSCRIPT, "response": state["outputs"]},
    "partition": partition,
}  # fmt: skip


async def test_every_form_of_a_state_gets_the_same_decision(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        for name, form in FORMS.items():
            for state, wrong in ((WRONG, True), (RIGHT, False)):
                answer = await asked(live, form(state), "hallucinated", "grounded", model=NAME)
                found = answer.json()
                assert answer.status_code == 200, (name, found)
                assert (found["answers"]["hallucinated"]["noul"] >= 0.5) is wrong, name
                sure = found["answers"]["hallucinated"]["noul"] + found["answers"]["grounded"]["noul"]
                assert sure == pytest.approx(1.0)
                assert found["model"] == NAME
                assert set(found["usage"]) == {"input_tokens", "output_tokens"}


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("just some text", "no section OUTPUTS"),
        (f"{text(WRONG)}\nANSWER: Refunds take 5 business days.", "section outputs twice"),
        ({**WRONG, "context": "CONTEXT"} | {"outputs": ""}, "names no outputs"),
        ({}, "names no outputs"),
        ([], "holds no messages"),
        ([1, 2], "holds no messages"),
        (None, "the state is empty"),
        (7, "the state is empty"),
        ({**partition(WRONG), "spans": "none"}, "no valid canonical_partition_v1: spans"),
    ],
)
async def test_states_that_cannot_be_read_are_422_and_say_what_to_send(state: Any, says: str, tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        answer = await asked(live, state)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_state")
        assert says in answer.json()["error"]["message"]


async def test_questions_that_are_not_on_the_list_are_422(tmp_path: Path) -> None:
    async with web(configured(tmp_path)) as live:
        for questions in (
            {"polite": {"type": "noul", "instructions": "?"}},
            {"hallucinated": {"type": "choice", "criteria": {"a": None}}},
            {"hallucinated": {"type": "score"}},
            {"hallucinated": "?"},
            {"hallucinated": {"type": "noul"}, "secret words": {"type": "noul"}},
            {},
        ):
            answer = await live.client.post("/v1/systemone", headers=API, json={"state": WRONG, "questions": questions})
            assert answer.status_code == 422
            assert answer.json()["error"]["code"] in ("invalid_questions", "invalid_request")
            assert "secret words" not in answer.text
        assert (await asked(live, WRONG, model="none")).status_code == 404
        assert (await asked(live, WRONG, "hallucination", "groundedness")).status_code == 200


async def test_what_the_judge_cannot_tell_is_that_questions_error_and_no_number(tmp_path: Path) -> None:
    refusing = ScriptedJudge(
        fail={"split": Failure(status="skipped", reason="over_budget", message="the cap is reached")}, facts=True
    )
    async with web(configured(tmp_path), judge=refusing) as live:
        found = (await asked(live, WRONG, "hallucinated", "needs_facts")).json()["answers"]
        assert (found["hallucinated"]["type"], found["hallucinated"]["code"]) == ("error", "over_budget")
        assert "noul" not in found["hallucinated"]
        assert found["needs_facts"] == {"type": "noul", "noul": 1.0}
        found = (await asked(live, {"context": None, "inputs": "q", "outputs": "It is 3."})).json()["answers"]
        assert found["hallucinated"]["code"] == "no_evidence"
        found = (await asked(live, {"transcript": TRANSCRIPT, "output": "x"}, "needs_facts")).json()["answers"]
        assert found["needs_facts"]["code"] == "no_question"


async def test_a_judge_without_probabilities_decides_and_one_with_them_is_believed(tmp_path: Path) -> None:
    verdict = Verdict(label="hallucinated", explanation="", probability=0.83)
    async with web(configured(tmp_path), judge=ScriptedJudge(labels={"3": "hallucinated"}, verdict=verdict)) as live:
        assert (await asked(live, WRONG)).json()["answers"]["hallucinated"]["noul"] == 1.0
        assert (await asked(live, RIGHT)).json()["answers"]["hallucinated"]["noul"] == 0.0
        found = (await asked(live, {"transcript": TRANSCRIPT, "output": "x"})).json()
        assert found["answers"]["hallucinated"]["noul"] == 0.83
        assert found["usage"] == {"input_tokens": 10, "output_tokens": 5}


async def test_each_request_spends_on_its_evaluators_account(tmp_path: Path) -> None:
    judge = ScriptedJudge()
    async with web(configured(tmp_path), judge=judge) as live:
        await asked(live, WRONG)
        await asked(live, WRONG, model=NAME)
        await live.client.post("/v1/score", headers=API, json={"answer": "It is 3.", "evidence": "e"})
        names = [account.evaluator for account in judge.accounts]
        assert names == [REQUESTS, NAME, REQUESTS]
        assert all(account.trace_id and account.live for account in judge.accounts)


async def test_the_answer_comes_in_time_and_the_late_verdict_is_there_for_the_next(tmp_path: Path) -> None:
    judge = SlowJudge(labels={"3": "hallucinated"})
    judge.seconds = 0.6
    async with web(configured(tmp_path, service={"deadline": 0.2}), judge=judge, on_socket=True) as live:
        began = time.perf_counter()
        found = (await asked(live, WRONG)).json()["answers"]["hallucinated"]
        assert time.perf_counter() - began < 0.55
        assert (found["type"], found["code"]) == ("error", "deadline")
        await asyncio.sleep(0.6)
        assert [question for question, _ in judge.asked] == ["split", "label"], "what was begun is finished"


async def test_a_judge_that_computes_without_a_pause_delays_no_other_answer(tmp_path: Path) -> None:
    class Busy(ScriptedJudge):
        async def split(self, question: str, answer: str) -> Any:
            until = time.perf_counter() + 1.0
            while time.perf_counter() < until:
                pass
            return await super().split(question, answer)

    async with web(configured(tmp_path, service={"deadline": 0.3}), judge=Busy(), on_socket=True) as live:
        port = live.client.base_url.port

        def from_outside() -> tuple[float, float]:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=API, timeout=10) as client:
                body = {"state": WRONG, "questions": {"hallucinated": {"type": "noul"}}}
                began = time.perf_counter()
                late = client.post("/v1/systemone", json=body)
                took = time.perf_counter() - began
                assert late.json()["answers"]["hallucinated"]["code"] == "deadline"
                client.post("/v1/systemone", json=body)
                began = time.perf_counter()
                assert client.get("/healthz").status_code == 200
                return took, time.perf_counter() - began

        took, health = await asyncio.to_thread(from_outside)
        assert took < 0.9
        assert health < 0.5
