"""What of a score's metadata quotes the trace, beside its comment."""

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"


def upgrade() -> None:
    """Add the column."""
    op.add_column("outbox", sa.Column("details", sa.Text(), nullable=True))
