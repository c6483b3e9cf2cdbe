"""The tables of the state, in SQLAlchemy Core: one schema for SQLite and PostgreSQL.

Money is integer micro-dollars. Times are UTC. Keys made of what platforms and users wrote are digests (`identity`), so
that no length or character of an id can break an index. Text from traces stands in `rows.body`, in `outbox.comment` and
`outbox.details` (until they are delivered), in `deliveries.body` (until it is read) and in `judge_cache.value`, and
nowhere else.
"""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TIMESTAMP, TypeDecorator, TypeEngine

__all__ = [
    "Foreign",
    "Insert",
    "Json",
    "Time",
    "calibrations",
    "counts",
    "cursors",
    "deliveries",
    "gaps",
    "identity",
    "insert_for",
    "judge_cache",
    "metadata",
    "outbox",
    "reservations",
    "rows",
    "runs",
    "spend",
    "work",
]

Insert = sqlite.Insert | postgresql.Insert
"""An INSERT that can say what to do on a conflict."""


class Time(TypeDecorator[datetime]):
    """A UTC moment: `timestamptz` on PostgreSQL; on SQLite ISO text of one width, which sorts by time."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """See SQLAlchemy's `TypeDecorator`."""
        return dialect.type_descriptor(TIMESTAMP(timezone=True) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Raises ValueError for a time without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time in the state needs a zone")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always in UTC, whatever zone the session has."""
        if value is None:
            return None
        return (value if dialect.name == "postgresql" else datetime.fromisoformat(value)).astimezone(UTC)


class Json(TypeDecorator[Any]):
    """JSON as compact text in raw Unicode; a lone surrogate, which no database stores, is escaped."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """NUL is always escaped by `json.dumps`."""
        if value is None:
            return None
        written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return written if _encodable(written) else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """See SQLAlchemy's `TypeDecorator`."""
        return None if value is None else json.loads(value)


class Foreign(TypeDecorator[str]):
    """Text that somebody else wrote: NUL and lone surrogates, which databases refuse, become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """See SQLAlchemy's `TypeDecorator`."""
        return None if value is None else _clean(value)


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _clean(value: str) -> str:
    cleaned = value.replace("\0", "\ufffd")
    if _encodable(cleaned):
        return cleaned
    return cleaned.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def identity(*parts: str) -> str:
    """A key of 40 hex digits for a tuple of names of any length and content (SHA-256, each part framed)."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:40]


def insert_for(dialect: str, table: Table) -> Insert:
    """An INSERT with `on_conflict_do_update` for a dialect, by its name; its result counts the rows that it changed."""
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    return statement.execution_options(preserve_rowcount=True)


metadata = MetaData()

cursors = Table(
    "cursors",
    metadata,
    Column("source", Foreign, primary_key=True, doc="Name of the source, or `backfill/<run id>`."),
    Column("cursor", Json, doc="Where to go on reading, in the connector's own form; NULL before the first page."),
    Column("reached", Time, doc="Everything the source had up to here is stored; it never goes back by itself."),
    Column("moved_at", Time, doc="When the cursor last moved."),
    Column("owner", Text, doc="The process that pulls this source; NULL where none does."),
    Column("lease_until", Time, doc="When the owner's claim lapses unless it is renewed."),
)

OPEN = "state IN ('pending', 'waiting', 'judging')"
"""Work that is still to be done; written out so that both databases can use the partial index."""

work = Table(
    "work",
    metadata,
    Column("work_id", Text, primary_key=True, doc="identity(evaluator, partition_type, partition_id)."),
    Column("evaluator", Foreign, nullable=False),
    Column("partition_type", Text, nullable=False, doc="span, trace or session."),
    Column("partition_id", Foreign, nullable=False),
    Column("trace_id", Foreign, nullable=False, doc="The trace to fetch; of a session, its last known one."),
    Column("session_id", Foreign),
    Column("origin", Json, nullable=False, doc="How the source fetches it again; ids only, no trace text."),
    Column("content_hash", Text, doc="Of the content last seen; NULL where only an id has arrived."),
    Column("state", Text, nullable=False, doc="pending, waiting (to settle), judging, done, skipped or error."),
    Column("reason", Foreign, doc="Why it waits, was skipped or failed: a word or a line without trace text."),
    Column("attempts", Integer, nullable=False, doc="Claims since its content last changed."),
    Column("revision", Integer, nullable=False, doc="Counts changes: a finish of an older revision leaves it open."),
    Column("inclusion", Double, nullable=False, doc="Probability, in (0, 1], with which sampling let it in."),
    Column("live", Boolean, nullable=False, doc="False for a backfill, which alone claims it and pays for it."),
    Column("rescore", Boolean, nullable=False, doc="True to judge the same content again under another configuration."),
    Column("run_id", Text, doc="The run that put it here."),
    Column("not_before", Time, nullable=False, doc="Not due before then: settle time or backoff."),
    Column("claim", Text, doc="Token of the worker that has it."),
    Column("claimed_until", Time, doc="When others may take it because that worker is gone."),
    Column("first_seen", Time, nullable=False, doc="Since when it has been open; `max_wait` counts from here."),
    Column("changed_at", Time, nullable=False, doc="When a change of it was last seen."),
    Index("work_due", "not_before", postgresql_where=text(OPEN), sqlite_where=text(OPEN)),
    Index("work_by_evaluator", "evaluator", "state"),
)

rows = Table(
    "rows",
    metadata,
    Column("row_id", Foreign, primary_key=True),
    Column("work_id", Text, nullable=False, doc="The evaluator's partition that it is about."),
    Column("evaluator", Foreign, nullable=False),
    Column("partition_type", Text, nullable=False),
    Column("partition_id", Foreign, nullable=False),
    Column("trace_id", Foreign, nullable=False),
    Column("session_id", Foreign),
    Column("user_id", Foreign, doc="The user of the trace, so that text can be pruned by user; NULL once pruned so."),
    Column("metric", Text, nullable=False),
    Column("metric_version", Text, nullable=False),
    Column("status", Text, nullable=False, doc="scored, unknown, invalid, skipped or error."),
    Column("reason", Foreign),
    Column("score", Double, doc="In [0, 1]; NULL unless scored."),
    Column("label", Foreign),
    Column("fingerprint", Text, nullable=False, doc="config_fingerprint: rows that differ in it are never pooled."),
    Column("model", Foreign, doc="The judge's model."),
    Column("micro_dollars", BigInteger, nullable=False, doc="What judging it cost."),
    Column("content_hash", Text, nullable=False, doc="Of what was judged: the done-set of (evaluator, partition)."),
    Column("inclusion", Double, nullable=False, doc="Probability, in (0, 1], with which sampling let it in."),
    Column("run_id", Text),
    Column("created_at", Time, nullable=False),
    Column("trace_time", Time, doc="When the trace or its last turn began."),
    Column("facts", Json, nullable=False, doc="Of the trace: environment, tags, release, model, latency, cost."),
    Column("superseded_at", Time, doc="When a later row took its place; NULL for the current one."),
    Column("superseded_by", Foreign, doc="The row that took its place."),
    Column("text_pruned", Boolean, nullable=False, doc="True where only hashes, labels and offsets are left."),
    Column("body", Foreign, nullable=False, doc="The whole row as JSON."),
    Index("rows_by_work", "work_id", "content_hash"),
    Index("rows_by_time", "created_at", "row_id"),
    Index("rows_by_evaluator", "evaluator", "created_at"),
    Index("rows_by_trace", "trace_id", postgresql_using="hash"),
    Index("rows_by_user", "user_id", postgresql_using="hash"),
)

calibrations = Table(
    "calibrations",
    metadata,
    Column("calibration_id", Text, primary_key=True),
    Column("evaluator", Foreign, nullable=False),
    Column("metric", Text, nullable=False),
    Column("metric_version", Text, nullable=False),
    Column("partition_type", Text, nullable=False),
    Column("fingerprint", Text, nullable=False, doc="config_fingerprint of the rows that were held against labels."),
    Column("judge", Json, nullable=False, doc="Its identity: kind, model, prompt digest, parameters."),
    Column("n", Integer, nullable=False, doc="Labels that the headline kappa rests on."),
    Column("kappa", Double, doc="The headline: per row, else of the numbers, else per claim; NULL where undefined."),
    Column("figures", Json, nullable=False, doc="Every figure, without a word of a trace or of a person."),
    Column("made_at", Time, nullable=False),
    Index("calibrations_by_evaluator", "evaluator", "made_at"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("delivery_id", Text, primary_key=True, doc="identity(evaluator, digest of the body)."),
    Column("evaluator", Foreign, nullable=False),
    Column("body", LargeBinary, doc="As it came; NULL once it was read."),
    Column("size", BigInteger, nullable=False, doc="Bytes of the body; 0 once it was read."),
    Column("origins", Json, doc="The traces that are still to be taken up, once it was read; ids and times only."),
    Column("not_before", Time, nullable=False, doc="Not due before then: a trace isn't there yet."),
    Column("received_at", Time, nullable=False),
    Column("done_at", Time, doc="When all of its traces were taken up."),
    Index(
        "deliveries_due",
        "evaluator",
        "not_before",
        postgresql_where=text("done_at IS NULL"),
        sqlite_where=text("done_at IS NULL"),
    ),
)

counts = Table(
    "counts",
    metadata,
    Column("evaluator", Foreign, primary_key=True),
    Column("hour", Time, primary_key=True, doc="Start of the hour."),
    Column("reason", Text, primary_key=True, doc="sampled_out, filtered, …: what leaves no row."),
    Column("n", BigInteger, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("score_key", Text, primary_key=True, doc="identity(project, target, evaluator, score_name)."),
    Column("generation", Integer, primary_key=True, doc="From 1; the next begins where a score was taken off."),
    Column("source", Foreign, nullable=False, doc="The source whose platform it goes to."),
    Column("project", Foreign, nullable=False),
    Column("target", Foreign, nullable=False, doc="What the score is attached to, in the connector's own form."),
    Column("evaluator", Foreign, nullable=False),
    Column("score_name", Foreign, nullable=False),
    Column("action", Text, nullable=False, doc="put, or delete to take the score off the platform."),
    Column("payload", Json, nullable=False, doc="What the connector needs to write or delete it, without the comment."),
    Column("comment", Foreign, doc="The score's comment, which quotes the trace; NULL once delivered."),
    Column("details", Json, doc="Metadata that quotes the trace; NULL once delivered."),
    Column("digest", Text, nullable=False, doc="Of all that is written: the same again is not sent again."),
    Column("revision", Integer, nullable=False, doc="Counts changes: a delivery of an older one leaves it pending."),
    Column("state", Text, nullable=False, doc="pending, sent or dead."),
    Column("tried", Boolean, nullable=False, doc="True once any delivery was begun: it may be on the platform."),
    Column("attempts", Integer, nullable=False, doc="Deliveries begun of this revision."),
    Column("not_before", Time, nullable=False, doc="Not due before then: backoff."),
    Column("claimed_until", Time, doc="When others may deliver it because that worker is gone."),
    Column("error", Foreign, doc="Why the last delivery failed, in one line."),
    Column("row_id", Foreign, doc="The row that it tells of."),
    Column("run_id", Text, doc="The run that wrote it."),
    Column("queued_at", Time, nullable=False),
    Column("delivered_at", Time),
    Index(
        "outbox_due",
        "not_before",
        postgresql_where=text("state = 'pending'"),
        sqlite_where=text("state = 'pending'"),
    ),
    Index("outbox_by_run", "run_id"),
    Index("outbox_by_row", "row_id", postgresql_using="hash"),
)

spend = Table(
    "spend",
    metadata,
    Column("window_id", Text, primary_key=True, doc="identity(scope, name, per, key)."),
    Column("scope", Text, nullable=False, doc="evaluator, backfill or global."),
    Column("name", Foreign, nullable=False, doc="The evaluator; empty for global."),
    Column("per", Text, nullable=False, doc="trace, run, hour, day, week or month."),
    Column("key", Foreign, nullable=False, doc="Start of the window (ISO), or the run, or the run and trace."),
    Column("starts_at", Time, nullable=False, doc="Start of the window; of a trace or run, its first call."),
    Column("ends_at", Time, doc="End of the window, exclusive; NULL for a trace or a run."),
    Column("cap", BigInteger, doc="Micro-dollars, as last applied; NULL where there is none."),
    Column("spent", BigInteger, nullable=False, doc="Micro-dollars booked."),
    Column("reserved", BigInteger, nullable=False, doc="Micro-dollars held for calls under way."),
    Column("updated_at", Time, nullable=False),
    Index("spend_by_time", "starts_at"),
)

reservations = Table(
    "reservations",
    metadata,
    Column("reservation_id", Text, primary_key=True),
    Column("micro_dollars", BigInteger, nullable=False, doc="The worst case that is held."),
    Column("windows", Json, nullable=False, doc="The window_ids that hold it."),
    Column("expired", Boolean, nullable=False, doc="True once it was booked as spent because nobody settled it."),
    Column("evaluator", Foreign, nullable=False),
    Column("run_id", Text),
    Column("trace_id", Foreign),
    Column("made_at", Time, nullable=False),
    Column("expires_at", Time, nullable=False),
    Index("reservations_by_expiry", "expires_at"),
)

judge_cache = Table(
    "judge_cache",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Foreign, nullable=False, doc="A judge's reply, which may quote the trace."),
    Column("trace_id", Foreign, doc="The trace that it was first made for, so that it can be pruned by trace."),
    Column("created_at", Time, nullable=False),
    Index("judge_cache_by_time", "created_at"),
    Index("judge_cache_by_trace", "trace_id", postgresql_using="hash"),
)

runs = Table(
    "runs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("command", Text, nullable=False, doc="run, backfill, …"),
    Column("args", Json, nullable=False, doc="What it was asked, without secrets."),
    Column("evaluator", Foreign),
    Column("started_at", Time, nullable=False),
    Column("ended_at", Time, doc="NULL while it runs, and for one that was killed."),
    Column("outcome", Text, nullable=False, doc="running, done, stopped or failed."),
    Column("counts", Json, nullable=False, doc="Rows by status, and what else the run counted."),
    Column("micro_dollars", BigInteger, nullable=False, doc="What it spent."),
    Column("message", Foreign, doc="One line for the user."),
    Index("runs_by_time", "started_at"),
)

gaps = Table(
    "gaps",
    metadata,
    Column("gap_id", Text, primary_key=True, doc="identity(source, evaluator, why, key)."),
    Column("source", Foreign, nullable=False),
    Column("evaluator", Foreign, nullable=False, doc="Empty where all of the source's evaluators missed it."),
    Column("why", Text, nullable=False, doc="outage, cap or lag."),
    Column("key", Foreign, nullable=False, doc="What makes it one gap: the spending window, the outage's start."),
    Column("starts_at", Time, nullable=False, doc="Trace time from which it was not covered."),
    Column("ends_at", Time, nullable=False, doc="Trace time up to which it was not covered."),
    Column("n", BigInteger, nullable=False, doc="Partitions known to be skipped; 0 where nobody can know."),
    Column("noted_at", Time, nullable=False, doc="When it last grew."),
    Column("closed_at", Time, doc="When a backfill took it up."),
    Index("gaps_by_time", "starts_at"),
)
