"""`conversation.hallucination` for Python users: a record and a response in, a score out, whatever they are kept in."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Protocol

from groundwire.connectors.messages import as_json, find_messages, read_messages
from groundwire.scorer import Account, ConfigError, Message, Partition, Row, Score, Span

__all__ = ["HallucinationEvaluator", "InputMapping"]

InputMapping = Mapping[str, str | Callable[[Any], Any]]
"""Where `input` and `output` are: a key, a path (`$.turns[0].text`, `reply.text`), or a function of the record."""

FIELDS = ("input", "output")


class _Scorer(Protocol):
    async def score(self, partition: Partition, *, account: Account | None = None) -> Row: ...


class HallucinationEvaluator:
    """Classifies a response as `hallucinated` (1.0) or `grounded` (0.0) against everything said before it.

    `input` is a labelled transcript (`User: …`, `Tool (name): …`) or a list of messages in any shape that is read
    here; `output` is a text, a message, or a list whose last assistant text counts.
    """

    def __init__(
        self, metric: _Scorer, *, name: str = "hallucination", input_mapping: InputMapping | None = None
    ) -> None:
        """`metric` is a `ConversationMetric`. Raises `ConfigError` for a mapping that can't be followed."""
        self._metric = metric
        self.name = name
        self._mapping = _checked(input_mapping or {})

    async def evaluate(self, record: Mapping[str, Any], *, input_mapping: InputMapping | None = None) -> list[Score]:
        """One score, in a list as evaluation libraries take it; its score is None where nothing can be said.

        What the mapping doesn't name is looked up under its own name. A `trace_id` in the record goes into the
        score's metadata. Raises `ConfigError` where a field isn't found, and what the metric raises.
        """
        mapping = {**self._mapping, **_checked(input_mapping or {})}
        values = {name: _value(record, name, mapping.get(name, name)) for name in FIELDS}
        trace_id = record.get("trace_id")
        known = trace_id if isinstance(trace_id, str) and trace_id else None
        partition = partition_of_record(values["input"], values["output"], trace_id=known)
        row = await self._metric.score(partition)
        return [Score.of(row, name=self.name, trace_id=known)]


def partition_of_record(record: Any, response: Any, *, trace_id: str | None = None) -> Partition:
    """A span partition whose model call had that record and gave that response."""
    told = record if isinstance(record, str) and not find_messages(record) else None
    before = () if told is not None else read_messages(record, role="user")
    said = tuple(message for message in read_messages(response, role="assistant") if message.role == "assistant")
    if trace_id is None:
        trace_id = hashlib.sha256(f"{as_json(record)}\0{as_json(response)}".encode("utf-8", "replace")).hexdigest()[:32]
    epoch = datetime.fromtimestamp(0, UTC)
    span = Span(
        span_id=f"{trace_id}:response",
        trace_id=trace_id,
        kind="LLM",
        name="response",
        start_time=epoch,
        end_time=epoch,
        input=told,
        input_messages=before,
        output_messages=said or (Message(role="assistant"),),
    )
    return Partition(
        partition_type="span",
        partition_id=span.span_id,
        trace_id=trace_id,
        target_span_id=span.span_id,
        spans=(span,),
    )


def _checked(mapping: InputMapping) -> InputMapping:
    for name, where in mapping.items():
        if name not in FIELDS:
            raise ConfigError(f"input_mapping: no input is called {name!r}; there are {' and '.join(FIELDS)}")
        if isinstance(where, str):
            _parsed(where)
    return mapping


def _value(record: Mapping[str, Any], name: str, where: str | Callable[[Any], Any]) -> Any:
    if callable(where):
        return where(record)
    if where in record:
        return record[where]
    found = [match.value for match in _parsed(where).find(dict(record))]
    if not found:
        raise ConfigError(f"{name}: the record has nothing at {where!r}; map it with input_mapping")
    return found[0]


@cache
def _parsed(path: str) -> Any:
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    try:
        return parse(path)
    except (JSONPathError, ValueError, AttributeError):
        raise ConfigError(f"input_mapping: {json.dumps(path)} is no path; write a key or $.a.b[0]") from None
