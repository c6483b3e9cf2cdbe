"""`POST /v1/guard`: a request, an answer and its evidence go in; the answer to give comes out."""

import asyncio
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.jobs.web.faults import FAULTS, Fault
from groundwire.jobs.web.served import Served
from groundwire.jobs.web.states import read_exchange
from groundwire.scorer import Claim, GuardResult, Material

__all__ = ["WARNINGS", "routes"]

WARNINGS = "x-groundwire-warnings"
"""The header that names the signals which a rule acted on."""
SLACK = 0.25
"""Seconds beyond the signals' own deadlines in which a check is answered, whatever holds it up."""


class Asked(BaseModel):
    """An answer to check."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    request: JsonValue
    """What was asked: text, or messages, of which the last of the user's counts."""
    answer: str
    """What is to be answered."""
    evidence: JsonValue = None
    """The grounding context; a list is one block an entry."""
    trace_id: str | None = Field(default=None, min_length=1, max_length=200)
    """The trace on the platform, so that the check is written there as a score."""


class Signal(BaseModel):
    """What one signal said."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: Literal["fact_check", "hallucination"]
    outcome: Literal["matched", "not_matched", "unknown"]
    reason: str | None
    """Why it is unknown."""
    label: str | None
    """Of `fact_check`."""
    spans: tuple[Claim, ...]
    """Of `hallucination`: the unsupported passages, with offsets in the answer as it was sent."""


class Checked(BaseModel):
    """The answer to give, and what was found."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    answer: str
    """With a note at its head, or a notice in its place, where a rule wrote one."""
    actions: tuple[Literal["annotate", "block", "flag", "record"], ...]
    warnings: tuple[str, ...]
    """As in the header `x-groundwire-warnings`."""
    signals: dict[str, Signal]


def routes(served: Served) -> APIRouter:
    """The one route."""
    router = APIRouter(tags=["guard"])

    @router.post("/v1/guard", responses=FAULTS)
    async def guard(body: Asked, response: Response) -> Checked:
        """The answer with what the guard's rules do about it. What no judge answers in time is unknown, never clean."""
        checking = served.guard
        if checking is None:
            raise Fault(404, "no_guard", "no guard is configured; see [guard] in docs/guard.md")
        request = body.request if isinstance(body.request, str) else _question(served, body.request)
        checked = served.begin(checking.check(request, body.answer, body.evidence, trace_id=body.trace_id))
        done, _ = await asyncio.wait({checked}, timeout=checking.patience + SLACK)
        # the judges' loop may be busy with other work: what is late goes on there, and is recorded as it ends
        result = checked.result() if done else await checking.unchecked(body.answer, "timeout")
        if result.warnings:
            response.headers[WARNINGS] = ", ".join(result.warnings)
        return _body(result)

    return router


def _question(served: Served, request: JsonValue) -> str:
    found = served.metric.material(read_exchange(request, "", None))
    return found.question if isinstance(found, Material) else ""


def _body(result: GuardResult) -> Checked:
    return Checked(
        answer=result.answer,
        actions=result.actions,
        warnings=result.warnings,
        signals={
            name: Signal(type=one.type, outcome=one.outcome, reason=one.reason, label=one.label, spans=one.spans)
            for name, one in result.signals.items()
        },
    )
