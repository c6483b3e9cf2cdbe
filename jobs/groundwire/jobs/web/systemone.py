"""`POST /v1/systemone`: groundwire as a decision model, for whatever platform asks decision models."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, get_args

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.jobs.web.faults import FAULTS, Fault
from groundwire.jobs.web.served import Served
from groundwire.jobs.web.states import Transcript, read_state
from groundwire.scorer import Account, Failure, Material, Metric, Partition, Row, SkipThis, Usage

__all__ = ["QUESTIONS", "routes"]

Asked = Literal["hallucinated", "grounded", "needs_facts"]
QUESTIONS: tuple[Asked, ...] = get_args(Asked)
"""What can be asked: whether the answer says something that its evidence doesn't bear out, the opposite, and whether
the request needs facts at all."""
_ALIASES: Mapping[str, Asked] = {"hallucination": "hallucinated", "groundedness": "grounded"}
OWN_MODEL = "groundwire"
"""The `model` of requests that name no evaluator."""


class Request(BaseModel):
    """What is asked, of what."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)

    model: str = OWN_MODEL
    """An evaluator of the configuration, or `groundwire` for the service's own judge."""
    state: JsonValue
    """Text with sections, an object (`context`, `inputs`, `outputs`), messages, or a canonical partition."""
    questions: Annotated[dict[str, JsonValue], Field(min_length=1, max_length=16)]
    """By name: `hallucinated`, `grounded` or `needs_facts`, each `{"type": "noul", …}`. The name says what is asked,
    whatever its instructions and criteria say."""


class Probability(BaseModel):
    """The probability that it holds."""

    type: Literal["noul"] = "noul"
    noul: float = Field(ge=0, le=1)


class Unanswered(BaseModel):
    """Why a question has no answer."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: Literal["error"] = "error"
    code: str
    """`no_evidence`, `no_answer`, `undecided`, `over_budget`, `deadline`, …"""
    message: str


class Tokens(BaseModel):
    """What the judge used."""

    input_tokens: int = 0
    output_tokens: int = 0


class Reply(BaseModel):
    """An answer to each question."""

    model: str
    answers: dict[str, Probability | Unanswered]
    usage: Tokens


def routes(served: Served) -> APIRouter:
    """The one route."""
    router = APIRouter(tags=["decisions"])

    @router.post("/v1/systemone", responses=FAULTS)
    async def systemone(body: Request) -> Reply:
        """Answer within the service's deadline; what the judge can't tell is that question's error."""
        asked = _asked(body.questions)
        evaluator = None if body.model == OWN_MODEL else body.model
        metric, account = served.chosen(evaluator)
        try:
            subject = read_state(body.state)
        except SkipThis as error:
            raise Fault(422, "invalid_state", str(error)) from None
        account = replace(account, trace_id=subject.trace_id if isinstance(subject, Partition) else "")
        begun: dict[str, asyncio.Future[_Told]] = {}
        if {"hallucinated", "grounded"} & set(asked.values()):
            begun["verdict"] = served.begin(_verdict(served, metric, subject, account))
        if "needs_facts" in asked.values():
            begun["needs_facts"] = served.begin(_needs_facts(metric, subject, account))
        done, _ = await asyncio.wait(begun.values(), timeout=served.service.settings.service.deadline)
        # what is late goes on: its reply is paid for and cached, and answers the same request when it comes again
        told = {work: future.result() if future in done else LATE for work, future in begun.items()}
        used = sum((one.usage for one in told.values()), Usage())
        return Reply(
            model=body.model,
            answers={name: _answer(question, told) for name, question in asked.items()},
            usage=Tokens(
                input_tokens=used.input_tokens + used.cached_tokens,
                output_tokens=used.output_tokens + used.reasoning_tokens,
            ),
        )

    return router


@dataclass(frozen=True, kw_only=True)
class _Told:
    """What a judge said: the probability that it holds, or why there is none."""

    probability: float | None = None
    code: str = ""
    message: str = ""
    usage: Usage = field(default_factory=Usage)


LATE = _Told(code="deadline", message="the judge didn't answer in time; the same request later may find its answer")


def _asked(questions: Mapping[str, JsonValue]) -> dict[str, Asked]:
    """The questions by name. Raises `Fault` for one that isn't known or is no `noul`."""
    asked: dict[str, Asked] = {}
    for number, (name, question) in enumerate(questions.items(), start=1):
        known = _ALIASES.get(name, name)
        found = next((one for one in QUESTIONS if one == known), None)
        if found is None:
            raise Fault(
                422, "invalid_questions", f"question {number} is none that can be asked: {', '.join(QUESTIONS)}"
            )
        if not isinstance(question, dict) or question.get("type") != "noul":
            raise Fault(422, "invalid_questions", f'question {number} ({found}) must be an object of type "noul"')
        asked[name] = found
    return asked


async def _verdict(served: Served, metric: Metric, subject: Partition | Transcript, account: Account) -> _Told:
    """The probability that the answer says something that its evidence doesn't bear out."""
    if isinstance(subject, Transcript):
        if "classify" not in metric.judge.capabilities:
            return _Told(code="judge_not_capable", message="this judge can't judge a transcript; send the parts of it")
        reply = await metric.judge.bound(account).classify(subject.transcript, subject.output)
        if reply.value is None:
            return _failed(reply.failure, reply.usage)
        sure = 1.0 if reply.value.label == "hallucinated" else 0.0
        return _Told(
            probability=sure if reply.value.probability is None else reply.value.probability, usage=reply.usage
        )
    row = await served.scored(metric, subject, account)
    if row.status != "scored" or row.label is None:
        return _Told(code=row.reason or row.status, message=row.explanation or row.status, usage=row.usage)
    return _Told(probability=_probability(row), usage=row.usage)


def _probability(row: Row) -> float:
    """That any claim is invented, as far as the judge gives one; else its decision, 1 or 0."""
    known = [claim.probability for claim in row.claims if claim.probability is not None]
    decided = 1.0 if row.label == "hallucinated" else 0.0
    return max(known) if known else decided


async def _needs_facts(metric: Metric, subject: Partition | Transcript, account: Account) -> _Told:
    """Whether the question asks for facts; a judge decides it without a probability."""
    if "needs_facts" not in metric.judge.capabilities:
        return _Told(code="judge_not_capable", message="this judge can't tell whether a request needs facts")
    material = metric.material(subject) if isinstance(subject, Partition) else None
    question = material.question if isinstance(material, Material) else ""
    if not question:
        return _Told(code="no_question", message="the state names no question")
    reply = await metric.judge.bound(account).needs_facts(question)
    if reply.value is None:
        return _failed(reply.failure, reply.usage)
    return _Told(probability=float(reply.value), usage=reply.usage)


def _failed(failure: Failure | None, usage: Usage) -> _Told:
    reason = failure.reason if failure is not None else "undecided"
    return _Told(code=reason, message=(failure.message if failure is not None else "") or reason, usage=usage)


def _answer(question: Asked, told: Mapping[str, _Told]) -> Probability | Unanswered:
    found = told["needs_facts" if question == "needs_facts" else "verdict"]
    if found.probability is None:
        return Unanswered(code=found.code, message=found.message)
    return Probability(noul=round(1.0 - found.probability, 9) if question == "grounded" else found.probability)
