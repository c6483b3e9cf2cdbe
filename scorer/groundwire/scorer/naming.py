"""Rules that name spans by name or kind: which of them take another kind, and which is the root."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from groundwire.scorer.partition import Span, SpanKind

__all__ = ["KindRule", "RootRule", "SpanRule", "rekind"]

_READ_AS = "groundwire.read_as"
"""The attribute that keeps the kind a span was read with; a span that bears it is re-kinded no further."""


class SpanRule(BaseModel):
    """Names spans by their exact name, their kind or both."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, StringConstraints(min_length=1)] | None = None
    """The span's exact name."""
    kind: SpanKind | None = None
    """The span's kind."""

    @model_validator(mode="after")
    def _matches_something(self) -> Self:
        if self.name is None and self.kind is None:
            raise ValueError("the rule needs `name` or `kind` to match by")
        return self

    def matches(self, span: Span) -> bool:
        """Whether the rule names this span."""
        return self.name in (None, span.name) and self.kind in (None, span.kind)


class RootRule(SpanRule):
    """Picks the subtree to judge: the first span, in time order, that matches becomes the root."""


class KindRule(SpanRule):
    """Re-kinds the spans that match: `{name = "kb_search", to = "TOOL"}` or `{kind = "RETRIEVER", to = "TOOL"}`."""

    to: SpanKind
    """The kind it takes."""


def rekind(spans: Iterable[Span], kinds: Sequence[KindRule]) -> tuple[Span, ...]:
    """The spans, each with the kind of the first rule that matches it as it was read.

    Doing so twice is the same as once, whatever the rules: a partition is cut with them and scored with them.
    """
    return tuple(_rekinded(span, kinds) for span in spans) if kinds else tuple(spans)


def _rekinded(span: Span, kinds: Sequence[KindRule]) -> Span:
    rule = next((rule for rule in kinds if rule.matches(span)), None)
    if rule is None or _READ_AS in span.attributes:
        return span
    return span.model_copy(update={"kind": rule.to, "attributes": {**span.attributes, _READ_AS: span.kind}})
