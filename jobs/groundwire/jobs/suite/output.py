"""What a target gave for one trial, in whatever form it gives it."""

import contextlib
import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from groundwire.scorer import MICRO, ToolCall, Usage, read_usage

__all__ = ["Fault", "Output", "read_output"]

_ANSWER = ("answer", "text", "output", "content")
_CITATIONS = ("citations", "cites")
_LATENCY = ("latency_seconds", "latency_s")


@dataclass(frozen=True, kw_only=True)
class Output:
    """One answer and what it took."""

    answer: str
    citations: tuple[str, ...] | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    latency_seconds: float | None = None
    usage: Usage | None = None
    micro_dollars: int | None = None
    """What the target itself says that it cost."""
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why there is no answer: one line without the target's text."""

    message: str
    latency_seconds: float | None = None


def read_output(value: Any) -> Output | Fault:
    """Read a text, or an object with `answer` and, as far as known, `citations`, `tool_calls`, `latency_seconds`,
    `usage` (as the provider reports it), `cost_usd`, `model`, or `error` in place of all.

    An answer that is no text is its JSON. Dataclasses and pydantic models are read as objects.
    """
    if isinstance(value, str):
        return Output(answer=value)
    data = _mapping(value)
    if data is None:
        return Fault(message=f"gave {type(value).__name__}, not a text or an object with an answer")
    try:
        latency = _number(data, *_LATENCY)
        cost = _number(data, "cost_usd")
    except ValueError as error:
        return Fault(message=str(error))
    if data.get("error"):
        return Fault(message="gave an error", latency_seconds=latency)
    answer = next((data[name] for name in _ANSWER if data.get(name) is not None), None)
    if answer is None:
        return Fault(message=f"gave no answer (expected a key {' or '.join(_ANSWER)})")
    reported = _mapping(data.get("usage"))
    usage = read_usage(reported) if reported is not None else None
    if reported is not None and usage is None:
        return Fault(message="gave a usage whose tokens can't be read")
    citations = next((data[name] for name in _CITATIONS if data.get(name) is not None), None)
    calls = data.get("tool_calls")
    return Output(
        answer=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str),
        citations=None if citations is None else _names(citations),
        tool_calls=tuple(_call(call) for call in calls) if isinstance(calls, list | tuple) else None,
        latency_seconds=latency,
        usage=usage,
        micro_dollars=None if cost is None else math.ceil(round(cost * MICRO, 6)),
        model=data["model"] if isinstance(data.get("model"), str) else None,
    )


def _mapping(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value if isinstance(value, Mapping) else None


def _number(data: Mapping[str, Any], *names: str) -> float | None:
    name = next((name for name in names if data.get(name) is not None), None)
    if name is None:
        return None
    value = data[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"gave a {name} that is no number ≥ 0")
    return float(value)


def _names(citations: Any) -> tuple[str, ...]:
    """Ids of sources: a text, several, or objects that name theirs under `source` or `id`."""
    if isinstance(citations, str):
        return (citations,)
    if not isinstance(citations, list | tuple | set | frozenset):
        return ()
    return tuple(
        str(one.get("source") or one.get("id") or "") if isinstance(one, Mapping) else str(one) for one in citations
    )


def _call(call: Any) -> ToolCall:
    """`{name, arguments}`, also within `function` as OpenAI's API has it; arguments in a string are decoded."""
    data = _mapping(call) or {}
    data = _mapping(data.get("function")) or data
    arguments = data.get("arguments", data.get("args", data.get("input")))
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError):
            arguments = json.loads(arguments)
    return ToolCall(name=str(data.get("name") or ""), arguments=arguments)
