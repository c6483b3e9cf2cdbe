"""Whatever answers the metrics' questions: an LLM, the offline rules, a decision model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.scorer.claims import Citation, Claim, DraftClaim
from groundwire.scorer.evidence import View
from groundwire.scorer.spend import Account, Usage

__all__ = [
    "Capability",
    "Dimensions",
    "Exchange",
    "Failure",
    "Faithfulness",
    "Judge",
    "JudgeVersion",
    "Reply",
    "UnsupportedSpan",
    "Verdict",
]

T = TypeVar("T")

Capability = Literal["split", "label", "quotes", "faithfulness", "classify", "spans", "needs_facts"]


class JudgeVersion(BaseModel):
    """Which judge it was. The identity is what was configured; what was learnt at run time changes no key."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["llm", "offline", "decision"]
    model: str
    prompt_digest: str = ""
    """SHA-256 of the prompts in use (12 hex digits); empty for a judge without prompts."""
    parameters: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What was configured and can change a verdict: temperature, reasoning effort, output limit, …"""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a judge gave no value; the row takes its status and reason from here."""

    status: Literal["unknown", "skipped", "error"]
    reason: str
    """`judge_refused`, `judge_unparsable` (unknown) · `over_budget` (skipped) · `judge_unreachable`, … (error)."""
    message: str = ""
    """One line for the user, without trace text."""
    retry_after: float | None = None
    """Seconds, for an error that may pass."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One prompt and its reply, kept for `groundwire explain`; holds trace text and is never logged."""

    question: str
    prompt: str
    reply: str


@dataclass(frozen=True, kw_only=True)
class Reply(Generic[T]):
    """A judge's answer with what it cost. Exactly one of `value` and `failure` is given."""

    value: T | None = None
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)
    flags: frozenset[str] = frozenset()
    """`injection_suspected`, `parameters_dropped`, `ids_dropped`, …: they go into the row."""
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    """What was learnt at run time: the resolved snapshot, dropped parameters, where an injection was seen, …"""
    exchanges: tuple[Exchange, ...] = ()
    view: View | None = None
    """What was shown, where the model's context held less than the view it was asked with; coverage follows it."""


class Dimensions(BaseModel):
    """The four dimensions of the SPAN path, each in [0, 1]; one with nothing to judge is 1.0."""

    model_config = ConfigDict(frozen=True)

    numeric: float = Field(ge=0, le=1)
    categorical: float = Field(ge=0, le=1)
    no_fabrication: float = Field(ge=0, le=1)
    completeness: float = Field(ge=0, le=1)


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """How faithful a completion is to its own data."""

    dimensions: Dimensions
    claims: tuple[Claim, ...] = ()
    """The statements that cost a dimension something, with the reason; offsets are in the answer."""
    explanation: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A response classified against the whole record."""

    label: Literal["hallucinated", "grounded"]
    explanation: str
    claims: tuple[Claim, ...] = ()
    probability: float | None = None
    """Probability that it is hallucinated, where the judge gives one."""


@dataclass(frozen=True, kw_only=True)
class UnsupportedSpan:
    """A stretch of the answer that the evidence does not support."""

    text: str
    start: int
    end: int
    probability: float
    type: Literal["contradiction", "unsupported_addition", "fabricated_reference"]
    reason: str = ""
    subtype: str | None = None
    """What is wrong in it, where that is known: number, date, unit, name, url, …; see `claims.Check`."""
    evidence: Citation | None = None
    """What the evidence has instead, where it has something."""


class Judge(Protocol):
    """What a metric asks. A reply's value has one entry for each thing asked about, in the same order."""

    @property
    def version(self) -> JudgeVersion:
        """Part of every row."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this judge can answer; checked when the configuration is loaded."""
        ...

    def bound(self, account: Account) -> Self:
        """The same judge, spending on that account."""
        ...

    async def split(self, question: str, answer: str) -> Reply[tuple[DraftClaim, ...]]:
        """The claims of an answer, in its order, with their kinds."""
        ...

    async def label(self, question: str, claims: Sequence[DraftClaim], evidence: View) -> Reply[tuple[Claim, ...]]:
        """A label for each claim, or none with a reason."""
        ...

    async def faithfulness(self, question: str, answer: str, evidence: View) -> Reply[Faithfulness]:
        """The four dimensions of the SPAN path."""
        ...

    async def classify(self, transcript: str, output: str) -> Reply[Verdict]:
        """Hallucinated or grounded, against the transcript of the whole record."""
        ...

    async def spans(self, question: str, answer: str, evidence: View) -> Reply[tuple[UnsupportedSpan, ...]]:
        """The stretches of the answer that the evidence does not support."""
        ...

    async def needs_facts(self, request: str) -> Reply[bool]:
        """Whether the request asks for facts at all."""
        ...

    async def close(self) -> None:
        """Let go of connections; the judges bound from this one share them."""
        ...
