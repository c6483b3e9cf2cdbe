"""groundwire inside LangSmith's own SDK: an evaluator for `evaluate`, `aevaluate`, experiments, and openevals' form."""

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, overload
from uuid import UUID

from groundwire.connectors.formats.langsmith import rows_of, trace_of_rows
from groundwire.connectors.partitions import cut
from groundwire.connectors.trace import Trace
from groundwire.scorer import ConfigError, Partition, Row, write_comment

__all__ = ["Scorer", "evaluator"]

Result = dict[str, Any]
_FIELDS = (
    "id", "trace_id", "parent_run_id", "run_type", "name", "start_time", "end_time", "inputs", "outputs", "error",
    "status", "extra", "tags", "dotted_order", "prompt_tokens", "completion_tokens", "total_tokens", "session_id",
)  # fmt: skip


class Scorer(Protocol):
    """What makes rows of partitions: `HallucinationMetric`, for instance."""

    async def score(self, partition: Partition) -> Row:
        """The row of one partition."""
        ...


@overload
def evaluator(
    metric: Scorer,
    *,
    name: str = ...,
    level: Literal["span", "trace"] = ...,
    context_key: str | None = ...,
    asynchronous: Literal[False] = ...,
) -> Callable[..., Result]: ...
@overload
def evaluator(
    metric: Scorer,
    *,
    name: str = ...,
    level: Literal["span", "trace"] = ...,
    context_key: str | None = ...,
    asynchronous: Literal[True],
) -> Callable[..., Awaitable[Result]]: ...
@overload
def evaluator(
    metric: Scorer,
    *,
    name: str = ...,
    level: Literal["span", "trace"] = ...,
    context_key: str | None = ...,
    asynchronous: bool,
) -> Callable[..., Any]: ...
def evaluator(
    metric: Scorer,
    *,
    name: str = "groundedness",
    level: Literal["span", "trace"] = "trace",
    context_key: str | None = None,
    asynchronous: bool = False,
) -> Callable[..., Any]:
    """An evaluator as LangSmith's SDK and openevals call it, with `name` as its `__name__` and key.

    It takes `run` and `example` (objects or dictionaries, by position or name) or `inputs`, `outputs`, `context` and
    `reference_outputs` by name. A run with child runs is judged as the trace it is; without, `inputs` and `outputs`
    are question and answer, and the evidence is `context`, or what stands under `context_key` in `outputs`, or the
    tool results among their messages. `reference_outputs` are what somebody wished for, and no evidence.

    The result is `{"key", "score", "comment", "metadata"}`, claims under `metadata["claims"]`; a row without a score
    has `score: None`, and the comment says why. With `asynchronous` it is a coroutine function, for `aevaluate`;
    without, calls are worked on by one event loop in a thread of its own, so that clients can be kept open. Raises
    what the metric raises; the SDK counts that as a failed evaluation.
    """
    if not name:
        raise ConfigError("an evaluator needs a name")

    async def judged(run: Any, inputs: Any, outputs: Any, context: Any) -> Result:
        trace = _trace_of(run, inputs, outputs, context, context_key)
        partitions = cut(trace, level) if trace is not None else ()
        if not partitions:
            return {"key": name, "score": None, "comment": "invalid: there is nothing of that level to judge"}
        return _result(name, await metric.score(partitions[-1]))  # at span level the last model call answers

    async def evaluate_async(
        run: Any = None,
        example: Any = None,
        *,
        inputs: Any = None,
        outputs: Any = None,
        context: Any = None,
        reference_outputs: Any = None,  # noqa: ARG001 - the SDK's name; see above
        **_: Any,
    ) -> Result:
        return await judged(run, inputs if inputs is not None else _of(example, "inputs"), outputs, context)

    def evaluate(
        run: Any = None,
        example: Any = None,
        *,
        inputs: Any = None,
        outputs: Any = None,
        context: Any = None,
        reference_outputs: Any = None,  # noqa: ARG001 - the SDK's name; see above
        **_: Any,
    ) -> Result:
        asked = inputs if inputs is not None else _of(example, "inputs")
        return asyncio.run_coroutine_threadsafe(judged(run, asked, outputs, context), _LOOP.running()).result()

    chosen: Callable[..., Any] = evaluate_async if asynchronous else evaluate
    chosen.__name__ = chosen.__qualname__ = name
    return chosen


class _Loop:
    """An event loop in a daemon thread, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="groundwire-evaluator", daemon=True).start()
            return self._loop


_LOOP = _Loop()


def _result(name: str, row: Row) -> Result:
    metadata: dict[str, Any] = {
        "claims": [claim.model_dump(mode="json", exclude_none=True) for claim in row.claims],
        "status": row.status,
        "row_id": row.row_id,
        "flags": list(row.flags),
        "config_fingerprint": row.config_fingerprint,
    }
    said = write_comment(row)
    if row.score is None:
        said = f"{row.status}: {row.reason}\n{said}"
    return {"key": name, "score": row.score, "comment": said, "metadata": metadata}


def _trace_of(run: Any, inputs: Any, outputs: Any, context: Any, context_key: str | None) -> Trace | None:
    if run is not None:
        inputs = _of(run, "inputs") if inputs is None else inputs
        outputs = _of(run, "outputs") if outputs is None else outputs
    if context is None and context_key is not None and isinstance(outputs, Mapping):
        context = outputs.get(context_key)
        outputs = {key: value for key, value in outputs.items() if key != context_key}
    if run is not None and context is None and _of(run, "child_runs"):
        rows = [row for _, row in rows_of(_row(run))]
        return trace_of_rows(rows, origin="langsmith SDK")
    return trace_of_rows(_made(inputs, outputs, context), origin="langsmith SDK")


def _row(run: Any) -> dict[str, Any]:
    """A run of the SDK, object or dictionary, as the API would list it, its children inside."""
    row = {key: _plain(value) for key in _FIELDS if (value := _of(run, key)) is not None}
    row.setdefault("run_type", "chain")
    row.setdefault("start_time", datetime.now(UTC))
    row["child_runs"] = [_row(child) for child in _of(run, "child_runs") or []]
    return row


def _of(thing: Any, key: str) -> Any:
    return thing.get(key) if isinstance(thing, Mapping) else getattr(thing, key, None)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def _made(inputs: Any, outputs: Any, context: Any) -> list[dict[str, Any]]:
    """Question, answer and evidence as a trace of its own; its id is made of what they say."""
    digest = hashlib.sha256(repr((inputs, outputs, context)).encode("utf-8", "replace")).hexdigest()
    trace_id = str(UUID(digest[:32]))
    now = datetime.now(UTC)
    common = {"trace_id": trace_id, "start_time": now, "end_time": now, "status": "success"}
    rows: list[dict[str, Any]] = [
        {
            **common,
            "id": trace_id,
            "run_type": "chain",
            "name": "evaluated",
            "inputs": inputs if isinstance(inputs, Mapping) else {"input": inputs},
            "outputs": outputs if isinstance(outputs, Mapping) else {"output": outputs},
        }
    ]
    if context is not None:
        rows.append(
            {
                **common,
                "id": str(UUID(digest[32:])),
                "parent_run_id": trace_id,
                "run_type": "tool",
                "name": "context",
                "inputs": {},
                "outputs": context if isinstance(context, Mapping) else {"output": context},
            }
        )
    return rows
