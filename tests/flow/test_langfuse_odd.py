"""Odd rows of a Langfuse project through the whole line: each trace ends in a row that says what is true."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.langfuse_app import LangfuseApp, served
from tests.connectors.langfuse_rows import agent_trace, row
from tests.flow.test_langfuse_line import NAME, configured, run_once

from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.store import rows
from groundwire.jobs.store.rows import RowQuery, StoredRow

ODD = "a/b ü%20\u2028"
GENERATIONS = {"v2": ("4.75.0", "events_only"), "older": ("3.150.0", "v3")}


class Project:
    """Traces of an agent that says what its tool says, each with one oddity."""

    def __init__(self, app: LangfuseApp) -> None:
        self.app = app
        self.end = datetime.now(UTC) - timedelta(seconds=30)
        self.begin = self.end - timedelta(seconds=5)
        self.numbers = iter(range(1, 1000))

    def put(self, **root: Any) -> tuple[str, str]:
        """A trace, and its root's id; what is given replaces what its root holds."""
        number = next(self.numbers)
        trace_id, root_id = agent_trace(self.app, number, end=self.end), f"{number:012x}0000"
        if root:
            self.change(trace_id, root_id, **root)
        return trace_id, root_id

    def change(self, trace_id: str, span_id: str, **fields: Any) -> None:
        self.app.put({**self.app._stored(trace_id, span_id), **fields})

    def add(self, trace_id: str, span_id: str, *, parent: str | None, **fields: Any) -> None:
        start = self.begin + timedelta(seconds=2)
        self.app.put(row(trace_id, span_id, start=start, parent=parent, **{"environment": "production", **fields}))


def settings_of(folder: Path, url: str) -> Settings:
    settings = configured(folder, url)
    spec = settings.evaluators[0].model_copy(update={"where": type(settings.evaluators[0].where)()})
    return settings.model_copy(update={"evaluators": (spec,)})


async def stored(settings: Settings) -> Mapping[str, StoredRow]:
    async with open_service(settings) as service:
        return {one.row.trace_id: one async for page in rows.pages(service.store, RowQuery()) for one in page}


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_every_oddity_ends_in_a_true_row(generation: str, tmp_path: Path) -> None:
    version, mode = GENERATIONS[generation]
    app = LangfuseApp(version=version, mode=mode)
    with served(app) as url:
        settings = settings_of(tmp_path, url)
        await run_once(settings, ahead=timedelta(minutes=-5))
        project = Project(app)
        plain, _ = project.put()
        null, _ = project.put(input=None, output=None)
        broken, _ = project.put(input="not {json")
        silent, root_id = project.put(output=None)
        project.change(silent, root_id[:-4] + "ffff", output=None)
        unknown, root_id = project.put()
        project.add(unknown, "new", parent=root_id, type="HOLOGRAM", name="n" * 900, input="[1, 2")
        orphaned, _ = project.put()
        project.add(orphaned, "orphan", parent="never", type="TOOL", name="lookup", output='{"x": 1}')
        twofold, _ = project.put()
        project.add(twofold, "second", parent=None, isRootObservation=True, type="AGENT", name="other", output="Yes.")
        costly, root_id = project.put()
        project.add(costly, "cost", parent=root_id, type="GENERATION", usageDetails={"input": "NaN", "output": 3})
        elsewhere, _ = project.put(environment="Bad Env!")
        project.app.put(
            row(ODD, "r/1 ?#", start=project.begin, seconds=4, type="AGENT", name="n" * 900, output="Order 7 shipped.")
        )
        project.add(ODD, "t/1", parent="r/1 ?#", type="TOOL", name="find", output='{"order": 7, "status": "shipped"}')
        huge, root_id = project.put()
        project.add(huge, "huge", parent=root_id, type="TOOL", name="dump", output="x" * 9_000_000)
        aside, root_id = project.put()
        project.add(aside, "aside", parent=root_id, type="CHAIN", name="state", output="x" * 9_000_000)
        late = "late-root"
        project.add(late, "t", parent="r", type="TOOL", name="find", output='{"order": 8, "status": "shipped"}')
        await run_once(settings)
        found = await stored(settings)

        scored = {plain, null, broken, unknown, orphaned, costly, elsewhere, ODD}
        assert {trace_id for trace_id, one in found.items() if one.row.status == "scored"} == scored | (
            {aside} if generation == "v2" else set()
        )
        assert {found[trace_id].row.score for trace_id in scored} == {1.0}
        assert (found[silent].row.status, found[silent].row.reason) == ("unknown", "no_answer")
        assert (found[twofold].row.status, found[twofold].row.reason) == ("invalid", "several_roots")
        assert "missing_parents" in found[orphaned].row.flags
        assert found[costly].facts["tokens"] is not None
        assert "NaN" not in json.dumps(found[costly].facts)
        assert late not in found, "its root is still missing"

        unread = [(found[trace_id].row.status, found[trace_id].row.reason) for trace_id in (huge,)]
        assert unread == [("unknown", "incomplete")]
        assert "body_too_large" in found[huge].row.flags
        assert "body_too_large" in found[aside].row.flags
        if generation == "v2":
            assert "what dump held" in found[huge].row.explanation

        shown = {score["traceId"]: score for score in app.shown() if score["name"] == NAME}
        assert {trace_id for trace_id, one in found.items() if one.row.score is not None} == set(shown)
        assert shown[ODD]["observationId"] == "r/1 ?#"
        assert (shown[elsewhere]["environment"], shown[elsewhere]["metadata"]["environment"]) == ("default", "Bad Env!")

        root = row(late, "r", start=project.begin, seconds=4, type="AGENT", name="agent", output="Order 8 shipped.")
        app.put({**root, "environment": "production"})
        await run_once(settings)
        assert (await stored(settings))[late].row.score == 1.0
