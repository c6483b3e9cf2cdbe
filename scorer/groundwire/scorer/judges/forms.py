"""The forms a judge fills in: the JSON schema it is shown, and the strict reading of what it sends back."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StringConstraints, model_validator

from groundwire.scorer.claims import ClaimKind, Label
from groundwire.scorer.judges.reading import read_items

__all__ = [
    "CLAIMS",
    "FACTS",
    "FAITHFULNESS",
    "LABELS",
    "PROBE",
    "QUOTES",
    "SPANS",
    "VERDICT",
    "ClaimsForm",
    "FactsForm",
    "FaithfulnessForm",
    "Form",
    "LabelItem",
    "LabelsForm",
    "ProbeForm",
    "QuoteItem",
    "QuotesForm",
    "SpansForm",
    "VerdictForm",
]

M = TypeVar("M", bound=BaseModel)


def _number(value: object) -> object:
    """A number in a string is unmistakable; a truth value is no number."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value.strip() if isinstance(value, str) else value


def _joined(value: object) -> object:
    """A list of reasons is one reason; none is the empty one."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "; ".join(value)
    return value


def _word(value: object) -> object:
    """`Supported`, `model knowledge` and `MODEL-KNOWLEDGE` are the words that they look like."""
    return re.sub(r"[\s-]+", "_", value.strip().casefold()) if isinstance(value, str) else value


def _claim_id(value: object) -> object:
    """`C1`, `c1`, `[C1]`, `1` and the number 1 name the same claim."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"C{value}"
    found = re.fullmatch(r"\W*[Cc]?(\d{1,4})\W*", value) if isinstance(value, str) else None
    return f"C{int(found.group(1))}" if found else value


def _block_name(value: object) -> object:
    """`E1`, `e1`, `[E1]` and `E1 tool: search` name the same section; an empty name names none."""
    if not isinstance(value, str):
        return value
    found = re.match(r"\W*([EUSeus]\d{1,5})\b", value)
    return found.group(1).upper() if found else None


Score = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, allow_inf_nan=False)]
Reason = Annotated[str, BeforeValidator(_joined)]
Words = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
ClaimId = Annotated[str, BeforeValidator(_claim_id)]
BlockName = Annotated[str | None, BeforeValidator(_block_name)]
Finding = Annotated[
    Literal["contradiction", "unsupported_addition", "fabricated_reference", "false_success"], BeforeValidator(_word)
]
Extra = Annotated[Literal["contradiction", "unsupported_addition", "fabricated_reference"], BeforeValidator(_word)]


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")


class ClaimItem(_Form):
    """One statement of an answer."""

    text: Words
    kind: Annotated[ClaimKind, BeforeValidator(_word)]


class ClaimsForm(_Form):
    """The statements of an answer."""

    claims: list[ClaimItem]


class LabelItem(_Form):
    """One claim's label."""

    id: ClaimId
    label: Annotated[Label, BeforeValidator(_word)]
    reason: Reason = ""
    block: BlockName = None
    quote: str | None = None
    type: Annotated[str | None, BeforeValidator(_word)] = None


class LabelsForm(_Form):
    """Labels, read one by one: a bad one does not take the good ones with it."""

    labels: list[dict[str, Any]]

    @model_validator(mode="after")
    def _some_are_readable(self) -> "LabelsForm":
        read_items(self.labels, LabelItem)
        return self


class QuoteItem(_Form):
    """Where one claim's proof stands."""

    id: ClaimId
    block: BlockName = None
    quote: str | None = None


class QuotesForm(_Form):
    """Quotes, read one by one."""

    quotes: list[dict[str, Any]]

    @model_validator(mode="after")
    def _some_are_readable(self) -> "QuotesForm":
        read_items(self.quotes, QuoteItem)
        return self


class ProblemItem(_Form):
    """A statement that cost a dimension something."""

    text: Words
    dimension: Annotated[Literal["numeric", "categorical", "no_fabrication", "completeness"], BeforeValidator(_word)]
    type: Finding
    reason: Reason = ""


