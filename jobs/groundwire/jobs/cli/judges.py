"""The judge that a command's options name: built, probed before its first question, closed after its last."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from groundwire.jobs.settings import api_key
from groundwire.scorer import (
    ConfigError,
    Judge,
    LLMJudge,
    MemoryLedger,
    build_judge,
    micro_dollars,
    read_judge_config,
    require_price,
)

__all__ = ["JudgeOptions", "open_judge"]


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """`--judge`, `--model`, `--base-url` and `--max-usd`."""

    kind: str
    """offline, llm or decision."""
    model: str | None = None
    base_url: str | None = None
    max_usd: float | None = None

    @classmethod
    def of(cls, kind: str | None, *, model: str | None, base_url: str | None, max_usd: float | None) -> Self | None:
        """None where no judge is asked for. Raises `ConfigError` where only its details are."""
        if kind is not None:
            return cls(kind=kind, model=model, base_url=base_url, max_usd=max_usd)
        if model is not None or base_url is not None or max_usd is not None:
            raise ConfigError("--model, --base-url and --max-usd are for a judge; add --judge llm")
        return None


@asynccontextmanager
async def open_judge(options: JudgeOptions) -> AsyncIterator[Judge]:
    """The judge, ready to be asked. Raises `ConfigError`."""
    data = {"kind": options.kind, "model": options.model, "base_url": options.base_url}
    given = {name: value for name, value in data.items() if value is not None}
    if options.kind == "offline" and len(given) > 1:
        raise ConfigError("--model and --base-url are for --judge llm or decision")
    config = read_judge_config({**api_key(), **given} if options.kind == "llm" else given, where="--judge")
    if options.max_usd is not None:
        require_price(config)
    cap = None if options.max_usd is None else micro_dollars(options.max_usd)
    judge = build_judge(config, ledger=MemoryLedger(cap=cap))
    if not isinstance(judge, LLMJudge):
        yield judge
        return
    try:
        await judge.probe()
        yield judge
    finally:
        await judge.close()
