"""`groundwire suite` and `groundwire graduate`: run a suite, print what it gave, write it down."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from groundwire.jobs.cli.show import stderr, stdout
from groundwire.jobs.gate import load_results
from groundwire.jobs.suite import (
    FunctionTarget,
    Grading,
    RecordedTarget,
    Suite,
    SuiteRun,
    Target,
    as_junit,
    graduate,
    json_lines,
    load_suite,
    open_suite_judge,
    run_suite,
    write_whole,
)
from groundwire.scorer import (
    MICRO,
    ConfigError,
    JudgeAgreement,
    Purpose,
    Rate,
    SuiteResults,
    Summary,
    TrialRow,
    Usage,
    judge_agreement,
    load_callable,
    summarise_trials,
)

__all__ = ["SuiteOptions", "run_graduate", "run_suite_command"]

SHOWN = 20
"""Most trials that are listed with what went wrong."""
_SUMMARY = TypeAdapter(Summary)
_PURPOSES: tuple[Purpose, ...] = ("regression", "capability")


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """What the command line asked for; None is as the suite says."""

    suite: Path
    target: str | None = None
    recorded: Path | None = None
    trials: int | None = None
    k: int | None = None
    labels: Path | None = None
    out: Path | None = None
    junit: Path | None = None
    as_json: bool = False
    max_usd: float | None = None


def run_suite_command(options: SuiteOptions) -> int:
    """Run, print and write; the exit code: 0 every trial was graded, 1 some were not. Raises `ConfigError`."""
    suite = load_suite(options.suite)
    grading = Grading.of(suite)
    target = _target(suite, options)
    trials, k = _trials(suite, target, options)
    labels = _labels(options.labels) if options.labels else None
    for path in (options.out, options.junit):
        if path is not None and not path.absolute().parent.is_dir():
            raise ConfigError(f"{path.parent} is no folder; make it first")
    results = asyncio.run(_run(suite, grading, target, trials=trials, k=k, options=options))
    agreement = judge_agreement(results.rows, labels) if labels is not None else None
    document = _document(results, agreement)
    if options.out is not None:
        write_whole(options.out, document)
    if options.junit is not None:
        write_whole(options.junit, as_junit(results))
    if options.as_json:
        stdout.file.write(document)
    else:
        _print(results, agreement)
    return 1 if any(row.passed is None for row in results.rows) else 0


def run_graduate(suite: Path, case_id: str, results: Path | None) -> None:
    """Make a capability case a regression case. Raises `ConfigError`."""
    graduate(load_suite(suite), case_id, load_results(results) if results is not None else None)
    stdout.print(f"{case_id} is a regression case now", markup=False, highlight=False)


def _target(suite: Suite, options: SuiteOptions) -> Target:
    if options.target is not None and options.recorded is not None:
        raise ConfigError("name --target or --recorded, not both")
    recorded = options.recorded
    if recorded is None and options.target is None and suite.spec.recorded is not None:
        recorded = suite.folder / suite.spec.recorded
    if recorded is not None:
        return RecordedTarget(recorded)
    path = options.target or suite.spec.target
    if path is None:
        raise ConfigError(f"{options.suite}: nothing to run; give `target` or --target (package.module:function)")
    return FunctionTarget(load_callable(path, folder=suite.folder), name=path, timeout=suite.spec.timeout)


def _trials(suite: Suite, target: Target, options: SuiteOptions) -> tuple[int, int]:
    """How many trials of each case, and the k of pass@k and pass^k."""
    trials = options.trials or suite.spec.trials
    if isinstance(target, RecordedTarget):
        if options.trials is None and "trials" not in suite.spec.model_fields_set:
            trials = max(1, target.most_trials)
        target.require(suite.cases, trials)
    k = options.k or suite.spec.k or trials
    if k > trials:
        raise ConfigError(f"k = {k} needs at least {k} trials, not {trials}")
    return trials, k


async def _run(
    suite: Suite, grading: Grading, target: Target, *, trials: int, k: int, options: SuiteOptions
) -> SuiteResults:
    async with open_suite_judge(suite, trials=trials, max_usd=options.max_usd) as judge:
        with _Meter(len(suite.cases) * trials, quiet=options.as_json) as advance:
            run = SuiteRun(suite=suite, grading=grading, target=target, trials=trials, k=k, judge=judge, told=advance)
            try:
                return await run_suite(run)
            finally:
                if isinstance(target, FunctionTarget):
                    await target.close()


class _Meter:
    """A bar on a terminal, and one line for every trial that gave nothing to grade."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        columns = (SpinnerColumn(), TextColumn("trials"), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=stderr, disable=quiet or not stderr.is_terminal)
        self._task = self._bar.add_task("trials", total=total)

    def __enter__(self) -> "_Meter":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, row: TrialRow) -> None:
        """Take note of a row."""
        self._bar.update(self._task, advance=1)
        if row.passed is None:
            line = f"groundwire: {row.case} trial {row.trial}: {row.reason}: {row.explanation}"
            stderr.print(line, markup=False, highlight=False, soft_wrap=True)


