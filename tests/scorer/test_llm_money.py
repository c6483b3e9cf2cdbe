"""What is spent never passes the cap and never falls below what the endpoint counted (C44)."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import count, islice
from pathlib import Path

import pytest
from tests.scorer.judging import PRICE, QUESTION, facts, judge_of, view
from tests.scorer.openai_server import Call, Fault, JudgeServer

import groundwire.jobs.demo
from groundwire.connectors import Trace, cut, read_traces
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.judges.config import LLMJudgeConfig, OfflineJudgeConfig, PriceConfig
from groundwire.scorer.judges.registry import price_of, require_price
from groundwire.scorer.metrics.config import HallucinationConfig
from groundwire.scorer.metrics.hallucination import HallucinationMetric
from groundwire.scorer.partition import Partition
from groundwire.scorer.spend import Account, MemoryLedger, Reservation, Usage

CLAIM = facts("It departs at 18:40.")


def test_a_cap_needs_a_price() -> None:
    unknown = LLMJudgeConfig(model="our-own-7b", base_url="http://127.0.0.1:8000/v1")
    assert price_of(unknown) is None
    with pytest.raises(ConfigError, match="no price is known for 'our-own-7b'"):
        require_price(unknown)
    require_price(unknown.model_copy(update={"price": PRICE}))
    require_price(unknown.model_copy(update={"price": PriceConfig(input=Decimal(0), output=Decimal(0))}))
    require_price(LLMJudgeConfig(model="gpt-5-mini"))
    require_price(OfflineJudgeConfig())


async def test_what_has_no_price_says_so(judge_server: JudgeServer) -> None:
    reply = await judge_of(judge_server, price=None).label(QUESTION, CLAIM, view())
    assert reply.usage.micro_dollars == 0
    assert "price_unknown" in reply.flags


async def test_twenty_calls_at_once_stay_under_the_cap(judge_server: JudgeServer) -> None:
    judge_server.latency = 0.05
    ledger = MemoryLedger(cap=12_000)
    judge = judge_of(judge_server, ledger, concurrency=20)
    replies = await asyncio.gather(
        *(
            judge.bound(Account()).label(QUESTION, facts(f"It departs at 18:40 ({index})."), view())
            for index in range(20)
        )
    )
    skipped = [reply for reply in replies if reply.failure is not None]
    assert {(reply.failure.status, reply.failure.reason) for reply in skipped if reply.failure} == {
        ("skipped", "over_budget")
    }
    assert 0 < len(skipped) < 20
    assert ledger.spent <= 12_000
    assert len(judge_server.calls) == 20 - len(skipped)
    assert ledger.spent == sum(reply.usage.micro_dollars for reply in replies)


async def test_a_reply_without_usage_is_charged_at_its_worst_case(judge_server: JudgeServer) -> None:
    ledger = MemoryLedger()
    judge = judge_of(judge_server, ledger)
    judge_server.faults.append(Fault(usage=False))
    reply = await judge.label(QUESTION, CLAIM, view())
    assert reply.value is not None
    assert reply.usage.estimated
    assert reply.usage.output_tokens == judge_server.calls[0].limit
    assert reply.usage.input_tokens >= judge_server.calls[0].prompt_tokens
    assert ledger.spent == reply.usage.micro_dollars == reply.usage.input_tokens + 4 * reply.usage.output_tokens


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 10},
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": 10, "completion_tokens": 0},
        {"prompt_tokens": "many", "completion_tokens": 3},
        "free",
    ],
)
async def test_a_usage_that_cannot_be_is_none(judge_server: JudgeServer, usage: object) -> None:
    judge = judge_of(judge_server)
    message = {"role": "assistant", "content": '{"needs_facts": true}'}
    body = {"model": "m", "choices": [{"finish_reason": "stop", "message": message}], "usage": usage}
    judge_server.faults.append(Fault(body=body))
    reply = await judge.needs_facts("hello")
    assert reply.value is True
    assert reply.usage.estimated


@pytest.mark.parametrize(
    ("usage", "output", "reasoning"),
    [
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 30,
                "total_tokens": 39,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            10,
            20,
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 10,
                "total_tokens": 39,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            10,
            20,
        ),
        ({"prompt_tokens": 9, "completion_tokens": 10, "total_tokens": 39}, 10, 20),
        ({"input_tokens": 9, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20}}, 10, 20),
    ],
    ids=["within", "beside", "only in the total", "other names"],
)
async def test_reasoning_is_counted_wherever_it_is_reported(
    judge_server: JudgeServer, usage, output, reasoning
) -> None:
    judge = judge_of(judge_server)
    message = {"role": "assistant", "content": '{"needs_facts": false}'}
    body = {"model": "m", "choices": [{"finish_reason": "stop", "message": message}], "usage": usage}
    judge_server.faults.append(Fault(body=body))
    reply = await judge.needs_facts("hello")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.reasoning_tokens) == (9, output, reasoning)
    assert reply.usage.micro_dollars == 9 + 4 * 30


# -- 200 traces, every fault, one ledger

SEED = 7
KINDS = (
    "busy",
    "failing",
    "fenced",
    "unreadable",
    "cut short",
    "refused",
    "misquoted",
    "a label less",
    "hanging",
    "no usage",
)


def plan(shares: dict[str, float]):
    """Deals out faults by the call's index, the same ones every time."""
    dice = random.Random(SEED)
    dealt: Counter[str] = Counter()

    def deal(_index: int, call: Call) -> Fault | None:
        roll = dice.random()
        for kind, share in shares.items():
            roll -= share
            if roll < 0:
                dealt[kind] += 1
                return _fault(kind, call)
        return None

    return deal, dealt


