"""Endpoints that are busy, broken, slow, or lack what is asked of them (C42)."""

import asyncio
import logging
import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.scorer.judging import QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Fault, JudgeServer

from groundwire.scorer.errors import ConfigError, GiveUp
from groundwire.scorer.evidence import Block
from groundwire.scorer.judges.faults import fault_of_status, retry_after
from groundwire.scorer.spend import Account, MemoryLedger

CLAIM = facts("It departs at 18:40.")
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def busy(after: str | None = None, status: int = 429) -> Fault:
    return Fault(status=status, headers={"retry-after": after} if after else {}, error={"message": "slow down"})


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_tried_again(judge_server: JudgeServer, status: int) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(busy("0.01", status))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert len(judge_server.calls) == 2


@pytest.mark.parametrize(
    ("status", "charged"), [(429, False), (503, False), (529, False), (500, True), (502, True), (504, True)]
)
async def test_only_what_may_have_been_billed_is_charged(judge_server: JudgeServer, status: int, charged: bool) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.faults.append(busy("0.01", status))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.usage.estimated is charged
    assert reply.usage.calls == 1 + charged
    assert reply.usage.micro_dollars == ledger.spent
    assert ledger.held == {}


async def test_one_call_waits_and_the_others_go_on(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, concurrency=1)
    await judge.label(QUESTION, CLAIM, view())  # what the endpoint takes is known from here on
    judge_server.faults.append(busy("3"))
    started = time.monotonic()
    waits = asyncio.create_task(judge.label(QUESTION, facts("The gate is B17."), view()))
    await asyncio.to_thread(judge_server.turned_down.wait, 5)
    others = await asyncio.gather(
        *(
            judge.bound(Account()).label(QUESTION, facts(f"It departs at 18:40 ({index})."), view())
            for index in range(5)
        )
    )
    assert all(reply.value is not None for reply in others)
    assert not waits.done(), "it holds no slot while it waits"
    assert (await waits).value is not None
    assert time.monotonic() - started >= 3.0


async def test_a_wait_past_the_deadline_is_not_waited_for(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, timeout_seconds=2)
    judge_server.faults.append(busy("30"))
    started = time.monotonic()
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason, reply.failure.retry_after) == (
        "error",
        "judge_rate_limited",
        30.0,
    )
    assert time.monotonic() - started < 1
    assert len(judge_server.calls) == 1


async def test_an_endpoint_that_never_answers_ends_at_the_deadline_and_is_charged(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger, timeout_seconds=2)
    judge_server.plan = lambda _index, _call: Fault(hang=True)
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("error", "judge_timeout")
    assert reply.usage.estimated
    call = judge_server.calls[0]
    assert ledger.spent == reply.usage.micro_dollars >= call.prompt_tokens + 4 * call.completion_tokens
    assert ledger.held == {}


async def test_a_partition_has_a_deadline_of_its_own(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, timeout_seconds=60, partition_seconds=0.3)
    judge_server.plan = lambda _index, _call: busy()
    started = time.monotonic()
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert reply.failure.status == "error"
    assert time.monotonic() - started < 1.5
    judge._until = asyncio.get_running_loop().time()
    late = await judge.label(QUESTION, facts("The gate is B17."), view())
    assert late.failure is not None
    assert late.usage.calls == 0


