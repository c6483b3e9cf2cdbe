"""A row as the score that evaluation libraries hand around."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from groundwire.scorer.row import Row

__all__ = ["Score"]


@dataclass(frozen=True, kw_only=True)
class Score:
    """What an evaluator says of one response."""

    name: str
    score: float | None
    """In [0, 1]; None where nothing could be said, which is neither good nor bad."""
    label: str | None
    """`hallucinated` or `grounded`; None without a score."""
    explanation: str
    direction: Literal["minimize", "maximize"]
    """Which way is better."""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    """`model`, the row's `status` and `reason`, `row_id`, the claims; `trace_id` where a trace was judged."""
    kind: Literal["llm", "code"] = "llm"
    """Who judged: a model, or rules."""

    @classmethod
    def of(cls, row: Row, *, name: str, trace_id: str | None = None) -> "Score":
        """The score that a row stands for."""
        metadata: dict[str, JsonValue] = {
            "model": row.judge.get("model"),
            "status": row.status,
            "reason": row.reason,
            "row_id": row.row_id,
            "claims": [claim.model_dump(mode="json", exclude={"checks"}) for claim in row.claims],
        }
        if trace_id is not None:
            metadata["trace_id"] = trace_id
        why = f"{row.status}: {row.reason}" if row.reason else row.status
        return cls(
            name=name,
            score=row.score,
            label=row.label,
            explanation=row.explanation if row.status == "scored" else f"{why}. {row.explanation}".strip(),
            direction="minimize" if row.direction == "lower_is_better" else "maximize",
            metadata=metadata,
            kind="code" if row.judge.get("kind") == "offline" else "llm",
        )
