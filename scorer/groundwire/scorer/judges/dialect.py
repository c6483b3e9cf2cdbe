"""What an endpoint and model take, learnt from what they turn down: once, and remembered."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from groundwire.scorer.judges.faults import Fault

__all__ = ["Dialect", "OutputMode", "reasons", "takes_no_temperature"]

OutputMode = Literal["schema", "tool", "text"]

NEXT: Mapping[OutputMode, OutputMode] = {"schema": "tool", "tool": "text"}
"""What is tried where a way of asking for JSON is turned down."""
OPTIONAL = ("temperature", "top_p", "reasoning_effort", "reasoning", "store", "strict", "parallel_tool_calls", "seed")
"""Parameters that a call can do without."""
LEARNING_SECONDS = 2.0
"""How long others wait for the first call to learn; then they find out for themselves."""
REASONING_ROOM = 2_048
"""Tokens added to a reply's limit for models known to reason."""

_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-5|gpt-oss|deepseek-r|qwq|magistral|grok-4)|reason|think", re.IGNORECASE)
_FIXED_TEMPERATURE = re.compile(r"(?:^|/)(?:o\d|gpt-5(?!.*chat))", re.IGNORECASE)
_OUTPUT_WORDS = {
    "schema": ("response_format", "json_schema", "text.format", "structured output", "guided", "grammar"),
    "tool": ("tool_choice", "tools", "function call", "tool use", "tool call", "functions"),
    "text": (),
}


def reasons(model: str) -> bool:
    """Whether the model is known to spend tokens on reasoning before it writes."""
    return _REASONS.search(model) is not None


def takes_no_temperature(model: str) -> bool:
    """Whether the model is known to refuse a temperature."""
    return _FIXED_TEMPERATURE.search(model) is not None


@dataclass(kw_only=True)
class Dialect:
    """What one endpoint and model take."""

    output: OutputMode = "schema"
    dropped: set[str] = field(default_factory=set)
    """Parameters it refused."""
    limit_name: str = "max_tokens"
    """How it calls the limit of a reply."""
    room: int = 0
    """Tokens to add to a reply's limit, for reasoning."""
    prompt_ceiling: float = float("inf")
    """UTF-8 bytes: a prompt of that size is too long."""
    snapshot: str = ""
    """The model that answered, where the endpoint names another than was asked for."""
    _settled: bool = False
    _first: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def learning(self) -> AsyncIterator[None]:
        """Until one call has succeeded, calls go one at a time, so that what is turned down is learnt once."""
        if self._settled:
            yield
            return
        held = False
        try:
            async with asyncio.timeout(LEARNING_SECONDS):
                held = await self._first.acquire()
        except TimeoutError:
            pass
        try:
            yield
        finally:
            if held:
                self._first.release()

    def succeeded(self) -> None:
        """A call was answered: nothing is left to learn before the next can go."""
        self._settled = True

    def learn(self, fault: Fault, mode: OutputMode, parameters: Mapping[str, Any]) -> bool:
        """Take in why a request was turned down; False where nothing about it can be changed.

        `mode` and `parameters` are those of that request: what another call has learnt meanwhile also counts.
        """
        words = fault.rejection.words
        if fault.kind == "broken" and fault.status == 500 and "response_format" not in words and "schema" not in words:
            return False
        if fault.kind not in ("rejected", "broken"):
            return False
        named = [name for name in OPTIONAL if name in parameters and re.search(rf"\b{name}\b", words)]
        if self.limit_name in parameters or "max_tokens" in words or "max_completion_tokens" in words:
            sent = next((name for name in ("max_tokens", "max_completion_tokens") if name in parameters), None)
            if sent is not None and re.search(rf"\b{sent}\b", words) and not named:
                return self._other_limit(sent)
        if named:
            self.dropped.update(named)
            return True
        if any(word in words for word in _OUTPUT_WORDS[mode]) or not words.strip():
            return self._next_output(mode)
        # Some endpoints say only "invalid request": the way of asking for JSON is what they most often lack.
        return fault.status in (400, 422, 501) and mode != "text" and self._next_output(mode)

    def _other_limit(self, sent: str) -> bool:
        other = "max_completion_tokens" if sent == "max_tokens" else "max_tokens"
        if f"limit:{sent}" in self.dropped and f"limit:{other}" in self.dropped:
            return False
        self.dropped.add(f"limit:{sent}")
        if f"limit:{other}" in self.dropped:
            return False  # both are refused: a call without a limit has no worst case
        self.limit_name = other
        return True

    def _next_output(self, mode: OutputMode) -> bool:
        if mode == "text":
            return False
        if self.output == mode:
            self.output = NEXT[mode]
        return True

    def notes(self) -> dict[str, JsonValue]:
        """What was learnt, for the row."""
        notes: dict[str, JsonValue] = {}
        dropped = sorted(name.removeprefix("limit:") for name in self.dropped)
        if dropped:
            notes["dropped_parameters"] = list(dropped)
        if self.output != "schema":
            notes["output"] = self.output
        if self.snapshot:
            notes["snapshot"] = self.snapshot
        return notes
