"""groundwire inside Phoenix's own client: an evaluator for `run_experiment` and `evaluate_experiment`."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from groundwire.connectors.formats.openinference import trace_of_rows
from groundwire.connectors.partitions import cut
from groundwire.connectors.trace import Trace
from groundwire.scorer import ConfigError, Partition, Row, write_comment

__all__ = ["Scorer", "evaluator"]

Result = dict[str, Any]


class Scorer(Protocol):
    """What makes rows of partitions: `HallucinationMetric`, for instance."""

    async def score(self, partition: Partition) -> Row:
        """The row of one partition."""
        ...


def evaluator(
    metric: Scorer,
    *,
    name: str = "groundedness",
    level: Literal["span", "trace"] = "trace",
    context_key: str = "context",
) -> Callable[..., Awaitable[Result]]:
    """An evaluator as Phoenix's client calls it: a coroutine function of `input` and `output`, named `name`.

    For the asynchronous client; it takes the function as it is, or inside `create_evaluator(kind="LLM", name=…)`.
    `input` is the example's and `output` the task's. The evidence is what stands under `context_key` in the output,
    else in the input, or the tool results among their messages. What was `expected` is what somebody wished for, and
    no evidence.

    The result is `{"score", "label", "explanation", "metadata"}`, claims under `metadata["claims"]`; a row without a
    score has none, its status as the label, and an explanation that says why. Raises what the metric raises; the
    client counts that as a failed evaluation.
    """
    if not name:
        raise ConfigError("an evaluator needs a name")

    async def evaluate(input: Any, output: Any) -> Result:  # noqa: A002 - the client's names
        trace = _trace_of(input, output, context_key)
        partitions = cut(trace, level) if trace is not None else ()
        if not partitions:
            return {"label": "invalid", "explanation": "invalid: there is nothing of that level to judge"}
        return _result(await metric.score(partitions[-1]))  # at span level the last model call answers

    evaluate.__name__ = evaluate.__qualname__ = name
    return evaluate


def _result(row: Row) -> Result:
    said = write_comment(row)
    metadata = {
        "claims": [claim.model_dump(mode="json", exclude_none=True) for claim in row.claims],
        "status": row.status,
        "row_id": row.row_id,
        "flags": list(row.flags),
        "config_fingerprint": row.config_fingerprint,
    }
    if row.score is None:
        return {"label": row.status, "explanation": said, "metadata": metadata}
    label = {} if row.label is None else {"label": row.label}
    return {"score": row.score, **label, "explanation": said, "metadata": metadata}


def _trace_of(given: Any, output: Any, context_key: str) -> Trace | None:
    """Question, answer and evidence as a trace of its own; its id is made of what they say."""
    output, context = _without(output, context_key)
    given, other = _without(given, context_key)
    context = other if context is None else context
    digest = hashlib.sha256(repr((given, output, context)).encode("utf-8", "replace")).hexdigest()
    now = datetime.now(UTC).isoformat()
    common = {"start_time": now, "end_time": now, "status_code": "OK"}
    root = digest[:16]
    rows: list[dict[str, Any]] = [
        {
            **common,
            "name": "evaluated",
            "span_kind": "CHAIN",
            "context": {"trace_id": digest[:32], "span_id": root},
            "parent_id": None,
            "attributes": {"input.value": _text(given), "output.value": _text(output)},
        }
    ]
    if context is not None:
        rows.append(
            {
                **common,
                "name": context_key,
                "span_kind": "TOOL",
                "context": {"trace_id": digest[:32], "span_id": digest[16:32]},
                "parent_id": root,
                "attributes": {"tool.name": context_key, "output.value": _text(context)},
            }
        )
    return trace_of_rows(rows, origin="phoenix client")


def _without(value: Any, key: str) -> tuple[Any, Any]:
    """A value without what stands under a key, and what stands there; None where nothing does."""
    if not isinstance(value, Mapping) or key not in value:
        return value, None
    return {name: inner for name, inner in value.items() if name != key}, value[key]


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
