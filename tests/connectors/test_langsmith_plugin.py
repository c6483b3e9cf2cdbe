"""groundwire as an evaluator of LangSmith's own SDK, and in the form of openevals."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from langsmith.evaluation.evaluator import DynamicRunEvaluator
from langsmith.schemas import Example, Run
from tests.connectors.langsmith_runs import NOON

from groundwire.connectors.langsmith import evaluator
from groundwire.scorer import ConfigError, HallucinationMetric, OfflineJudge

ASKED = "Where is order A-77?"
FOUND = "Order A-77 was shipped on 3 May by Northpost."
TRUE = "Order A-77 was shipped on 3 May by Northpost."
FALSE = "Order A-77 was shipped on 9 June by Northpost."
METRIC = HallucinationMetric(judge=OfflineJudge())


@pytest.fixture(autouse=True)
def _no_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def run_with_children(answer: str) -> Run:
    root, tool = uuid4(), uuid4()
    common: dict[str, Any] = {"start_time": NOON, "end_time": NOON, "trace_id": root, "extra": {}, "serialized": {}}
    child = Run(
        id=tool, parent_run_id=root, run_type="tool", name="find", inputs={"id": "A-77"},
        outputs={"output": FOUND}, dotted_order=f"20261130T120000000000Z{root}.20261130T120000000001Z{tool}", **common,
    )  # fmt: skip
    return Run(
        id=root, run_type="chain", name="agent", inputs={"question": ASKED}, outputs={"answer": answer},
        child_runs=[child], dotted_order=f"20261130T120000000000Z{root}", session_id=uuid4(), **common,
    )  # fmt: skip


def as_dictionary(run: Run) -> dict[str, Any]:
    keys = ("id", "trace_id", "parent_run_id", "run_type", "name", "start_time", "end_time", "inputs", "outputs")
    held = {key: str(value) if isinstance(value := getattr(run, key), UUID) else value for key in keys}
    return held | {"child_runs": [as_dictionary(child) for child in run.child_runs or []]}


def test_openevals_form_with_context() -> None:
    judge = evaluator(METRIC, name="hallucination")
    good = judge(inputs=ASKED, outputs=TRUE, context=FOUND, reference_outputs="whatever")
    bad = judge(inputs={"question": ASKED}, outputs={"answer": FALSE}, context=[{"page_content": FOUND}])
    assert set(good) == {"key", "score", "comment", "metadata"}
    assert (good["key"], good["score"]) == ("hallucination", 1.0)
    assert bad["score"] < 1.0
    [claim] = bad["metadata"]["claims"]
    assert (claim["text"], claim["label"]) == (FALSE, "hallucinated")
    assert "9 June" in bad["comment"]


def test_reference_outputs_are_no_evidence() -> None:
    result = evaluator(METRIC)(inputs=ASKED, outputs=TRUE, reference_outputs=TRUE)
    assert result["score"] is None
    assert result["comment"].startswith("invalid: ")


def test_messages_bring_their_own_evidence_and_outputs_can() -> None:
    messages = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": FOUND},
    ]
    assert evaluator(METRIC)(inputs={"messages": messages}, outputs=TRUE)["score"] == 1.0
    keyed = evaluator(METRIC, context_key="contexts")
    assert keyed(inputs={"question": ASKED}, outputs={"answer": TRUE, "contexts": [FOUND]})["score"] == 1.0


@pytest.mark.parametrize("form", ["object", "dictionary"])
async def test_a_run_with_its_children_is_judged_as_the_trace_it_is(form: str) -> None:
    for answer, grounded in ((TRUE, True), (FALSE, False)):
        run: Any = run_with_children(answer)
        run = run if form == "object" else as_dictionary(run)
        result = await evaluator(METRIC, asynchronous=True)(run, None)
        assert (result["score"] == 1.0) == grounded
        again = await asyncio.to_thread(evaluator(METRIC), run=run, example={"inputs": {"question": ASKED}})
        assert (again["score"], again["metadata"]["claims"]) == (result["score"], result["metadata"]["claims"])


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_sdk_takes_it_as_an_evaluator(asynchronous: bool) -> None:
    """What `evaluate` and `aevaluate` make of a callable, with new runs and those of an experiment."""
    chosen: Any = evaluator(METRIC, name="grounded", asynchronous=asynchronous)
    wrapped = DynamicRunEvaluator(chosen)
    run = run_with_children(FALSE)
    example = Example(id=uuid4(), inputs={"question": ASKED}, outputs={"answer": TRUE}, dataset_id=uuid4())
    if asynchronous:
        result: Any = await wrapped.aevaluate_run(run, example)
    else:
        result = await asyncio.to_thread(wrapped.evaluate_run, run, example)
    assert (result.key, result.score) == ("grounded", 0.0)
    assert result.metadata["claims"]


async def test_span_level_judges_the_last_model_call_and_says_where_there_is_none() -> None:
    nothing = await evaluator(METRIC, level="span", asynchronous=True)(inputs=ASKED, outputs=TRUE)
    assert nothing["score"] is None
    assert "nothing of that level" in nothing["comment"]


def test_an_evaluator_has_a_name() -> None:
    assert evaluator(METRIC, name="mine").__name__ == "mine"
    with pytest.raises(ConfigError):
        evaluator(METRIC, name="")
