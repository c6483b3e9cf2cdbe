"""The calibrations: how far each evaluator's judge agreed with people, and the rows that they were asked about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Connection, select

from groundwire.jobs.store.rows import StoredRow, history
from groundwire.jobs.store.schema import calibrations, identity, rows, work
from groundwire.scorer import Direction, PartitionType, Row

__all__ = [
    "JudgedTarget",
    "StoredCalibration",
    "add",
    "judged",
    "labelled",
    "latest",
    "list_calibrations",
    "origins",
    "targets",
]

CHUNK = 500
"""Ids in one query."""


@dataclass(frozen=True, kw_only=True)
class StoredCalibration:
    """A calibration as it is kept."""

    evaluator: str
    metric: str
    metric_version: str
    partition_type: PartitionType
    fingerprint: str
    judge: Mapping[str, JsonValue]
    """Its identity: kind, model, prompt digest, parameters."""
    n: int
    """Labels that `kappa` rests on."""
    kappa: float | None
    figures: Mapping[str, JsonValue]
    """Every figure, without a word of a trace or of a person."""
    made_at: datetime


def add(tx: Connection, calibration: StoredCalibration) -> None:
    """Keep a calibration; the same again is nothing."""
    values = {name: getattr(calibration, name) for name in StoredCalibration.__dataclass_fields__}
    moment = calibration.made_at.isoformat()
    key = identity(calibration.evaluator, calibration.partition_type, calibration.fingerprint, moment)
    known = tx.execute(select(calibrations.c.made_at).where(calibrations.c.calibration_id == key)).first()
    if known is None:
        tx.execute(calibrations.insert().values(calibration_id=key, **values))


def list_calibrations(tx: Connection, *, evaluator: str | None = None) -> list[StoredCalibration]:
    """The calibrations, the newest first."""
    columns = [calibrations.c[name] for name in StoredCalibration.__dataclass_fields__]
    statement = select(*columns).order_by(calibrations.c.made_at.desc(), calibrations.c.calibration_id)
    if evaluator is not None:
        statement = statement.where(calibrations.c.evaluator == evaluator)
    return [StoredCalibration(**row) for row in tx.execute(statement).mappings()]


def latest(tx: Connection, evaluator: str, fingerprint: str) -> StoredCalibration | None:
    """An evaluator's newest calibration of that configuration; where there is none, of any."""
    found = list_calibrations(tx, evaluator=evaluator)
    return next((one for one in found if one.fingerprint == fingerprint), found[0] if found else None)


def origins(tx: Connection, work_ids: Sequence[str]) -> dict[str, Mapping[str, JsonValue]]:
    """How a source fetches the traces of these pieces of work again, by work id."""
    found: dict[str, Mapping[str, JsonValue]] = {}
    for start in range(0, len(work_ids), CHUNK):
        some = work_ids[start : start + CHUNK]
        statement = select(work.c.work_id, work.c.origin).where(work.c.work_id.in_(some))
        found.update({row.work_id: row.origin for row in tx.execute(statement)})
    return found


def judged(tx: Connection, evaluator: str, fingerprint: str) -> Iterator[tuple[str, str, float | None, float]]:
    """Id, status, score and inclusion probability of the evaluator's current rows of a configuration."""
    columns = (rows.c.row_id, rows.c.status, rows.c.score, rows.c.inclusion)
    statement = select(*columns).where(
        rows.c.evaluator == evaluator,
        rows.c.fingerprint == fingerprint,
        rows.c.superseded_at.is_(None),
        rows.c.status.in_(("scored", "unknown")),
    )
    for row in tx.execute(statement.execution_options(yield_per=5_000)):
        yield tuple(row)


@dataclass(frozen=True, kw_only=True)
class JudgedTarget:
    """What a row is about, by the ids that a platform knows."""

    partition_id: str
    partition_type: PartitionType
    trace_id: str
    session_id: str | None
    span_id: str | None
    """The span that was judged; None of a trace or session."""
    direction: Direction


def targets(tx: Connection, evaluator: str, *, since: datetime, limit: int) -> list[JudgedTarget]:
    """What the evaluator judged since then and still stands, the newest first."""
    statement = (
        select(rows.c.body)
        .where(
            rows.c.evaluator == evaluator,
            rows.c.created_at >= since,
            rows.c.superseded_at.is_(None),
            rows.c.status.in_(("scored", "unknown")),
        )
        .order_by(rows.c.created_at.desc())
        .limit(limit)
    )
    return [_target(Row.model_validate_json(body)) for body in tx.scalars(statement)]


def _target(row: Row) -> JudgedTarget:
    return JudgedTarget(
        partition_id=row.partition_id,
        partition_type=row.partition_type,
        trace_id=row.trace_id,
        session_id=row.session_id,
        span_id=row.target_span_id,
        direction=row.direction,
    )


def labelled(
    tx: Connection,
    evaluator: str,
    *,
    row_ids: Sequence[str] = (),
    partition_ids: Sequence[str] = (),
    trace_ids: Sequence[str] = (),
) -> list[StoredRow]:
    """The evaluator's current rows of those partitions and traces, and of the partitions of those rows, old or new."""
    wanted: set[str] = set()
    for column, values in (
        (rows.c.row_id, row_ids),
        (rows.c.partition_id, partition_ids),
        (rows.c.trace_id, trace_ids),
    ):
        for start in range(0, len(values), CHUNK):
            statement = select(rows.c.work_id).where(
                column.in_(values[start : start + CHUNK]), rows.c.evaluator == evaluator
            )
            wanted.update(tx.scalars(statement))
    found: list[StoredRow] = []
    for work_id in sorted(wanted):
        found += [stored for stored in history(tx, work_id) if stored.superseded_at is None]
    return found
