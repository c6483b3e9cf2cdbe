"""groundwire inside Langfuse's own SDK: an evaluator for `run_experiment` and `run_batched_evaluation`."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from groundwire.connectors.base import Origin
from groundwire.connectors.formats.langfuse import trace_of_rows
from groundwire.connectors.langfuse.read import LangfuseSource
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.wire import Wire
from groundwire.connectors.partitions import cut
from groundwire.connectors.trace import Trace
from groundwire.scorer import ConfigError, Partition, Row, write_comment

if TYPE_CHECKING:
    from langfuse import Evaluation, EvaluatorInputs

__all__ = ["Scorer", "evaluator", "whole_trace"]


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
    write_status: bool = False,
) -> Callable[..., Awaitable[list["Evaluation"]]]:
    """An evaluator as the SDK calls it: keyword-only, asynchronous, with `name` as its `__name__`.

    `input` and `output` are those of one model call: a task's, or an observation's. Tool results that stand in the
    messages of `input` are the evidence. With `whole_trace` as the mapper it is given the trace around the observation.
    A row without a score gives no evaluation, because no number says "unknown"; with `write_status`, `<name>.status`
    says why. Raises what the metric raises; the SDK counts that as a failed evaluation.
    """
    if not name:
        raise ConfigError("an evaluator needs a name")

    async def evaluate(*, input: Any = None, output: Any = None, **_: Any) -> list["Evaluation"]:  # noqa: A002 - the SDK's names
        from langfuse import Evaluation

        trace = input if isinstance(input, Trace) else _trace_of(input, output)
        partitions = cut(trace, level) if trace is not None else ()
        found: list[Evaluation] = []
        for partition in partitions[-1:]:  # at span level the last model call is the one that answers
            row = await metric.score(partition)
            if row.score is not None:
                found.append(
                    Evaluation(
                        name=name,
                        value=row.score,
                        comment=write_comment(row),
                        metadata={"row_id": row.row_id, "config_fingerprint": row.config_fingerprint},
                        data_type="NUMERIC",
                    )
                )
            elif write_status:
                status = f"{row.status}: {row.reason}"
                found.append(
                    Evaluation(name=f"{name}.status", value=status, comment=write_comment(row), data_type="CATEGORICAL")
                )
        return found

    evaluate.__name__ = evaluate.__qualname__ = name
    return evaluate


def whole_trace(settings: LangfuseSettings) -> Callable[..., Awaitable["EvaluatorInputs"]]:
    """A mapper for `run_batched_evaluation` that fetches the whole trace of an observation, one request each.

    The SDK attaches the score to the observation that was mapped: filter on `isRootObservation`.
    """
    sources: dict[asyncio.AbstractEventLoop, LangfuseSource] = {}

    async def map_to_trace(*, item: Any, **_: Any) -> "EvaluatorInputs":
        from langfuse import EvaluatorInputs

        loop = asyncio.get_running_loop()
        if loop not in sources:  # the SDK makes a loop for each run and never says when it ends
            sources.clear()
            sources[loop] = LangfuseSource(settings, wire=Wire(settings, keep_alive=False))
        trace = await sources[loop].fetch(
            Origin(trace_id=item.trace_id, start_time=item.start_time, end_time=getattr(item, "end_time", None))
        )
        return EvaluatorInputs(input=trace, output=None)

    return map_to_trace


def _trace_of(given: Any, output: Any) -> Trace | None:
    """One model call as a trace of its own; its id is made of what it says."""
    digest = hashlib.sha256(repr((given, output)).encode("utf-8", "replace")).hexdigest()
    now = datetime.now(UTC).isoformat()
    row = {
        "id": digest[:16],
        "traceId": digest[:32],
        "type": "GENERATION",
        "name": "evaluated",
        "startTime": now,
        "endTime": now,
        "input": given,
        "output": output,
    }
    return trace_of_rows([row], origin="langfuse SDK")