class FaithfulnessForm(_Form):
    """The four dimensions of the SPAN path."""

    problems: list[ProblemItem] = Field(default_factory=list)
    explanation: Reason = ""
    numeric: Score
    categorical: Score
    no_fabrication: Score
    completeness: Score


class UnsupportedItem(_Form):
    """A statement that no source gives."""

    text: Words
    reason: Reason = ""


class VerdictForm(_Form):
    """Hallucinated or grounded."""

    unsupported: list[UnsupportedItem] = Field(default_factory=list)
    explanation: Reason = ""
    label: Annotated[Literal["hallucinated", "grounded"], BeforeValidator(_word)]


class SpanItem(_Form):
    """A stretch of the answer that the evidence doesn't support."""

    text: Words
    type: Extra
    reason: Reason = ""
    probability: Score


class SpansForm(_Form):
    """The unsupported stretches."""

    spans: list[SpanItem]


class FactsForm(_Form):
    """Whether a request needs facts."""

    needs_facts: StrictBool


class ProbeForm(_Form):
    """Whether the endpoint can fill in a form at all."""

    ok: StrictBool


@dataclass(frozen=True, kw_only=True)
class Form(Generic[M]):
    """What is asked for, and how the reply is read."""

    name: str
    model: type[M]
    schema: Mapping[str, Any]
    """As OpenAI's strict mode takes it: every property required, no others."""

    @cached_property
    def text(self) -> str:
        """The schema as it goes out, with its name."""
        return f"{self.name} {json.dumps(self.schema, separators=(',', ':'))}"


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


_STRING = {"type": "string"}
_STRING_OR_NULL = {"type": ["string", "null"]}
_NUMBER = {"type": "number"}
_BOOLEAN = {"type": "boolean"}
_FINDINGS = ("contradiction", "unsupported_addition", "fabricated_reference", "false_success")

CLAIMS = Form(
    name="claims",
    model=ClaimsForm,
    schema=_object(
        claims=_list(text=_STRING, kind=_one_of("fact", "self_reference", "confirmation", "next_step", "filler"))
    ),
)
LABELS = Form(
    name="labels",
    model=LabelsForm,
    schema=_object(
        labels=_list(
            id=_STRING,
            reason=_STRING,
            label=_one_of("supported", "inferred", "model_knowledge", "hallucinated"),
            block=_STRING_OR_NULL,
            quote=_STRING_OR_NULL,
            type=_STRING_OR_NULL,
        )
    ),
)
QUOTES = Form(
    name="quotes",
    model=QuotesForm,
    schema=_object(quotes=_list(id=_STRING, block=_STRING_OR_NULL, quote=_STRING_OR_NULL)),
)
FAITHFULNESS = Form(
    name="faithfulness",
    model=FaithfulnessForm,
    schema=_object(
        problems=_list(
            text=_STRING,
            dimension=_one_of("numeric", "categorical", "no_fabrication", "completeness"),
            type=_one_of(*_FINDINGS),
            reason=_STRING,
        ),
        explanation=_STRING,
        numeric=_NUMBER,
        categorical=_NUMBER,
        no_fabrication=_NUMBER,
        completeness=_NUMBER,
    ),
)
VERDICT = Form(
    name="verdict",
    model=VerdictForm,
    schema=_object(
        unsupported=_list(text=_STRING, reason=_STRING), explanation=_STRING, label=_one_of("hallucinated", "grounded")
    ),
)
SPANS = Form(
    name="spans",
    model=SpansForm,
    schema=_object(spans=_list(text=_STRING, type=_one_of(*_FINDINGS[:3]), reason=_STRING, probability=_NUMBER)),
)
FACTS = Form(name="facts", model=FactsForm, schema=_object(needs_facts=_BOOLEAN))
PROBE = Form(name="probe", model=ProbeForm, schema=_object(ok=_BOOLEAN))
