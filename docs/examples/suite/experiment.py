"""The suite as a Langfuse experiment that blocks a pull request, for langfuse/experiment-action."""

from pathlib import Path
from typing import Any

import agents
from langfuse import Evaluation, RegressionError, RunnerContext
from langfuse.experiment import ExperimentResult

from groundwire.jobs.gate import load_gate, load_results
from groundwire.scorer import Sample, build_grader, decide_gate

HERE = Path(__file__).parent
MATCHES = build_grader("answer_match", {"mode": "contains"})


def task(*, item: Any, **_: Any) -> Any:
    """The candidate's answer to one item of the dataset."""
    return agents.v2(item["input"], trial=0)["answer"]


def answer_match(*, output: Any, expected_output: Any = None, **_: Any) -> Evaluation:
    """A code grader as an evaluator."""
    grade = MATCHES(Sample(answer=output, expect=expected_output))
    return Evaluation(name="answer_match", value=bool(grade.passed), comment=grade.reason, data_type="BOOLEAN")


def experiment(context: RunnerContext) -> ExperimentResult:
    """Run on the dataset, then put the suite's results through the gate."""
    result = context.run_experiment(name="support", task=task, evaluators=[answer_match])
    report = decide_gate(
        load_results(HERE / "baseline.json"), load_results(HERE / "candidate.json"), load_gate(HERE / "gate.toml")
    )
    if report.blocking:
        raise RegressionError(result=result, message="\n".join(check.message for check in report.blocking))
    return result