def _labels(path: Path) -> Mapping[tuple[str, int], bool]:
    """`{id, trial?, label}` a line; the label is pass or fail, true or false, 1 or 0. Raises `ConfigError`."""
    words = {"pass": True, "fail": False}
    labels: dict[tuple[str, int], bool] = {}
    for number, data in json_lines(path):
        case, trial, label = data.get("id"), data.get("trial", 0), data.get("label")
        passed = words.get(label) if isinstance(label, str) else bool(label) if label in (0, 1) else None
        if not isinstance(case, str) or not isinstance(trial, int) or passed is None:
            raise ConfigError(f'{path} line {number}: expected {{"id", "trial", "label"}} with pass or fail')
        if (case, trial) in labels:
            raise ConfigError(f"{path} line {number}: trial {trial} of {case!r} is labelled already")
        labels[case, trial] = passed
    if not labels:
        raise ConfigError(f"{path}: there are no labels")
    return labels


def _document(results: SuiteResults, agreement: JudgeAgreement | None) -> str:
    data = results.model_dump(mode="json", by_alias=True)
    data["summary"] = {
        purpose: _SUMMARY.dump_python(summarise_trials(rows, k=results.k), mode="json")
        for purpose in _PURPOSES
        if (rows := results.of(purpose))
    }
    data["judge_agreement"] = agreement.model_dump(mode="json") if agreement is not None else None
    return json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n"


def _print(results: SuiteResults, agreement: JudgeAgreement | None) -> None:
    k = results.k
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("cases", "pass rate", f"pass@{k}", f"pass^{k}", "p50", "p95", "cost a task", "errors"):
        table.add_column(name, justify="left" if name == "cases" else "right", no_wrap=True)
    summaries = {purpose: summarise_trials(rows, k=k) for purpose in _PURPOSES if (rows := results.of(purpose))}
    for purpose, summary in summaries.items():
        table.add_row(
            f"{len(summary.cases)} {purpose}",
            _rate(summary.pass_rate),
            _rate(summary.pass_at_k),
            _rate(summary.pass_hat_k),
            "–" if summary.p50_seconds is None else f"{summary.p50_seconds:.2f} s",
            "–" if summary.p95_seconds is None else f"{summary.p95_seconds:.2f} s",
            "–" if summary.micro_dollars_per_task is None else f"${summary.micro_dollars_per_task / MICRO:.5f}",
            str(summary.errors),
        )
    stdout.print(f"{results.suite} {results.version} · {results.target} · {results.trials} trials a case", markup=False)
    stdout.print(table)
    for line in _lines(results, summaries, agreement):
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "–"
    return f"{rate.value:.0%} [dim]{escape(f'[{100 * rate.interval.low:.0f}–{100 * rate.interval.high:.0f}]')}[/dim]"


def _lines(results: SuiteResults, summaries: Mapping[Purpose, Summary], agreement: JudgeAgreement | None) -> list[str]:
    """What the table doesn't say: tokens, the judge, what failed and what was left out."""
    lines = []
    for purpose, summary in summaries.items():
        if summary.usage != Usage():
            lines.append(f"tokens ({purpose}): {_tokens(summary.usage)}")
        if summary.judge_score is not None:
            spent = summary.judge_usage.micro_dollars / MICRO
            lines.append(f"judge ({purpose}): mean score {summary.judge_score.value:.2f}, ${spent:.6f} of its own")
        if summary.left_out:
            names = ", ".join(summary.left_out)
            lines.append(f"left out of pass@{results.k} and pass^{results.k}, too few graded trials: {names}")
    if agreement is not None:
        lines += _agreement(agreement)
    failed = [row for row in results.rows if row.passed is False]
    lines += [f"failed: {row.case} trial {row.trial}: {_why(row)}" for row in failed[:SHOWN]]
    if len(failed) > SHOWN:
        lines.append(f"… and {len(failed) - SHOWN} more; --out has them all")
    return lines


def _why(row: TrialRow) -> str:
    return "; ".join(f"{grade.grader}: {grade.reason}" for grade in row.grades if grade.passed is False)


def _tokens(usage: Usage) -> str:
    counts = {
        "input": usage.input_tokens,
        "cached": usage.cached_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _agreement(found: JudgeAgreement) -> list[str]:
    kappa = "undefined: only one verdict was given" if found.kappa is None else f"{found.kappa:.2f}"
    interval = "" if found.low is None or found.high is None else f" ({found.low:.2f} to {found.high:.2f})"
    lines = [f"judge and people: agreement {found.agreement:.0%}, kappa {kappa}{interval}, on {found.n} trials"]
    if found.missed:
        lines.append(f"the judge passed what people failed: {', '.join(found.missed)}")
    if found.refused:
        lines.append(f"the judge failed what people passed: {', '.join(found.refused)}")
    if found.unjudged:
        lines.append(f"labelled, but without a judge's score: {found.unjudged}")
    return lines
