"""What the tests of the LLM judge share: a judge on the scripted server, and something to judge."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic import SecretStr
from tests.scorer.openai_server import JudgeServer

from groundwire.scorer.cache import MemoryCache
from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import Block, Limits, View, fit
from groundwire.scorer.judges.config import LLMJudgeConfig, PriceConfig
from groundwire.scorer.judges.llm import LLMJudge
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.spend import Account, Ledger

QUESTION = "When does my flight leave, and what did it cost?"
ANSWER = "Hello! Flight KL 1234 departs at 18:40 from gate B17. The ticket cost 318.50 euros. Shall I check you in?"
BLOCKS = (
    Block(
        name="E1",
        kind="tool",
        span_id="s1",
        tool_name="flights",
        arguments='{"passenger": "A. Vos"}',
        text='{"flight":"KL 1234","departs":"18:40","gate":"B17","price":{"total":318.5,"currency":"EUR"}}',
    ),
    Block(name="U1", kind="user", text=QUESTION),
)
_made: list[LLMJudge] = []
PRICE = PriceConfig(input=Decimal(1), cached_input=Decimal("0.1"), output=Decimal(4))


def view(*blocks: Block) -> View:
    """A view of these blocks, or of the flight's."""
    return fit(blocks or BLOCKS, Limits())


def facts(*texts: str) -> Sequence[DraftClaim]:
    """Claims by their words."""
    return [DraftClaim(text=text) for text in texts]


def judge_of(server: JudgeServer | str, ledger: Ledger | None = None, **settings: Any) -> LLMJudge:
    """A judge that asks the scripted server, bound to one trace."""
    defaults: dict[str, Any] = {
        "model": "scripted-1",
        "api_key": SecretStr("sk-test"),
        "base_url": server if isinstance(server, str) else server.url,
        "price": PRICE,
        "timeout_seconds": 20.0,
    }
    judge = build_judge(LLMJudgeConfig(**{**defaults, **settings}), ledger=ledger, cache=MemoryCache())
    assert isinstance(judge, LLMJudge)
    _made.append(judge)
    return judge.bound(Account(trace_id="t1"))


async def close_all() -> None:
    """Close every judge made since the last time."""
    while _made:
        await _made.pop().close()
