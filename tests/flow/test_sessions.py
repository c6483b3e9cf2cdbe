"""Sessions through the whole line: judged once they are idle, again when they resume, each score kept."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from pydantic import JsonValue
from tests.connectors import langfuse_app, langsmith_app
from tests.connectors.langfuse_app import LangfuseApp
from tests.connectors.langfuse_rows import row_of_span, trace_fields
from tests.connectors.langsmith_app import LangsmithApp
from tests.connectors.langsmith_runs import run_of_span
from tests.flow.langsmith_rig import GENERATIONS

from groundwire.jobs.backfill import Backfill, run_backfill
from groundwire.jobs.backfill import Span as Past
from groundwire.jobs.plan import make_plan
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.store import rows
from groundwire.jobs.store.rows import RowQuery, StoredRow
from groundwire.jobs.trial import try_evaluator
from groundwire.scorer import ConfigError, Message, Span, TextPart

NAME = "chat-groundedness"
QUESTION = "How long can I return electronics?"
POLICY: JsonValue = {"policy": "Electronics can be returned within 30 days."}
TRUE, FALSE = "Electronics can be returned within 30 days.", "Electronics can be returned within 90 days."


def turn(session: str, number: int, question: str, answer: str, *, end: datetime, looks: bool = True) -> list[Span]:
    """One trace of a session: a question, what a tool knew, and an answer."""
    trace_id = str(uuid5(NAMESPACE_URL, f"{session} {number}"))
    named = {name: str(uuid5(NAMESPACE_URL, f"{trace_id} {name}")) for name in ("root", "tool")}
    begin = end - timedelta(seconds=4)
    asked = Message(role="user", parts=(TextPart(content=question),))
    said = Message(role="assistant", parts=(TextPart(content=answer),))
    root = Span(
        span_id=named["root"], trace_id=trace_id, kind="AGENT", name="shop", start_time=begin, end_time=end,
        status="ok",         input_messages=(asked,), output_messages=(said,),
    )  # fmt: skip
    tool = Span(
        span_id=named["tool"], trace_id=trace_id, parent_id=root.span_id, kind="TOOL", name="get_policy",
        tool_name="get_policy", start_time=begin + timedelta(seconds=1), end_time=begin + timedelta(seconds=2),
        status="ok", input={"category": "electronics"}, output=POLICY,
    )  # fmt: skip
    return [root, tool] if looks else [root]


@dataclass
class Platform:
    """A loopback platform with sessions."""

    app: Any
    source: dict[str, Any]

    def put(self, spans: list[Span], *, session: str) -> str:
        if isinstance(self.app, LangfuseApp):
            about = trace_fields(
                {"traceName": "shop", "environment": "production", "sessionId": session, "metadata": {}}
            )
            for span in spans:
                self.app.put({**row_of_span(span), **about})
        else:
            for span in spans:
                run = run_of_span(span, root_id=spans[0].span_id)
                run["extra"] = {"metadata": {**run.get("extra", {}).get("metadata", {}), "thread_id": session}}
                self.app.put(run)
        return spans[0].trace_id

    def shown(self) -> list[tuple[str, float, str]]:
        """Session, value and comment of every score that stands there."""
        if isinstance(self.app, LangfuseApp):
            kept = [one for one in self.app.shown() if one["name"] == NAME]
            assert all(one.get("traceId") is None for one in kept)
            return [(one["sessionId"], one["value"], one["comment"]) for one in kept]
        return [
            (one["extra"]["thread_id"], one["score"], one["comment"]) for one in self.app.shown() if one["key"] == NAME
        ]


Served = Callable[[Any], AbstractContextManager[str]]


@pytest.fixture(params=["langfuse", "langfuse-4.16", "langsmith"])
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    if request.param == "langsmith":
        smith = LangsmithApp(**GENERATIONS["v2"])
        with langfuse_app.served(smith) as url:
            where = {"platform": "langsmith", "host": url, "api_key": langsmith_app.API_KEY, "project": "support"}
            yield Platform(smith, {**where, "queries": 10_000, "settle": 0, "lateness": 3600})
        return
    fuse = LangfuseApp(version="4.16.0" if "4.16" in request.param else "4.75.0")
    with langfuse_app.served(fuse) as url:
        keys = {"public_key": langfuse_app.PUBLIC_KEY, "secret_key": langfuse_app.SECRET_KEY}
        yield Platform(fuse, {"platform": "langfuse", "host": url, **keys, "settle": 0, "lateness": 3600})


def configured(folder: Path, platform: Platform, **spec: Any) -> Settings:
    evaluator = {
        "name": NAME, "source": "prod", "metric": "conversation.hallucination", "level": "session", "settle": 0,
        "idle": "10m", **spec,
    }  # fmt: skip
    state = {"url": f"sqlite:///{folder / 'state.db'}"}
    return Settings.model_validate({"sources": {"prod": platform.source}, "evaluators": [evaluator], "state": state})


async def run_once(settings: Settings, *, ahead: timedelta = timedelta(0)) -> tuple[Runner, list[StoredRow]]:
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead) as service:
        runner = Runner(service, [await service.evaluator(settings.evaluator(NAME))], run_id="run-1")
        await runner.once()
        assert runner.failed == {}
        assert runner.stopped == {}
        found: list[StoredRow] = []
        async for page in rows.pages(service.store, RowQuery()):
            found += page
        return runner, found


async def test_a_session_is_scored_when_it_is_idle_and_again_when_it_resumes(
    platform: Platform, tmp_path: Path
) -> None:
    settings = configured(tmp_path, platform)
    await run_once(settings, ahead=timedelta(minutes=-5))  # it begins here
    now = datetime.now(UTC)
    platform.put(turn("chat-1", 1, "Hello", "Hello!", end=now - timedelta(seconds=120), looks=False), session="chat-1")
    platform.put(turn("chat-1", 2, QUESTION, FALSE, end=now - timedelta(seconds=60)), session="chat-1")
    platform.put(turn("chat-2", 1, QUESTION, TRUE, end=now - timedelta(seconds=50)), session="chat-2")

    _, early = await run_once(settings)
    assert early == []
    assert platform.shown() == []

    _, found = await run_once(settings, ahead=timedelta(minutes=11))
    assert sorted((row.row.session_id, row.row.score, row.row.label) for row in found) == [
        ("chat-1", 1.0, "hallucinated"),
        ("chat-2", 0.0, "grounded"),
    ]
    assert {row.row.partition_type for row in found} == {"session"}
    scores = sorted(platform.shown())
    assert [(session, value) for session, value, _ in scores] == [("chat-1", 1.0), ("chat-2", 0.0)]
    assert scores[0][2].startswith(f"hallucinated · {FALSE}\n")

    _, again = await run_once(settings, ahead=timedelta(minutes=12))
    assert len(again) == 2
    assert len(platform.shown()) == 2

    later = datetime.now(UTC) - timedelta(seconds=1)
    platform.put(turn("chat-1", 3, "Are you sure?", TRUE, end=later, looks=False), session="chat-1")
    _, before_idle = await run_once(settings, ahead=timedelta(minutes=9))
    assert len(before_idle) == 2
    _, resumed = await run_once(settings, ahead=timedelta(minutes=13))
    assert sorted((row.row.session_id, row.row.score) for row in resumed) == [
        ("chat-1", 0.0), ("chat-1", 1.0), ("chat-2", 0.0),
    ]  # fmt: skip
    assert sorted((session, value) for session, value, _ in platform.shown()) == [
        ("chat-1", 0.0), ("chat-1", 1.0), ("chat-2", 0.0),
    ]  # fmt: skip


async def test_what_is_already_judged_is_not_fetched_again(platform: Platform, tmp_path: Path) -> None:
    settings = configured(tmp_path, platform, idle=0)
    await run_once(settings, ahead=timedelta(minutes=-5))
    end = datetime.now(UTC) - timedelta(seconds=30)
    platform.put(turn("chat-1", 1, QUESTION, TRUE, end=end), session="chat-1")
    _, found = await run_once(settings)
    assert [row.row.status for row in found] == ["scored"]
    runner, again = await run_once(settings, ahead=timedelta(seconds=30))
    assert len(again) == 1
    assert (runner.total.enqueued, runner.total.by_status) == (0, {})


async def test_a_trace_of_no_session_is_let_by(platform: Platform, tmp_path: Path) -> None:
    settings = configured(tmp_path, platform, idle=0)
    await run_once(settings, ahead=timedelta(minutes=-5))
    spans = turn("none", 1, QUESTION, TRUE, end=datetime.now(UTC) - timedelta(seconds=30))
    if isinstance(platform.app, LangfuseApp):
        for span in spans:
            platform.app.put({**row_of_span(span), **trace_fields({"traceName": "shop", "metadata": {}})})
    else:
        for span in spans:
            platform.app.put(run_of_span(span, root_id=spans[0].span_id))
    runner, found = await run_once(settings)
    assert found == []
    assert runner.total.filtered == {NAME: 1}


async def test_history_is_planned_tried_and_backfilled_a_session_once(platform: Platform, tmp_path: Path) -> None:
    settings = configured(tmp_path, platform)
    old = datetime.now(UTC) - timedelta(days=1)
    platform.put(turn("chat-1", 1, "Hello", "Hello!", end=old, looks=False), session="chat-1")
    platform.put(turn("chat-1", 2, QUESTION, FALSE, end=old + timedelta(seconds=60)), session="chat-1")
    platform.put(turn("chat-2", 1, QUESTION, TRUE, end=old + timedelta(seconds=90)), session="chat-2")
    spec = settings.evaluator(NAME)
    window = Past(start=old - timedelta(hours=1), end=old + timedelta(hours=1))
    asked = Backfill(evaluator=spec, spans=(window,))

    async def backfill() -> dict[str, int]:
        async with open_service(settings) as service:
            made = await service.evaluator(spec, live=False)
            total, _, finished = await run_backfill(service, asked, made, told=lambda *_: None)
            assert finished
            return total.by_status

    async with open_service(settings) as service:
        plan = await make_plan(service, asked)
        assert (plan.partitions, plan.to_judge, plan.already) == (2, 2, 0)
        trial = await try_evaluator(service, spec, n=5)
        assert sorted((row.session_id, row.score) for row in trial.rows) == [("chat-1", 1.0), ("chat-2", 0.0)]
    assert platform.shown() == []
    assert await backfill() == {"scored": 2}
    assert sorted((session, value) for session, value, _ in platform.shown()) == [("chat-1", 1.0), ("chat-2", 0.0)]
    assert await backfill() == {}
    assert len(platform.shown()) == 2
    async with open_service(settings) as service:
        assert (await make_plan(service, asked)).already == 2


async def test_a_source_without_sessions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    files = Platform(None, {"platform": "files", "path": str(tmp_path / "traces" / "*.jsonl")})
    settings = configured(tmp_path, files)
    async with open_service(settings) as service:
        with pytest.raises(ConfigError, match=f"evaluators.{NAME}.level: files tells no sessions"):
            await service.evaluator(settings.evaluator(NAME))
