"""A run of a suite: every case in every trial, a bounded number under way, one row each."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from groundwire.jobs.suite.grading import Grading
from groundwire.jobs.suite.judging import SuiteJudge
from groundwire.jobs.suite.output import Fault, Output
from groundwire.jobs.suite.spec import Suite
from groundwire.jobs.suite.target import Target
from groundwire.scorer import (
    Case,
    GiveUp,
    JudgeRow,
    Price,
    Sample,
    SuiteResults,
    TrialRow,
    Usage,
    find_price,
    package_version,
    suite_fingerprint,
)

__all__ = ["SuiteRun", "run_suite", "sample_of"]


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """What a run needs."""

    suite: Suite
    grading: Grading
    target: Target
    trials: int
    k: int
    judge: SuiteJudge | None = None
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    told: Callable[[TrialRow], None] = lambda _: None
    """Told of every row as it is made."""


async def run_suite(run: SuiteRun) -> SuiteResults:
    """Run it. The rows stand in the order of the cases; a trial that fails is its own row, and the others go on.

    Raises `GiveUp` where the judge is lost for every answer.
    """
    started = run.clock()
    slots = asyncio.Semaphore(run.suite.spec.concurrency)
    price = _Prices(run.suite, started)

    async def one(case: Case, trial: int) -> TrialRow:
        async with slots:
            row = await _trial(run, price, case, trial)
        run.told(row)
        return row

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(case, trial)) for case in run.suite.cases for trial in range(run.trials)]
    except* GiveUp as lost:
        raise lost.exceptions[0] from None
    return SuiteResults(
        suite=run.suite.spec.name,
        version=run.suite.spec.version,
        target=run.target.name,
        fingerprint=suite_fingerprint(
            [bound.identity for bound in run.grading.graders], run.judge.version if run.judge else None
        ),
        cases={case.id: case.digest(run.suite.sources) for case in run.suite.cases},
        trials=run.trials,
        k=run.k,
        judge=run.judge.version if run.judge else None,
        groundwire_version=package_version(),
        started_at=started,
        rows=tuple(task.result() for task in tasks),
    )


async def _trial(run: SuiteRun, price: "_Prices", case: Case, trial: int) -> TrialRow:
    output = await run.target.answer(case, trial)
    row = TrialRow(
        case=case.id,
        case_version=case.version,
        kind=case.kind,
        purpose=case.purpose,
        trial=trial,
        status="unknown",
        latency_seconds=output.latency_seconds,
    )
    if isinstance(output, Fault):
        return row.model_copy(update={"reason": "target_error", "explanation": output.message})
    output = replace(output, micro_dollars=price.cost(output))
    sample = sample_of(run.suite, case, output)
    row = row.model_copy(
        update={
            "answer": output.answer,
            "citations": output.citations,
            "usage": _priced(output),
            "micro_dollars": output.micro_dollars,
        }
    )
    grades, fault = run.grading.grade(case, sample)
    verdicts = [grade.passed for grade in grades if grade.passed is not None]
    judged: JudgeRow | None = await run.judge.judge(case, sample, trial) if run.judge is not None else None
    row = row.model_copy(update={"grades": grades, "judge": judged})
    if fault is not None:
        return row.model_copy(update={"status": "error", "reason": "grader_error", "explanation": fault})
    if not verdicts:
        why = "; ".join(grade.reason for grade in grades if grade.reason)
        return row.model_copy(update={"reason": "not_graded", "explanation": why})
    return row.model_copy(update={"status": "scored", "passed": all(verdicts)})


def _priced(output: Output) -> Usage | None:
    if output.usage is None:
        return None
    return output.usage.model_copy(update={"micro_dollars": output.micro_dollars or 0})


def sample_of(suite: Suite, case: Case, output: Output) -> Sample:
    """What graders see of one output."""
    return Sample(
        input=case.input,
        answer=output.answer,
        citations=output.citations,
        tool_calls=output.tool_calls,
        latency_seconds=output.latency_seconds,
        micro_dollars=output.micro_dollars,
        expect=case.expect,
        cite=case.cite,
        sources=case.texts(suite.sources),
        must_refuse=case.must_refuse,
    )


class _Prices:
    """What outputs cost: as they say themselves, else by the suite's price, else by their model's in the list."""

    def __init__(self, suite: Suite, now: datetime) -> None:
        given = suite.spec.price
        self._own = (
            Price.per_million(input=given.input, output=given.output, cached_input=given.cached_input)
            if given is not None
            else None
        )
        self._model = suite.spec.model
        self._now = now
        self._listed: dict[str, Price | None] = {}

    def cost(self, output: Output) -> int | None:
        """Micro-dollars; None where nobody says."""
        if output.micro_dollars is not None or output.usage is None:
            return output.micro_dollars
        price = self._own or self._of(output.model or self._model)
        return price.cost(output.usage) if price is not None else None

    def _of(self, model: str | None) -> Price | None:
        if model is None:
            return None
        if model not in self._listed:
            self._listed[model] = find_price(model, now=self._now)
        return self._listed[model]
