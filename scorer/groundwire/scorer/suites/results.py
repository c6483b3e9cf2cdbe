"""What a suite's run gave: one row a trial, and what the rows were graded with."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.scorer.spend import Usage
from groundwire.scorer.suites.case import CaseKind, Purpose

__all__ = ["GradeRow", "JudgeRow", "SuiteResults", "TrialRow", "suite_fingerprint"]

TrialStatus = Literal["scored", "unknown", "error"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class GradeRow(_Model):
    """What one grader found about one trial."""

    grader: str
    passed: bool | None
    """None where there was nothing to grade by."""
    reason: str = ""
    label: str | None = None


class JudgeRow(_Model):
    """What the suite's judge made of one trial; it decides nothing about the pass."""

    score: float | None = Field(default=None, ge=0, le=1)
    """None where the judge gave none; `reason` says why."""
    reason: str = ""
    usage: Usage = Usage()
    """The judge's own, apart from the target's."""


class TrialRow(_Model):
    """One trial of one case."""

    case: str
    case_version: str
    kind: CaseKind
    purpose: Purpose
    trial: int = Field(ge=0)
    """From 0."""
    status: TrialStatus
    """`scored`: graded. `unknown`: the target gave nothing to grade. `error`: a grader failed."""
    reason: str | None = None
    """Why there is no grade: `target_error`, `not_graded`, `grader_error`."""
    explanation: str = ""
    passed: bool | None = None
    """Whether every grader that applies passed; None where the trial isn't graded: that is no failure."""
    grades: tuple[GradeRow, ...] = ()
    judge: JudgeRow | None = None
    answer: str | None = None
    citations: tuple[str, ...] | None = None
    latency_seconds: float | None = Field(default=None, ge=0)
    usage: Usage | None = None
    """The target's own tokens; None where it reports none."""
    micro_dollars: int | None = Field(default=None, ge=0)
    """What the target spent; None where it isn't known."""


class SuiteResults(_Model):
    """A run of a suite: what `groundwire suite --out` writes and `groundwire gate` reads."""

    model_config = ConfigDict(populate_by_name=True)

    form: Literal["groundwire_suite_v1"] = Field(default="groundwire_suite_v1", alias="schema")
    suite: str
    version: str
    """Of the suite."""
    target: str
    """The dotted path or the file that was run."""
    fingerprint: str
    """Over graders and judge; results of different fingerprints are never compared."""
    cases: Mapping[str, str]
    """The digest of every case, by its id."""
    trials: int = Field(ge=1)
    k: int = Field(ge=1)
    """Of pass@k and pass^k."""
    judge: Mapping[str, JsonValue] | None = None
    """The judge's version; None where the suite has none."""
    groundwire_version: str
    started_at: datetime
    rows: tuple[TrialRow, ...]

    def of(self, purpose: Purpose) -> tuple[TrialRow, ...]:
        """The rows of that purpose."""
        return tuple(row for row in self.rows if row.purpose == purpose)


def suite_fingerprint(graders: Iterable[Mapping[str, JsonValue]], judge: Mapping[str, JsonValue] | None) -> str:
    """16 hex digits over what defines a pass and a judge's score."""
    text = json.dumps([list(graders), judge], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
