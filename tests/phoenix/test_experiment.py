"""Our evaluators in an experiment of a real Phoenix, through its own client."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.phoenix.server import Phoenix

from groundwire.connectors.phoenix import evaluator
from groundwire.scorer import HallucinationMetric, OfflineJudge

pytestmark = pytest.mark.phoenix

client = pytest.importorskip("phoenix.client", reason="needs arize-phoenix-client (make test-phoenix)")

FOUND = "Order A-77 was shipped on 3 May by Northpost."
FALSE = "Order A-77 was shipped on 9 June by Northpost."
METRIC = HallucinationMetric(judge=OfflineJudge())


async def ran(phoenix: Phoenix, evaluators: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An experiment of three examples, and its evaluations as the server tells them, by question."""
    async with httpx.AsyncClient(base_url=phoenix.url) as http:
        return await _ran(client.AsyncClient(http_client=http), phoenix, evaluators)


async def _ran(asked: Any, phoenix: Phoenix, evaluators: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    dataset = await asked.datasets.create_dataset(
        name=f"orders-{uuid4().hex[:8]}",
        inputs=[{"question": "true"}, {"question": "false"}, {"question": "bare"}],
    )

    async def task(input: Mapping[str, Any]) -> dict[str, Any]:  # noqa: A002 - the client names it so
        match input["question"]:
            case "true":
                return {"answer": FOUND, "context": [FOUND]}
            case "false":
                return {"answer": FALSE, "context": [FOUND]}
            case _:
                return {"answer": FOUND}

    experiment = await asked.experiments.run_experiment(
        dataset=dataset, task=task, evaluators=evaluators, print_summary=False
    )
    rows = phoenix.http.get(f"/v1/experiments/{experiment['experiment_id']}/json").json()
    found = {row["input"]["question"]: row["annotations"] for row in rows}
    return found, rows


async def test_each_answer_is_judged_against_its_context(phoenix: Phoenix) -> None:
    found, rows = await ran(phoenix, [evaluator(METRIC)])
    assert {question: len(annotations) for question, annotations in found.items()} == {"true": 1, "false": 1, "bare": 1}
    [good], [bad], [bare] = found["true"], found["false"], found["bare"]
    assert (good["name"], good["score"], good["label"]) == ("groundedness", 1.0, "grounded")
    assert (bad["score"], bad["label"]) == (0.0, "hallucinated")
    assert "9 June" in bad["explanation"]
    assert [claim["text"] for claim in bad["metadata"]["claims"]] == [FALSE]
    assert (bare["score"], bare["label"]) == (None, "invalid")
    assert bare["explanation"].startswith("invalid: required_kinds\n")
    assert {row["annotations"][0]["annotator_kind"] for row in rows} == {"CODE"}


async def test_the_client_is_told_that_a_model_judged(phoenix: Phoenix) -> None:
    from phoenix.client.experiments import create_evaluator

    told = create_evaluator(kind="LLM", name="grounded")(evaluator(METRIC, name="anything"))
    found, _ = await ran(phoenix, [told])
    assert {(one["name"], one["annotator_kind"]) for annotations in found.values() for one in annotations} == {
        ("grounded", "LLM")
    }