async def test_a_connection_cut_in_the_middle_is_charged_and_tried_again(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.faults.append(Fault(cut=True))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.usage.calls == 2
    assert reply.usage.estimated
    judge_server.bugs.clear()


async def test_a_cancelled_call_is_charged_at_its_worst_case(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.plan = lambda _index, _call: Fault(hang=True)
    task = asyncio.create_task(judge.label(QUESTION, CLAIM, view()))
    await asyncio.to_thread(judge_server.worked.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ledger.held == {}
    assert ledger.spent >= judge_server.prompt_tokens + 4 * judge_server.completion_tokens


async def test_an_endpoint_that_is_not_there_costs_nothing(judge_server: JudgeServer) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    ledger = MemoryLedger()
    judge = judge_of(f"http://127.0.0.1:{port}/v1", ledger, timeout_seconds=0.5)
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("error", "judge_unreachable")
    assert (ledger.spent, ledger.held) == (0, {})


# -- what an endpoint lacks is learnt once


@pytest.mark.parametrize("message", ["json_schema is not supported by this model: response_format", "invalid request"])
async def test_json_is_asked_for_by_schema_then_tool_then_in_words(judge_server: JudgeServer, message: str) -> None:
    judge = judge_of(judge_server)
    judge_server.refuses = {"response_format": message}
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    judge_server.refuses |= {"tools": "tools are not supported"}
    judge.asking.endpoint.dialect._settled = False
    await judge.label(QUESTION, facts("The gate is B17."), view())
    again = await judge.label(QUESTION, facts("It cost 318.50 euros."), view())
    assert [(call.mode, call.status) for call in judge_server.calls] == [
        ("schema", 400),
        ("tool", 200),
        ("tool", 400),
        ("text", 200),
        ("text", 200),
    ]
    assert again.notes["output"] == "text"


async def test_many_calls_at_once_learn_it_once(judge_server: JudgeServer) -> None:
    judge_server.latency = 0.02
    judge = judge_of(judge_server, concurrency=20)
    judge_server.refuses = {
        "response_format": "response_format json_schema not supported",
        "temperature": "temperature?",
    }
    replies = await asyncio.gather(
        *(
            judge.bound(Account()).label(QUESTION, facts(f"It departs at 18:40 ({index})."), view())
            for index in range(30)
        )
    )
    assert all(reply.value is not None for reply in replies)
    assert sum(call.status == 400 for call in judge_server.calls) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
        ("reasoning_effort", "Unrecognized request argument supplied: reasoning_effort"),
    ],
)
async def test_a_refused_parameter_is_dropped_remembered_and_noted(
    judge_server: JudgeServer, name: str, message: str
) -> None:
    judge = judge_of(judge_server, reasoning_effort="low")
    judge_server.refuses = {name: message}
    first = await judge.label(QUESTION, CLAIM, view())
    second = await judge.label(QUESTION, facts("The gate is B17."), view())
    assert [name in call.body for call in judge_server.calls] == [True, False, False]
    assert first.notes["dropped_parameters"] == second.notes["dropped_parameters"] == [name]
    assert "parameters_dropped" in first.flags
    assert judge.version == judge_of(judge_server, reasoning_effort="low").version, "what is learnt changes no identity"


async def test_the_limit_goes_by_either_name(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.refuses = {"max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert "max_completion_tokens" in judge_server.calls[1].body


async def test_a_call_without_any_limit_is_not_made(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.refuses = {name: f"Unknown parameter: {name}" for name in ("max_tokens", "max_completion_tokens")}
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert reply.failure.status == "error"
    assert all(call.status == 400 for call in judge_server.calls)


@pytest.mark.parametrize(
    ("model", "sent"),
    [("o3-mini", False), ("gpt-5-mini", False), ("openai/gpt-5", False), ("gpt-5-chat", True), ("gpt-4o", True)],
)
async def test_models_known_to_refuse_a_temperature_get_none(judge_server: JudgeServer, model: str, sent: bool) -> None:
    judge = judge_of(judge_server, model=model)
    await judge.label(QUESTION, CLAIM, view())
    assert ("temperature" in judge_server.calls[0].body) is sent


async def test_a_context_too_small_shrinks_the_evidence_and_says_so(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.context_tokens = 900
    long = Block(name="E2", kind="tool", text="filler words " * 500)
    whole = view(Block(name="E1", kind="tool", text="It departs at 18:40."), long)
    reply = await judge.label(QUESTION, CLAIM, whole)
    assert reply.value is not None
    assert reply.value[0].label == "supported"
    assert reply.view is not None
    assert reply.view.coverage.shown < whole.coverage.shown
    assert "context_too_small" in reply.flags
    refused = sum(call.status == 400 for call in judge_server.calls)
    await judge.label(QUESTION, facts("The gate is B17."), whole)
    assert sum(call.status == 400 for call in judge_server.calls) == refused, "the ceiling is remembered"


async def test_an_answer_that_does_not_fit_is_split_in_smaller_pieces(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.context_tokens = 1_500
    answer = "\n".join(f"Order {number} was shipped on 3 May 2026." for number in range(200))
    reply = await judge.split(QUESTION, answer)
    assert reply.value is not None
    assert all(answer[claim.start : claim.end] == claim.text for claim in reply.value)
    assert any("Order 199" in claim.text for claim in reply.value)


async def test_a_question_that_can_never_fit_is_unknown(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.context_tokens = 10
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.failure is not None
    assert (reply.failure.status, reply.failure.reason) == ("unknown", "low_coverage")


# -- what ends a judge


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Fault(status=401, error={"message": "Incorrect API key provided: sk-secret"}), "refused the key"),
        (Fault(status=403, error={"message": "no access"}), "refused the key"),
        (
            Fault(status=404, error={"code": "model_not_found", "message": "The model does not exist"}),
            "has no model 'scripted-1' for this",
        ),
        (Fault(status=400, error={"message": "Unknown model scripted-1"}), "has no model 'scripted-1' for this"),
        (Fault(status=404, error="Not Found"), "set base_url"),
        (Fault(html=True), "set base_url"),
        (
            Fault(status=429, error={"code": "insufficient_quota", "message": "You exceeded your current quota"}),
            "quota",
        ),
        (Fault(status=402, error={"message": "Insufficient Balance"}), "quota"),
    ],
    ids=["key", "forbidden", "model", "model 400", "path", "html", "quota", "balance"],
)
async def test_what_no_later_call_escapes_gives_up_with_one_line(
    judge_server: JudgeServer, fault: Fault, line: str
) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.plan = lambda _index, _call: fault
    with pytest.raises(GiveUp, match=line) as caught:
        await judge.label(QUESTION, CLAIM, view())
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert len(judge_server.calls) == 1
    assert (ledger.spent, ledger.held) == (0, {})
    with pytest.raises(ConfigError, match=line):
        await judge.probe()


async def test_a_rate_limit_that_speaks_of_quota_may_pass(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(
        Fault(
            status=429, headers={"retry-after": "0.01"}, error={"message": "You exceeded your current quota per minute"}
        )
    )
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None


async def test_an_error_inside_a_success_is_an_error(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(Fault(body={"error": {"code": 429, "message": "upstream is busy"}}))
    assert (await judge.label(QUESTION, CLAIM, view())).value is not None
    assert len(judge_server.calls) == 2


# -- the probe


async def test_the_probe_learns_what_the_endpoint_takes(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.refuses = {"temperature": "temperature is not supported"}
    await judge.probe()
    await judge.label(QUESTION, CLAIM, view())
    assert [call.status for call in judge_server.calls] == [400, 200, 200]
    assert judge_server.calls[1].prompt_tokens < 150


async def test_the_probe_says_that_a_model_cannot_do_json(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server)
    judge_server.plan = lambda _index, _call: Fault(content="Sure! Everything is okay.")
    with pytest.raises(ConfigError, match="scripted-1 can't answer in JSON"):
        await judge.probe()


async def test_the_probe_says_that_nothing_answers(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, timeout_seconds=0.2)
    judge_server.plan = lambda _index, _call: Fault(hang=True)
    with pytest.raises(ConfigError, match=r"gave no answer in 0\.2 s"):
        await judge.probe()


async def test_the_probe_does_not_wait_for_an_endpoint_that_is_not_there(judge_server: JudgeServer) -> None:
    judge = judge_of("http://127.0.0.1:9/v1", timeout_seconds=60)
    started = time.monotonic()
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:9 can't be reached; check base_url"):
        await judge.probe()
    assert time.monotonic() - started < 5


async def test_a_cap_without_room_is_no_fault_of_the_endpoint(judge_server: JudgeServer) -> None:
    judge = judge_of(judge_server, MemoryLedger(cap=0))
    await judge.probe()
    assert judge_server.calls == []


# -- waits, and what is written about them


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=7), usegmt=True)}, 7.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=7), usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    "body",
    [None, "text", b"\xff", [], [{"error": {"message": "m"}}], {"error": "m"}, {"detail": [{"loc": ["body"]}]}, 3],
)
def test_any_error_body_is_read(body: object) -> None:
    assert fault_of_status(400, body, {}, NOW).kind == "rejected"


async def test_a_retry_leaves_no_trace_text_in_the_log(
    judge_server: JudgeServer, caplog: pytest.LogCaptureFixture
) -> None:
    judge = judge_of(judge_server)
    judge_server.faults.append(
        Fault(status=503, headers={"retry-after": "0.01"}, error={"message": "can't handle: It departs at 18:40."})
    )
    with caplog.at_level(logging.DEBUG, logger="groundwire"), caplog.at_level(logging.DEBUG, logger="stamina"):
        await judge.label(QUESTION, CLAIM, view())
    assert any(record.name == "groundwire.judge" for record in caplog.records)
    for record in caplog.records:
        if record.name.startswith(("groundwire", "stamina")):
            assert "18:40" not in repr(record.__dict__)
