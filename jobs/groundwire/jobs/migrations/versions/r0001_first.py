"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None


def _time() -> sa.Text:
    return sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "counts",
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("hour", _time(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("evaluator", "hour", "reason"),
    )
    op.create_table(
        "cursors",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True),
        sa.Column("reached", _time(), nullable=True),
        sa.Column("moved_at", _time(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", _time(), nullable=True),
        sa.PrimaryKeyConstraint("source"),
    )
    op.create_table(
        "gaps",
        sa.Column("gap_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("starts_at", _time(), nullable=False),
        sa.Column("ends_at", _time(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("noted_at", _time(), nullable=False),
        sa.Column("closed_at", _time(), nullable=True),
        sa.PrimaryKeyConstraint("gap_id"),
    )
    op.create_index("gaps_by_time", "gaps", ["starts_at"])
    op.create_table(
        "judge_cache",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=True),
        sa.Column("created_at", _time(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("judge_cache_by_time", "judge_cache", ["created_at"])
    op.create_index("judge_cache_by_trace", "judge_cache", ["trace_id"], postgresql_using="hash")
    op.create_table(
        "outbox",
        sa.Column("score_key", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("score_name", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tried", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("not_before", _time(), nullable=False),
        sa.Column("claimed_until", _time(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("row_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("queued_at", _time(), nullable=False),
        sa.Column("delivered_at", _time(), nullable=True),
        sa.PrimaryKeyConstraint("score_key", "generation"),
    )
    op.create_index("outbox_by_row", "outbox", ["row_id"], postgresql_using="hash")
    op.create_index("outbox_by_run", "outbox", ["run_id"])
    op.create_index(
        "outbox_due",
        "outbox",
        ["not_before"],
        postgresql_where=sa.text("state = 'pending'"),
        sqlite_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "reservations",
        sa.Column("reservation_id", sa.Text(), nullable=False),
        sa.Column("micro_dollars", sa.BigInteger(), nullable=False),
        sa.Column("windows", sa.Text(), nullable=False),
        sa.Column("expired", sa.Boolean(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("trace_id", sa.Text(), nullable=True),
        sa.Column("made_at", _time(), nullable=False),
        sa.Column("expires_at", _time(), nullable=False),
        sa.PrimaryKeyConstraint("reservation_id"),
    )
    op.create_index("reservations_by_expiry", "reservations", ["expires_at"])
    op.create_table(
        "rows",
        sa.Column("row_id", sa.Text(), nullable=False),
        sa.Column("work_id", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("partition_type", sa.Text(), nullable=False),
        sa.Column("partition_id", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("metric_version", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("micro_dollars", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("inclusion", sa.Double(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at", _time(), nullable=False),
        sa.Column("trace_time", _time(), nullable=True),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("superseded_at", _time(), nullable=True),
        sa.Column("superseded_by", sa.Text(), nullable=True),
        sa.Column("text_pruned", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("row_id"),
    )
    op.create_index("rows_by_evaluator", "rows", ["evaluator", "created_at"])
    op.create_index("rows_by_time", "rows", ["created_at", "row_id"])
    op.create_index("rows_by_trace", "rows", ["trace_id"], postgresql_using="hash")
    op.create_index("rows_by_user", "rows", ["user_id"], postgresql_using="hash")
    op.create_index("rows_by_work", "rows", ["work_id", "content_hash"])
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=True),
        sa.Column("started_at", _time(), nullable=False),
        sa.Column("ended_at", _time(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("counts", sa.Text(), nullable=False),
        sa.Column("micro_dollars", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("run_id"),
    )
    op.create_index("runs_by_time", "runs", ["started_at"])
    op.create_table(
        "spend",
        sa.Column("window_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("per", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("starts_at", _time(), nullable=False),
        sa.Column("ends_at", _time(), nullable=True),
        sa.Column("cap", sa.BigInteger(), nullable=True),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", _time(), nullable=False),
        sa.PrimaryKeyConstraint("window_id"),
    )
    op.create_index("spend_by_time", "spend", ["starts_at"])
    op.create_table(
        "work",
        sa.Column("work_id", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("partition_type", sa.Text(), nullable=False),
        sa.Column("partition_id", sa.Text(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("inclusion", sa.Double(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.Column("rescore", sa.Boolean(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("not_before", _time(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=True),
        sa.Column("claimed_until", _time(), nullable=True),
        sa.Column("first_seen", _time(), nullable=False),
        sa.Column("changed_at", _time(), nullable=False),
        sa.PrimaryKeyConstraint("work_id"),
    )
    op.create_index("work_by_evaluator", "work", ["evaluator", "state"])
    op.create_index(
        "work_due",
        "work",
        ["not_before"],
        postgresql_where=sa.text("state IN ('pending', 'waiting', 'judging')"),
        sqlite_where=sa.text("state IN ('pending', 'waiting', 'judging')"),
    )
