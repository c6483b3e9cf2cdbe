"""The state: what was read, judged, paid and delivered, in SQLite or PostgreSQL.

`open_store` gives a `Store`; the modules beside it hold the queries, one idea each. A query takes an open transaction,
so that several make one: `await store.write(cursors.advance, …)`, or a function that calls two of them.
"""

from groundwire.jobs.store.engine import Store, open_store

__all__ = ["Store", "open_store"]
