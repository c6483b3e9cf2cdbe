"""The outcome for one partition: status, score, claims, coverage, flags, usage, versions."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.scorer.claims import Claim
from groundwire.scorer.evidence import Coverage
from groundwire.scorer.partition import PartitionType
from groundwire.scorer.spend import Usage

__all__ = ["Direction", "Row", "Status", "package_version"]

Status = Literal["scored", "unknown", "invalid", "skipped", "error"]
Direction = Literal["higher_is_better", "lower_is_better"]


class Row(BaseModel):
    """One line of `groundwire score --json`. Unscored is not zero: `score` is null unless `status` is `scored`."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")

    row_id: str
    partition_id: str
    partition_type: PartitionType
    trace_id: str
    session_id: str | None = None
    target_span_id: str | None = None
    metric: str
    metric_version: str
    status: Status
    reason: str | None = None
    """Why there is no score: `no_answer`, `no_evidence`, `no_claims`, `undecided`, …, or the rule a shape breaks."""
    score: float | None = Field(default=None, ge=0, le=1)
    label: str | None = None
    direction: Direction
    explanation: str = ""
    """One or two sentences for a reader, with the setting that mends it where the row is invalid."""
    claims: tuple[Claim, ...] = ()
    dimensions: Mapping[str, float] | None = None
    """Of the SPAN path: numeric, categorical, no_fabrication, completeness."""
    coverage: Coverage = Coverage()
    flags: tuple[str, ...] = ()
    usage: Usage = Usage()
    judge: Mapping[str, JsonValue] = Field(default_factory=dict)
    """`JudgeVersion` and, under `notes`, what was learnt at run time."""
    config_fingerprint: str
    groundwire_version: str
    created_at: datetime


@cache
def package_version() -> str:
    """The installed version of groundwire."""
    return version("groundwire")
