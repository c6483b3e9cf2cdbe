"""What people said of answers: one JSON line an answer, as `groundwire label` writes it or anybody else may."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from groundwire.scorer import ConfigError, PartitionType, Row

__all__ = ["ClaimLabel", "HumanLabel", "RowIndex", "Verdict", "read_labels", "verdict_of"]

Verdict = Literal["hallucinated", "grounded"]

_HALLUCINATED = {"hallucinated": True, "matched": True, "grounded": False, "not_matched": False}
"""How the metrics' labels say that something is hallucinated, or that it isn't."""


class ClaimLabel(BaseModel):
    """What a person said of one claim."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    text: str = ""
    start: int | None = Field(default=None, ge=0)
    """Offsets in the answer, as in the row; a claim without them is found by its text."""
    end: int | None = Field(default=None, ge=0)
    label: Literal["hallucinated", "grounded", "supported", "inferred", "model_knowledge"]

    @property
    def verdict(self) -> Verdict:
        """All but `hallucinated` is grounded."""
        return "hallucinated" if self.label == "hallucinated" else "grounded"


class HumanLabel(BaseModel):
    """What a person said of one answer. One of `label`, `score` and `claims` must be there."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    row_id: str | None = None
    """The row that was looked at; or the partition, or the trace, where the answer isn't one row's."""
    partition_id: str | None = None
    partition_type: PartitionType | None = None
    trace_id: str | None = None
    label: Verdict | None = None
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    """The person's own number, in the metric's direction."""
    claims: tuple[ClaimLabel, ...] = ()
    reason: str = ""
    labeller: str = ""
    content_hash: str = ""
    """Of what was looked at; where it is known, a label isn't held against an answer that has changed since."""
    inclusion: float = Field(default=1.0, gt=0, le=1)
    """Probability with which the answer came to be labelled."""
    labelled_at: datetime | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.row_id or self.partition_id or self.trace_id):
            raise ValueError("needs row_id, partition_id or trace_id")
        if self.label is None and self.score is None and not self.claims:
            raise ValueError("needs label (hallucinated or grounded), score or claims")
        return self

    @property
    def key(self) -> tuple[str, str]:
        """What it is about: a later label of the same replaces it."""
        if self.partition_id:
            return (self.partition_type or "", self.partition_id)
        return ("row", self.row_id) if self.row_id else ("trace", self.trace_id or "")


def read_labels(path: Path) -> list[HumanLabel]:
    """The labels of a file, the last of each answer. Raises `ConfigError`, which names the line and repeats no text."""
    found: dict[tuple[str, str], HumanLabel] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    label = _read(line, f"{path}: line {number}")
                    found.pop(label.key, None)
                    found[label.key] = label
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; `groundwire label` writes labels") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text") from None
    if not found:
        raise ConfigError(f"{path} holds no labels; `groundwire label` writes them")
    return list(found.values())


def _read(line: str, where: str) -> HumanLabel:
    try:
        return HumanLabel.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{where}: {place + ': ' if place else ''}{message}") from None


def verdict_of(row: Row) -> Verdict | None:
    """The judge's verdict on a row; None where it gave none, or where the metric gives a number only."""
    said = _HALLUCINATED.get(row.label or "")
    if row.status != "scored" or said is None:
        return None
    return "hallucinated" if said else "grounded"


class RowIndex:
    """Rows by what labels call them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._by_row: dict[str, list[Row]] = {}
        self._by_partition: dict[str, list[Row]] = {}
        self._by_trace: dict[str, list[Row]] = {}
        for row in rows:
            self._by_row.setdefault(row.row_id, []).append(row)
            self._by_partition.setdefault(row.partition_id, []).append(row)
            self._by_trace.setdefault(row.trace_id, []).append(row)

    def rows_of(self, label: HumanLabel) -> Sequence[Row]:
        """The rows of the answer that a label is about, whatever judged it."""
        if label.partition_id:
            same = self._by_partition.get(label.partition_id, [])
            return [row for row in same if label.partition_type in (None, row.partition_type)]
        if label.row_id:
            first = self._by_row.get(label.row_id, [])
            return [
                row
                for known in first[:1]
                for row in self._by_partition[known.partition_id]
                if row.partition_type == known.partition_type
            ]
        return [row for row in self._by_trace.get(label.trace_id or "", []) if row.partition_type == "trace"]
