"""What is written on a platform: one value of one evaluator on one target, with its comment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

__all__ = ["Delivery", "DeliveryState", "Score", "Target"]

DeliveryState = Literal["delivered", "retry", "refused"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a score stands on. A span is named with its trace; a session by its id and its last turn's trace."""

    project: str
    """The source's project as the platform knows it."""
    trace_id: str
    span_id: str | None = None
    root_span_id: str | None = None
    """The trace's root, where the target is a whole trace: platforms that show scores by span put it there."""
    session_id: str | None = None
    start_time: datetime
    """When the target began (UTC): the same on every retry, so that a platform that keys on dates replaces."""
    environment: str | None = None


@dataclass(frozen=True, kw_only=True)
class Score:
    """One score. The same identity (project, target, evaluator name, score name) always has the same `score_id`."""

    score_id: str
    """Derived from the identity and the generation; a uuid5 in its canonical form."""
    name: str
    """The evaluator's name, or one beside it (`<name>.status`); at most 35 characters."""
    value: float | str | None
    """A finite number, a category, or None: what stood there before is withdrawn."""
    target: Target
    comment: str = ""
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    """Label counts, coverage, flags, judge, cost, fingerprint, row id. Bounded; no trace text beyond the claims."""
    lower_is_better: bool = False


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What became of one score."""

    score_id: str
    state: DeliveryState
    reason: str = ""
    """One line: the platform's own word for a refusal, never trace text."""
    after: float = 0.0
    """Seconds to wait before a retry."""
