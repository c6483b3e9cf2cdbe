"""From a judge's configuration to the judge."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from groundwire.scorer.cache import Cache, MemoryCache
from groundwire.scorer.errors import ConfigError
from groundwire.scorer.judge import Judge
from groundwire.scorer.judges.asking import MAX_PROMPT_CHARS, Asking
from groundwire.scorer.judges.calls import Calls
from groundwire.scorer.judges.config import (
    OPENAI_URL,
    DecisionJudgeConfig,
    LLMJudgeConfig,
    MetricParameters,
    OfflineJudgeConfig,
    for_metric,
)
from groundwire.scorer.judges.decisions import DecisionEndpoint
from groundwire.scorer.judges.endpoint import Endpoint
from groundwire.scorer.judges.llm import LLMJudge, version_of
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.judges.systemone import DecisionJudge, decision_version
from groundwire.scorer.prices import Price, find_price
from groundwire.scorer.prompts import load_prompts
from groundwire.scorer.redaction import Redaction, require
from groundwire.scorer.spend import Ledger, MemoryLedger

__all__ = ["PromptSettings", "build_judge", "price_of", "require_price"]


class PromptSettings(Protocol):
    """The settings beside a metric's configuration that concern its judge."""

    @property
    def prompts_dir(self) -> Path | None: ...
    @property
    def max_prompt_chars(self) -> int: ...


def build_judge(
    config: LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig,
    *,
    ledger: Ledger | None = None,
    cache: Cache | None = None,
    metric: MetricParameters | None = None,
    settings: PromptSettings | None = None,
) -> Judge:
    """The judge that is configured, with what the metric that uses it says about it. Makes no call.

    Without a ledger it spends without a cap; without a cache it remembers for as long as it lives. Raises
    `ConfigError`: no key, no such language, a prompts folder or CA bundle that can't be used, Presidio not installed.
    """
    if metric is not None:
        config = for_metric(config, metric, settings.prompts_dir if settings else None)
    if isinstance(config, OfflineJudgeConfig):
        return OfflineJudge()
    require(config.redact)
    calls = Calls(
        ledger=ledger or MemoryLedger(),
        price=price_of(config),
        slots=asyncio.Semaphore(config.concurrency),
        timeout=config.timeout_seconds,
    )
    if isinstance(config, DecisionJudgeConfig):
        version = decision_version(config)
        identity = json.dumps(version.model_dump(mode="json"), sort_keys=True)
        decisions = DecisionEndpoint(config=config, calls=calls, cache=cache or MemoryCache(), identity=identity)
        return DecisionJudge(
            config=config, endpoint=decisions, version=version, redaction=Redaction(kinds=config.redact)
        )
    if config.api_key is None and config.endpoint == OPENAI_URL:
        raise ConfigError("judge: no API key; set OPENAI_API_KEY, or api_key in its [judges] table")
    prompts = load_prompts(config.language, config.prompts_dir)
    version = version_of(config, prompts.digest)
    asking = Asking(
        endpoint=Endpoint(config=config, calls=calls),
        prompts=prompts,
        cache=cache or MemoryCache(),
        identity=json.dumps(version.model_dump(mode="json"), sort_keys=True),
        max_chars=settings.max_prompt_chars if settings else MAX_PROMPT_CHARS,
    )
    return LLMJudge(config=config, asking=asking, version=version, redaction=Redaction(kinds=config.redact))


def price_of(config: LLMJudgeConfig | DecisionJudgeConfig) -> Price | None:
    """What the judge's tokens cost: its own price, else the list's; None where neither is known."""
    if config.price is not None:
        return Price.per_million(
            input=config.price.input, output=config.price.output, cached_input=config.price.cached_input
        )
    return find_price(config.model, now=datetime.now(UTC), provider=config.provider, base_url=config.endpoint)


def require_price(config: LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig) -> None:
    """Raise `ConfigError` where a cap can't be kept because nobody knows what the judge costs."""
    if not isinstance(config, OfflineJudgeConfig) and price_of(config) is None:
        raise ConfigError(
            f"judge: no price is known for {config.model!r}, so no cap can be kept; "
            "set price = {input = …, output = …} in its [judges] table, in dollars per million tokens"
        )
