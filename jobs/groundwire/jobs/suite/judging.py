"""A suite's judge: a function of the user's, or `agent.hallucination` over each answer and its sources."""

import asyncio
import inspect
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from pydantic import JsonValue

from groundwire.jobs.settings import api_key
from groundwire.jobs.suite.isolation import in_thread
from groundwire.jobs.suite.output import Fault
from groundwire.jobs.suite.spec import Suite
from groundwire.scorer import (
    Account,
    Case,
    ConfigError,
    Grade,
    HallucinationMetric,
    JudgeRow,
    LLMJudge,
    MemoryCache,
    MemoryLedger,
    Partition,
    Sample,
    build_judge,
    load_callable,
    micro_dollars,
    read_judge_config,
    require_price,
    source_digest,
)

__all__ = ["FunctionJudge", "MetricJudge", "SuiteJudge", "open_suite_judge"]


class SuiteJudge(Protocol):
    """Scores answers; a score decides nothing about the pass."""

    @property
    def version(self) -> Mapping[str, JsonValue]:
        """What defines a score: part of the results' fingerprint."""
        ...

    async def judge(self, case: Case, sample: Sample, trial: int) -> JudgeRow:
        """The score of one trial, or none and why."""
        ...


@asynccontextmanager
async def open_suite_judge(suite: Suite, *, trials: int, max_usd: float | None) -> AsyncIterator[SuiteJudge | None]:
    """The suite's judge; None where it has none. Raises `ConfigError`, before any call where a cap can't be kept."""
    table = dict(suite.spec.judge or {})
    if not table:
        yield None
        return
    if "use" in table:
        path = table.pop("use")
        if table or not isinstance(path, str):
            raise ConfigError("judge: `use` names a function (package.module:function) and takes no further keys")
        yield FunctionJudge(load_callable(path, folder=suite.folder), name=path, timeout=suite.spec.timeout)
        return
    kind = table.setdefault("kind", "llm")
    config = read_judge_config({**(api_key() if kind == "llm" else {}), **table}, where="judge")
    if max_usd is not None:
        require_price(config)
    ledger = MemoryLedger(cap=None if max_usd is None else micro_dollars(max_usd))
    # One judge a trial, each with a cache that keeps nothing: the same answer is judged anew in every trial.
    judges = [build_judge(config, ledger=ledger, cache=MemoryCache(entries=0)) for _ in range(trials)]
    llms = [judge for judge in judges if isinstance(judge, LLMJudge)]
    try:
        for llm in llms[:1]:
            await llm.probe()
        yield MetricJudge([HallucinationMetric(judge=judge) for judge in judges])
    finally:
        for llm in llms:
            await llm.close()


class FunctionJudge:
    """`judge(sample)` of the user's own, sync or async: a bool, a score in [0, 1] or a `Grade`."""

    def __init__(self, function: Callable[[Sample], Any], *, name: str, timeout: float) -> None:
        """`timeout` in seconds for one answer."""
        self._function = function
        self._name = name
        self._timeout = timeout

    @property
    def version(self) -> Mapping[str, JsonValue]:
        """Its path and a digest of its source."""
        return {"use": self._name, "source": source_digest(self._function)}

    async def judge(self, case: Case, sample: Sample, trial: int) -> JudgeRow:  # noqa: ARG002 - the sample suffices
        """See `SuiteJudge.judge`."""
        try:
            async with asyncio.timeout(self._timeout):
                found = await in_thread(lambda: self._function(sample))
                if inspect.isawaitable(found):
                    found = await found
        except TimeoutError:
            return JudgeRow(reason=f"gave nothing within {self._timeout:g} s")
        except Exception as error:  # noqa: BLE001 - an async judge may fail in any way: it has no score then
            return JudgeRow(reason=f"raised {type(error).__name__}")
        if isinstance(found, Fault):
            return JudgeRow(reason=found.message)
        grade = found if isinstance(found, Grade) else Grade(passed=None)
        score = grade.passed if isinstance(found, Grade) else found
        if score is None:
            return JudgeRow(reason=grade.reason or "gave no verdict")
        if not isinstance(score, bool | int | float) or not math.isfinite(score) or not 0 <= score <= 1:
            return JudgeRow(reason="gave no score in [0, 1]")
        return JudgeRow(score=float(score), reason=grade.reason)


class MetricJudge:
    """Claim by claim against the case's sources, as `agent.hallucination` scores a trace."""

    def __init__(self, metrics: Sequence[HallucinationMetric]) -> None:
        """One metric a trial, so that no two trials share a call."""
        self._metrics = metrics

    @property
    def version(self) -> Mapping[str, JsonValue]:
        """The judge's, and the metric's fingerprint."""
        metric = self._metrics[0]
        return {**metric.judge.version.model_dump(mode="json"), "fingerprint": metric.fingerprint}

    async def judge(self, case: Case, sample: Sample, trial: int) -> JudgeRow:
        """See `SuiteJudge.judge`. A refusal claims nothing, so it has no score."""
        metric = self._metrics[trial % len(self._metrics)]
        partition = _partition(case, sample)
        row = await metric.score(partition, account=Account(trace_id=f"{case.id}#{trial}"))
        return JudgeRow(score=row.score, reason=row.reason or "", usage=row.usage)


_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
"""A trial's trace has an order and no time of its own."""


def _partition(case: Case, sample: Sample) -> Partition:
    """The answer as a trace: an agent that looked its sources up."""

    def span(number: int, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        start = _MOMENT + timedelta(seconds=number)
        times = {"start_time": start, "end_time": start + timedelta(milliseconds=500)}
        return {"span_id": str(number), "trace_id": case.id, "kind": kind, "name": name, **times, **fields}

    def said(role: str, text: str) -> list[dict[str, Any]]:
        return [{"role": role, "parts": [{"type": "text", "content": text}]}]

    question = case.input if isinstance(case.input, str) else str(case.input)
    root = span(
        0, "AGENT", "target", input_messages=said("user", question), output_messages=said("assistant", sample.answer)
    )
    tools = [
        span(number, "TOOL", name, parent_id="0", tool_name=name, output=text)
        for number, (name, text) in enumerate(sample.sources.items(), start=1)
    ]
    return Partition.model_validate(
        {"partition_type": "trace", "partition_id": case.id, "trace_id": case.id, "spans": [root, *tools]}
    )