def _fault(kind: str, call: Call) -> Fault:
    match kind:
        case "busy":
            return Fault(status=429, headers={"retry-after": "0.02"}, error={"message": "busy"})
        case "failing":
            return Fault(status=502, headers={"retry-after": "0.02"}, error={"message": "bad gateway"})
        case "fenced":
            return Fault(change=lambda form: f"```json\n{json.dumps(form)}\n```")
        case "unreadable":
            return Fault(content='{"labels": [{"id": "C1" "label": "supported"}]}')
        case "cut short":
            return Fault(content='{"labels": [{"id": "C1", "rea', finish="length", reasoning_tokens=30)
        case "refused":
            return Fault(content="", refusal="no")
        case "misquoted":
            return Fault(change=lambda form: _misquoted(form))
        case "a label less":
            return Fault(change=lambda form: {**form, "labels": form["labels"][1:]} if "labels" in form else form)
        case "hanging":
            return Fault(hang=True)
        case _:
            return Fault(usage=False)


def _misquoted(form):
    if "labels" not in form:
        return form
    return {"labels": [{**entry, "quote": "words that stand nowhere"} for entry in form["labels"]]}


@pytest.mark.parametrize(
    ("cap", "shares"),
    [
        (None, dict.fromkeys(KINDS[:8], 0.1)),
        (2_000_000, {"hanging": 0.1, "no usage": 0.05, "busy": 0.1}),
        (250_000, {"hanging": 0.1, "no usage": 0.05, "failing": 0.1, "unreadable": 0.1}),
    ],
    ids=["every fault", "losses", "at the cap"],
)
async def test_two_hundred_traces_are_all_accounted_for(judge_server: JudgeServer, cap: int | None, shares) -> None:
    judge_server.latency = 0.002
    judge_server.plan, dealt = plan(shares)
    ledger = WatchedLedger(cap=cap, server=judge_server)
    patience = 8.0 if "hanging" not in shares else 2.0
    metric = HallucinationMetric(
        judge=judge_of(judge_server, ledger, concurrency=50, timeout_seconds=patience),
        config=HallucinationConfig(concurrency_limit=50),
        max_concurrency=50,
    )
    partitions = list(islice(bundled(metric), 200))
    rows = await asyncio.gather(*(metric.score(partition) for partition in partitions))

    assert [row.trace_id for row in rows] == [partition.trace_id for partition in partitions]
    assert len({row.row_id for row in rows}) == 200
    ends = Counter(row.reason or row.status for row in rows)
    assert set(ends) <= {
        "scored",
        "no_claims",
        "undecided",
        "judge_refused",
        "judge_unparsable",
        "judge_timeout",
        "judge_failed",
        "over_budget",
        "judge_rate_limited",
    }
    assert ends["scored"] > 20
    assert all((row.score is None) == (row.status != "scored") for row in rows)
    assert ledger.held == {}
    assert ledger.spent == sum(row.usage.micro_dollars for row in rows)
    assert ledger.spent >= counted(judge_server), "never below what the endpoint counted"
    assert ledger.looks > 400, "and that was looked at before and after every call"
    assert (ends["over_budget"] > 0) is (cap == 250_000)
    assert all(dealt[kind] > 0 for kind in shares), "every fault happened"


@dataclass(kw_only=True)
class WatchedLedger(MemoryLedger):
    """Looks at every step whether what is spent and held covers what the endpoint has counted, and stays in the cap."""

    server: JudgeServer
    looks: int = 0

    def look(self) -> None:
        total = self.spent + sum(self.held.values())
        assert total >= counted(self.server)
        assert self.cap is None or total <= self.cap
        self.looks += 1

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:
        held = await super().reserve(account, micro_dollars)
        self.look()
        return held

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:
        self.look()
        await super().settle(reservation, usage, cache)
        self.look()


def counted(server: JudgeServer) -> Decimal:
    """What the endpoint would bill for every call it has worked on."""
    return sum(
        (
            Decimal(call.prompt_tokens - call.prompt_tokens // 2)
            + Decimal("0.1") * (call.prompt_tokens // 2)
            + 4 * call.completion_tokens
            for call in list(server.calls)
        ),
        Decimal(0),
    )


def bundled(metric: HallucinationMetric) -> Iterator[Partition]:
    """The traces that come with the package, over and over, each time with other words at the end of the answer."""
    folder = Path(groundwire.jobs.demo.__path__[0])
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".jsonl"))
    traces = [item for path in paths for item in read_traces(str(path)) if isinstance(item, Trace)]
    found = [item for one in traces for item in cut(one, "trace")]
    scorable = [item for item in found if metric.outlook(item).calls]
    assert len(scorable) > 5
    for number in count():
        data = scorable[number % len(scorable)].model_dump(mode="json", by_alias=True)
        data |= {"partition_id": f"t{number}", "trace_id": f"t{number}"}
        for span in data["spans"]:
            span["trace_id"] = f"t{number}"
            for message in span["output_messages"]:
                for part in message["parts"]:
                    if part["type"] == "text":
                        part["content"] += f" This is note {number}."
        yield Partition.model_validate(data)
