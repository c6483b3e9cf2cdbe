"""What the line asks of its state costs the same however much is in it: no statement reads a growing table whole."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.flow.child import main
from tests.flow.test_killed import prepare

GROWING = ("work", "rows", "outbox", "judge_cache", "reservations", "spend")


@pytest.fixture
def asked() -> Iterator[dict[str, Any]]:
    """The statements that are run meanwhile, each with one set of parameters."""
    found: dict[str, Any] = {}

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: bool) -> None:
        found.setdefault(statement, parameters[0] if many else parameters)

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


async def test_no_statement_reads_a_growing_table_whole(tmp_path: Path, asked: dict[str, Any]) -> None:
    path = tmp_path / "state.db"
    prepare(tmp_path)
    for attempt in range(2):
        await main(tmp_path, f"sqlite:///{path}", attempt, "none", 0)
    with sqlite3.connect(path) as state:
        plans = {
            statement: [step[3] for step in state.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in asked.items()
            if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")) and "alembic" not in statement
        }
    for table in GROWING:
        assert any(statement.startswith(f"INSERT INTO {table} ") for statement in plans), table
    whole = [
        (step, statement)
        for statement, steps in plans.items()
        for step in steps
        if step.startswith("SCAN") and step.split()[1] in GROWING and "_due" not in step
    ]
    assert whole == []
