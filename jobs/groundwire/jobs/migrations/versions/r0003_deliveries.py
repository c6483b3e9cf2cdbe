"""What webhooks delivered, until its traces are taken up."""

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"


def _time() -> sa.Text:
    return sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "deliveries",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("origins", sa.Text(), nullable=True),
        sa.Column("not_before", _time(), nullable=False),
        sa.Column("received_at", _time(), nullable=False),
        sa.Column("done_at", _time(), nullable=True),
        sa.PrimaryKeyConstraint("delivery_id"),
    )
    op.create_index(
        "deliveries_due",
        "deliveries",
        ["evaluator", "not_before"],
        postgresql_where=sa.text("done_at IS NULL"),
        sqlite_where=sa.text("done_at IS NULL"),
    )
