"""What judges were held against, and how far they agreed with people."""

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "calibrations",
        sa.Column("calibration_id", sa.Text(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("metric_version", sa.Text(), nullable=False),
        sa.Column("partition_type", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("kappa", sa.Double(), nullable=True),
        sa.Column("figures", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Text().with_variant(sa.TIMESTAMP(timezone=True), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("calibration_id"),
    )
    op.create_index("calibrations_by_evaluator", "calibrations", ["evaluator", "made_at"])
