"""The rules of a gate: `gate.toml`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["GateConfig", "RiseRule", "ShareRule"]

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Method = Literal["tolerance", "bootstrap"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ShareRule(_Strict):
    """A share that must not fall."""

    tolerance: Share = 0.0
    """How far it may fall, as a share: 0.02 is two points."""
    least: Share | None = None
    """What the candidate must reach, whatever the baseline did."""


class RiseRule(_Strict):
    """A quantity that must not rise."""

    rise: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """How far it may rise, as a share of the baseline's: 0.2 is a fifth."""
    most: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """What the candidate must stay under, whatever the baseline did: seconds, or US dollars a task."""


class GateConfig(_Strict):
    """`gate.toml`; every key has a default. A rule set to false is off."""

    method: Method = "tolerance"
    """tolerance: the figures decide. bootstrap: they must differ beyond what drawing other cases would explain."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the bootstrap's interval."""
    unclear: Literal["pass", "block"] = "pass"
    """What a rule does that can't tell, because the set is too small."""
    pass_rate: ShareRule | Literal[False] = ShareRule(tolerance=0.02)
    """Of single trials."""
    pass_hat_k: ShareRule | Literal[False] = ShareRule()
    """That all of k trials pass."""
    judge_score: ShareRule | Literal[False] = False
    """The judge's mean score; for a judge that was held against people."""
    must_refuse: bool = True
    """Block where the candidate answers a case that must be refused."""
    errors: Annotated[int, Field(ge=0)] | Literal[False] | None = None
    """Most trials without a grade; unset, no more than the baseline had."""
    latency_p50: RiseRule | Literal[False] = False
    """Median latency, in seconds."""
    latency_p95: RiseRule | Literal[False] = False
    """Slow-tail latency, in seconds; always by its figure, whatever the method."""
    cost: RiseRule | Literal[False] = False
    """US dollars a finished task."""
