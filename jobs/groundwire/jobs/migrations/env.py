"""Alembic's entry: run the migrations on the connection that `store.migrate` hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="groundwire_version",
    render_as_batch=True,  # SQLite alters a table by copying it
)
with context.begin_transaction():
    context.run_migrations()
