"""The judge that a command's options name: built, probed before its first question, closed after its last."""

import json
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from groundwire.jobs.settings import api_key
from groundwire.scorer import (
    ConfigError,
    Judge,
    JudgeConfig,
    LLMJudge,
    MemoryLedger,
    build_judge,
    micro_dollars,
    read_judge_config,
    require_price,
)

__all__ = ["JudgeOptions", "open_judge", "read_config", "ready"]

NEEDED = {"llm": ("model",), "decision": ("model", "base_url")}
"""What a judge can't do without."""


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """`--judge`, `--model`, `--base-url`, `--max-usd` and `--config`."""

    kind: str
    """offline, llm or decision."""
    model: str | None = None
    base_url: str | None = None
    max_usd: float | None = None
    config: Path | None = None
    """A file whose [judge] table says what the other options leave open: a price, headers, …"""

    @classmethod
    def of(cls, kind: str | None, **details: Any) -> Self | None:
        """None where no judge is asked for. Raises `ConfigError` where only its details are."""
        if kind is not None:
            return cls(kind=kind, **details)
        if any(value is not None for value in details.values()):
            raise ConfigError("--model, --base-url, --max-usd and --config are for a judge; add --judge llm")
        return None

    @property
    def cap(self) -> int | None:
        """`--max-usd` in micro-dollars."""
        return None if self.max_usd is None else micro_dollars(self.max_usd)

    def judge(self, table: Mapping[str, Any]) -> JudgeConfig:
        """The judge's configuration; what the options leave open is as the file's [judge] table says.

        Raises `ConfigError`, also where money is capped and the judge's price isn't known.
        """
        given = {"kind": self.kind, "model": self.model, "base_url": self.base_url}
        data = {**table, **{name: value for name, value in given.items() if value is not None}}
        if self.kind == "llm":
            data = {**api_key(), **data}
        for name in NEEDED.get(self.kind, ()):
            if not data.get(name):
                flag = name.replace("_", "-")
                raise ConfigError(f"--judge {self.kind} needs --{flag}, or {name} in the [judge] table of --config")
        found = read_judge_config(data if self.kind != "offline" else {"kind": "offline"}, where="--judge")
        if self.max_usd is not None:
            require_price(found)
        return found


def read_config(path: Path | None) -> dict[str, Any]:
    """A TOML or JSON file with [config], [judge] and the settings beside them. Raises `ConfigError`."""
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}; name a TOML or JSON file") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid {'JSON' if path.suffix == '.json' else 'TOML'}: {error}") from None
    if not isinstance(data, dict) or not all(isinstance(data.get(name, {}), dict) for name in ("config", "judge")):
        raise ConfigError(f"{path}: expected a table with [config], [judge] and the settings beside them")
    return data


@asynccontextmanager
async def ready(judge: Judge, *, probe: bool = True) -> AsyncIterator[Judge]:
    """The judge, probed where it can be, and closed afterwards. Raises `ConfigError` and `GiveUp` as its probe does."""
    try:
        if probe and isinstance(judge, LLMJudge):
            await judge.probe()
        yield judge
    finally:
        await judge.close()


@asynccontextmanager
async def open_judge(options: JudgeOptions) -> AsyncIterator[Judge]:
    """The judge that the options name, ready to be asked. Raises as `ready` and `JudgeOptions.judge` do."""
    table = read_config(options.config).get("judge", {})
    if options.kind == "offline" and (table or options.model or options.base_url):
        raise ConfigError("--model, --base-url and a [judge] table are for --judge llm or decision")
    config = options.judge(table)
    async with ready(build_judge(config, ledger=MemoryLedger(cap=options.cap))) as judge:
        yield judge
