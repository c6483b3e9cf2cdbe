"""`POST /v1/score`: a partition, or a question with its answer and evidence, goes in; a row comes out."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, JsonValue

from groundwire.jobs.web.faults import FAULTS
from groundwire.jobs.web.served import Served
from groundwire.jobs.web.states import read_exchange
from groundwire.scorer import Partition, Row

__all__ = ["Exchange", "routes"]


class Exchange(BaseModel):
    """A question, its answer, and what the answer may rest on."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    question: JsonValue = None
    """Text, messages, or data."""
    answer: JsonValue
    """Text, messages, or data."""
    evidence: JsonValue = None
    """A list is one block an entry."""


def routes(served: Served) -> APIRouter:
    """The one route."""
    router = APIRouter(tags=["scores"])

    @router.post("/v1/score", responses=FAULTS)
    async def score(
        body: Partition | Exchange,
        evaluator: Annotated[str | None, Query(description="An evaluator of the configuration.")] = None,
    ) -> Row:
        """The row of what was sent. Nothing is stored, and nothing is written to a platform."""
        partition = body if isinstance(body, Partition) else read_exchange(body.question, body.answer, body.evidence)
        metric, account = served.chosen(evaluator)
        metric.require(partition.partition_type)
        return await served.begin(served.scored(metric, partition, replace(account, trace_id=partition.trace_id)))

    return router
