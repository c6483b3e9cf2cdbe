"""What can be set of each metric: what its manifest lists, and the settings beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.naming import KindRule, RootRule

__all__ = [
    "ConversationConfig",
    "ConversationSettings",
    "EvidencePolicy",
    "Given",
    "HallucinationConfig",
    "HallucinationSettings",
    "MetricConfig",
    "MetricSettings",
    "SpansConfig",
    "SpansSettings",
    "read_config",
]

M = TypeVar("M", bound="MetricConfig")

EvidencePolicy = Literal["head", "relevant"]
Given = Literal["user", "provided"]


def _role(role: str) -> dict[str, Any]:
    return {"x-aip-param-role": role}


class MetricConfig(BaseModel):
    """What every metric's configuration holds: how its judge is asked. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    concurrency_limit: int = Field(
        default=10, ge=1, description="Judge calls under way at once.", json_schema_extra=_role("operational")
    )
    judge_temperature: float = Field(default=0.0, ge=0, le=2, description="Sampling temperature of the judge, 0 to 2.")
    language: str = Field(default="en", description="Language of the prompts, as an ISO 639-1 code.")
    model: str | None = Field(
        default=None, description="The judge's model; unset, the evaluator system's own model judges."
    )
    timeout_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Most seconds that one judge call may take.",
        json_schema_extra=_role("operational"),
    )

    def defining(self) -> dict[str, Any]:
        """The fields that define a score: all but those with an `x-aip-param-role`."""
        operational = {
            name
            for name, field in type(self).model_fields.items()
            if isinstance(field.json_schema_extra, dict) and "x-aip-param-role" in field.json_schema_extra
        }
        return self.model_dump(mode="json", exclude=operational)


class HallucinationConfig(MetricConfig):
    """Parameters of `agent.hallucination` 1.0.0.

    The four `max_*` limits define the score: rows made under other limits are rows of another metric. Names, types,
    defaults, titles and roles are those that the metric is specified with; limits are at least 1, because
    truncation can't be turned off.
    """

    max_response_length: int = Field(
        default=2000, ge=1, description="Trace level: most characters kept of one tool result."
    )
    max_tool_calls_length: int = Field(
        default=500, ge=1, description="Trace level: most characters kept of one tool call's arguments."
    )
    max_tool_response_length: int = Field(
        default=400, ge=1, description="Span level: most characters kept of each string inside a tool response."
    )
    max_total_context: int = Field(
        default=8000, ge=1, description="Trace level: most characters kept of all tool results and arguments together."
    )
    metric_name: str = Field(
        default="hallucination",
        description="Name that the score goes by.",
        json_schema_extra=_role("scoring_metadata"),
    )


class SpansConfig(HallucinationConfig):
    """Parameters of `unsupported_spans` 1.0.0; the limits are those of `agent.hallucination`."""

    metric_name: str = Field(
        default="unsupported_spans",
        description="Name that the score goes by.",
        json_schema_extra=_role("scoring_metadata"),
    )
    predicate: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Least probability of a span that matches; unset, every span that the judge names.",
    )


class ConversationConfig(MetricConfig):
    """Parameters of `conversation.hallucination` 1.0.0."""

    max_response_length: int = Field(
        default=4000, ge=1, description="Most characters kept of one tool result or retrieved document."
    )
    max_turn_length: int = Field(default=4000, ge=1, description="Most characters kept of one other turn.")
    max_total_context: int = Field(
        default=24_000, ge=200, description="Most characters kept of the whole transcript, its labels included."
    )
    metric_name: str = Field(
        default="hallucination",
        description="Name that the score goes by.",
        json_schema_extra=_role("scoring_metadata"),
    )


class MetricSettings(BaseModel):
    """What an evaluator can set beside any metric's configuration; all of it is part of the fingerprint."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_coverage: float = Field(default=0.0, ge=0, le=1)
    """Least share of the evidence's characters the judge must see; below it the row is `unknown: low_coverage`."""
    kinds: tuple[KindRule, ...] = ()
    """Rules that re-kind spans, the first match wins."""
    root: RootRule | None = None
    """The subtree to judge, where a trace holds more than one agent's work."""
    prompts_dir: Path | None = None
    """A folder of prompts that replace the package's own."""
    max_prompt_chars: int = Field(default=32_000, ge=4_000)
    """Most characters of one prompt."""


class HallucinationSettings(MetricSettings):
    """What an evaluator can set beside `HallucinationConfig`."""

    given: tuple[Given, ...] = ("user", "provided")
    """Which of U (what the user said) and S (system prompt, provided content) is citable; `[]` is the strict way."""
    evidence_policy: EvidencePolicy = "head"
    """`head` keeps the beginning of each block; `relevant` chooses windows per claim where blocks don't fit."""
    recheck: bool = False
    """Judge claims labelled hallucinated once more, against what is relevant to them in the whole evidence."""


class SpansSettings(MetricSettings):
    """What an evaluator can set beside `SpansConfig`."""

    given: tuple[Given, ...] = ()
    """Which of U (what the user said) and S (system prompt) is grounding context beside tool results and documents."""
    evidence_policy: EvidencePolicy = "head"
    """`head` keeps the beginning of each block; `relevant` chooses windows per sentence where blocks don't fit."""


class ConversationSettings(MetricSettings):
    """What an evaluator can set beside `ConversationConfig`."""


def read_config(model: type[M], given: M | Mapping[str, Any] | None, *, name: str) -> M:
    """The configuration of the metric of that name. Raises `ConfigError` for an unknown field or a value off range."""
    if isinstance(given, model):
        return given
    try:
        return model.model_validate(given or {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "config"
        raise ConfigError(f"{name}: {where}: {first['msg']}") from None
