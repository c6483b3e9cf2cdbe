"""The judge that a command's options name: built, probed before its first question, closed after its last."""

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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
    """`--judge`, `--model`, `--base-url`, `--max-usd` and `--config`."""

    kind: str
    """offline, llm or decision."""
    model: str | None = None
    base_url: str | None = None
    max_usd: float | None = None
    config: Path | None = None
    """A TOML file whose [judge] table says what the other options leave open: a price, headers, …"""

    @classmethod
    def of(cls, kind: str | None, **details: Any) -> Self | None:
        """None where no judge is asked for. Raises `ConfigError` where only its details are."""
        if kind is not None:
            return cls(kind=kind, **details)
        if any(value is not None for value in details.values()):
            raise ConfigError("--model, --base-url, --max-usd and --config are for a judge; add --judge llm")
        return None


@asynccontextmanager
async def open_judge(options: JudgeOptions) -> AsyncIterator[Judge]:
    """The judge, ready to be asked. Raises `ConfigError`."""
    data = {"kind": options.kind, "model": options.model, "base_url": options.base_url}
    given = {**_table(options.config), **{name: value for name, value in data.items() if value is not None}}
    if options.kind == "offline" and len(given) > 1:
        raise ConfigError("--model, --base-url and a [judge] table are for --judge llm or decision")
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


def _table(path: Path | None) -> dict[str, Any]:
    """The [judge] table of a file. Raises `ConfigError`."""
    if path is None:
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("judge")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: expected a [judge] table")
    return table
