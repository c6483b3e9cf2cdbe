"""The labelled sets beside the checkout, as claims with evidence: what the accuracy benchmark and the fitting read."""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from groundwire.scorer import Block, Shown, View

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
"""Where the sets lie: `../shared/data` of the checkout; each folder there names its source and licence."""

FAMILIES = {"wice": "wice", "fcgpt": "fcgpt", "fcgpt_refute": "fcgpt", "begin": "begin"}
"""Sets that share rows are one family: holding one out holds out the other."""
DRAWN = 240
"""Rows drawn from each set, half of them supported, with seed 0: the draw of the published baselines."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One labelled claim."""

    claim: str
    evidence: str
    hallucinated: bool

    @property
    def view(self) -> View:
        """The evidence as one provided block."""
        block = Block(name="S1", kind="provided", text=self.evidence)
        return View(shown=(Shown(block=block, text=self.evidence),))


def available() -> bool:
    """Whether the sets are there."""
    return (DATA / "loaders.py").is_file()


def _loaders() -> ModuleType:
    spec = importlib.util.spec_from_file_location("groundwire_benchmark_loaders", DATA / "loaders.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(DATA / "loaders.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole(family: str) -> list[Item]:
    """Every row of a family, for fitting."""
    return [_item(row) for row in _loaders().SETS[family]()]


def drawn(name: str) -> list[Item]:
    """The balanced draw of a set, for reporting."""
    loaders = _loaders()
    return [_item(row) for row in loaders.balanced(loaders.SETS[name](), DRAWN)]


def _item(row: dict[str, Any]) -> Item:
    return Item(claim=row["claim"], evidence=row["ev"], hallucinated=row["y"] == 0)


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    """The conversations of a tau-bench or AgentRx file: `task_id`, `reward`, and `traj`, a list of OpenAI messages."""
    import json

    yield from json.loads(path.read_text(encoding="utf-8"))


def blocks(messages: list[dict[str, Any]]) -> list[Block]:
    """What OpenAI messages hold as evidence: tool results, what the user said, the system prompt."""
    found: list[Block] = []
    counts = {"E": 0, "U": 0, "S": 0}
    calls: dict[str, tuple[str, str]] = {}
    for message in messages:
        text = message.get("content") or ""
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = (call["function"]["name"], call["function"]["arguments"])
        kind, letter = {"tool": ("tool", "E"), "user": ("user", "U"), "system": ("provided", "S")}.get(
            message["role"], ("", "")
        )
        if not kind or not text:
            continue
        counts[letter] += 1
        name, arguments = calls.get(message.get("tool_call_id", ""), (message.get("name"), ""))
        found.append(
            Block(
                name=f"{letter}{counts[letter]}",
                kind=kind,  # type: ignore[arg-type]  # one of the three by the table above
                text=text,
                tool_name=message.get("name") or name if kind == "tool" else None,
                arguments=arguments,
                failed=kind == "tool" and text.lstrip().lower().startswith("error"),
            )
        )
    return found
