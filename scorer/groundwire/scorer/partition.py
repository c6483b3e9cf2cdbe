"""What a metric scores: `canonical_partition_v1`, one span, trace or session in a form that no platform owns."""

from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, model_validator

__all__ = [
    "BlobPart",
    "Message",
    "Part",
    "Partition",
    "PartitionType",
    "ReasoningPart",
    "Role",
    "Span",
    "SpanKind",
    "SpanStatus",
    "TextPart",
    "ToolCallPart",
    "ToolCallResponsePart",
    "Turn",
    "UriPart",
]

PartitionType = Literal["span", "trace", "session"]
SpanKind = Literal[
    "LLM", "TOOL", "AGENT", "RETRIEVER", "CHAIN", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "UNKNOWN"
]
"""OpenInference's span kinds, upper case."""
SpanStatus = Literal["ok", "error", "unset"]
"""OpenTelemetry's status codes, lower case."""
Role = Literal["system", "user", "assistant", "tool"]


class _Canonical(BaseModel):
    """A frozen model that moves the fields it doesn't know into `attributes`, so that nothing sent is lost."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="null")

    attributes: dict[str, JsonValue] = Field(default_factory=dict)
    """What the source sent beyond the named fields, under its own names."""

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = _names_of(cls)
        if known.issuperset(data):
            return data
        unknown = {key: value for key, value in data.items() if key not in known}
        kept = {key: value for key, value in data.items() if key in known}
        return {**kept, "attributes": {**unknown, **(data.get("attributes") or {})}}


@cache
def _names_of(model: type[_Canonical]) -> frozenset[str]:
    """Every name that a field of the model is read under; asked for each of thousands of parts."""
    names = set(model.model_fields)
    for field in model.model_fields.values():
        if field.alias:
            names.add(field.alias)
        if isinstance(field.validation_alias, AliasChoices):
            names.update(choice for choice in field.validation_alias.choices if isinstance(choice, str))
    return frozenset(names)


class TextPart(_Canonical):
    """Words that were said."""

    type: Literal["text"] = "text"
    content: str


class ReasoningPart(_Canonical):
    """A model's own thinking: shown to nobody as an answer and never evidence."""

    type: Literal["reasoning"] = "reasoning"
    content: str


class ToolCallPart(_Canonical):
    """A model asking for a tool to be run; what it asks for says nothing about what came back."""

    type: Literal["tool_call"] = "tool_call"
    id: str | None = None
    name: str
    arguments: JsonValue = None


class ToolCallResponsePart(_Canonical):
    """What a tool gave back, as the model was shown it."""

    type: Literal["tool_call_response"] = "tool_call_response"
    id: str | None = None
    name: str | None = None
    response: JsonValue = Field(default=None, validation_alias=AliasChoices("response", "result"))
    failed: bool = False
    """True where the message itself says that the tool failed (Anthropic's `is_error`, LangChain's `status`)."""


class UriPart(_Canonical):
    """Media that was named by an address; never fetched and never text."""

    type: Literal["uri"] = "uri"
    uri: str
    modality: str = "unknown"
    mime_type: str | None = None


class BlobPart(_Canonical):
    """Media that was sent inline; its bytes are dropped where it is read, its size is kept."""

    type: Literal["blob"] = "blob"
    modality: str = "unknown"
    mime_type: str | None = None
    size: int | None = Field(default=None, ge=0)
    """Characters of the encoded content that was dropped."""


Part = Annotated[
    TextPart | ReasoningPart | ToolCallPart | ToolCallResponsePart | UriPart | BlobPart, Field(discriminator="type")
]


class Message(_Canonical):
    """One message in the OpenTelemetry GenAI form."""

    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None

    @property
    def text(self) -> str:
        """The text parts in order, joined by a line break; reasoning, calls and media are left out."""
        return "\n".join(part.content for part in self.parts if isinstance(part, TextPart) and part.content)


class Span(_Canonical):
    """One step of a trace."""

    span_id: str
    trace_id: str
    parent_id: str | None = None
    kind: SpanKind = "UNKNOWN"
    name: str = ""
    start_time: datetime
    end_time: datetime | None = None
    status: SpanStatus = "unset"
    status_message: str = ""
    input_messages: tuple[Message, ...] = ()
    output_messages: tuple[Message, ...] = ()
    input: JsonValue = None
    """The span's input where it is not a list of messages (a tool's arguments, say)."""
    output: JsonValue = None
    """The span's output where it is not a list of messages (a tool's result, say)."""
    tool_name: str | None = None
    model: str | None = None
    usage: dict[str, JsonValue] | None = None


class Turn(_Canonical):
    """Where one trace begins in a session."""

    trace_id: str
    start: int = Field(ge=0)
    """Index of the trace's first span in `Partition.spans`."""


class Partition(_Canonical):
    """The unit a metric scores, in the form `canonical_partition_v1`.

    `Partition.model_validate_json` and `model_dump_json(by_alias=True)` are a round trip. Validation raises
    pydantic's `ValidationError`.
    """

    schema_: Literal["canonical_partition_v1"] = Field(default="canonical_partition_v1", alias="schema")
    partition_type: PartitionType
    partition_id: str
    trace_id: str
    session_id: str | None = None
    target_span_id: str | None = None
    """The span that is scored, of a span partition."""
    spans: tuple[Span, ...]
    turns: tuple[Turn, ...] = ()
    """For a session: its traces in time order."""

    @model_validator(mode="after")
    def _target_is_there(self) -> Self:
        if self.partition_type == "span" and self.target_span_id not in {span.span_id for span in self.spans}:
            raise ValueError("a span partition names one of its spans as target_span_id")
        return self

    @property
    def target(self) -> Span | None:
        """The span that a span partition scores."""
        return next((span for span in self.spans if span.span_id == self.target_span_id), None)
