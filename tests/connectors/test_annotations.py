"""What people said is read from the platforms: by name, page by page, and nothing that a judge said."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from tests.connectors.langfuse_app import LangfuseApp, served
from tests.connectors.langfuse_rows import NOON, Clock, settings_for, wire_for
from tests.connectors.langsmith_runs import settings_for as langsmith_settings
from tests.connectors.langsmith_runs import wire_for as langsmith_wire
from tests.connectors.test_langsmith_reading import loopback

from groundwire.connectors import Annotation, Annotations
from groundwire.connectors.connector import Connector, SourceSettings
from groundwire.connectors.files import connector as files
from groundwire.connectors.langfuse import langfuse
from groundwire.connectors.langfuse.annotations import LangfuseAnnotations
from groundwire.connectors.langsmith.annotations import LangsmithAnnotations
from groundwire.scorer import ConfigError, GiveUp

SINCE = NOON - timedelta(days=30)


async def read(reader: Annotations, name: str = "people", *, among: tuple[str, ...] = ()) -> list[Annotation]:
    try:
        return [one async for one in reader.annotations(name, since=SINCE, among=among)]
    finally:
        await reader.close()


def put(app: LangfuseApp, value: Any, *, source: str = "ANNOTATION", days: float = 1.0, **more: Any) -> None:
    score_id = str(uuid.uuid4())
    score = {"id": score_id, "name": "people", "value": value, **more}
    app._store(score, (NOON - timedelta(days=days)).isoformat())
    for stored in app.scores.values():
        if stored["id"] == score_id:
            stored["source"] = source


async def test_annotation_scores_of_langfuse_are_read_by_name_and_a_judges_are_left_out() -> None:
    clock = Clock(NOON)
    app = LangfuseApp(clock=clock)
    put(app, "hallucinated", traceId="t1", comment="the price is wrong", days=3)
    put(app, 1, traceId="t2", observationId="o2", dataType="BOOLEAN", days=2)
    put(app, 0.5, sessionId="s1", days=1)
    put(app, "grounded", traceId="t4", source="API", metadata={"row_id": "r", "labeller": "ada"}, days=0.5)
    put(app, 0.9, traceId="t5", source="API", metadata={"row_id": "r", "config_fingerprint": "f"})
    put(app, 0.9, traceId="t6", source="EVAL")
    put(app, "hallucinated", traceId="t7", days=40)
    put(app, "hallucinated", traceId="t8", name="another")
    with served(app) as url:
        settings = settings_for(url)
        found = await read(LangfuseAnnotations(settings, wire=wire_for(settings, clock)))
    assert found == [
        Annotation(trace_id="t4", value="grounded"),
        Annotation(session_id="s1", value=0.5),
        Annotation(trace_id="t2", span_id="o2", value=True),
        Annotation(trace_id="t1", value="hallucinated", comment="the price is wrong"),
    ]


async def test_many_annotation_scores_are_read_page_by_page() -> None:
    clock = Clock(NOON)
    app = LangfuseApp(clock=clock)
    for number in range(230):
        put(app, "grounded", traceId=f"t{number}")
    with served(app) as url:
        settings = settings_for(url)
        found = await read(LangfuseAnnotations(settings, wire=wire_for(settings, clock)))
    assert {one.trace_id for one in found} == {f"t{number}" for number in range(230)}
    assert len(found) == 230


async def test_a_server_that_gives_scores_by_id_only_is_said_to_be_too_old() -> None:
    clock = Clock(NOON)
    with served(LangfuseApp(clock=clock, version="3.100.0", mode="v3")) as url:
        settings = settings_for(url)
        with pytest.raises(GiveUp, match="gives scores by id only; label in a file"):
            await read(LangfuseAnnotations(settings, wire=wire_for(settings, clock)))


def feedback(number: int, source: str = "app", **more: Any) -> dict[str, Any]:
    made = (NOON - timedelta(days=more.pop("days", 1))).isoformat()
    run_id = more.pop("run_id", f"run-{number}")
    return {
        "id": f"f{number}",
        "run_id": run_id,
        "trace_id": run_id,
        "key": "people",
        "created_at": made,
        "modified_at": made,
        "feedback_source": {"type": source, "metadata": None, "user_name": "Ada"},
        **more,
    }


async def test_feedback_and_corrections_of_langsmith_are_read_and_a_models_are_left_out() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        app.feedback += [
            feedback(1, score=0, comment="the price is wrong"),
            feedback(2, value="grounded"),
            feedback(3, "model", score=0.9, correction={"score": 0.0}),
            feedback(4, "model", score=0.9),
            feedback(5, "auto_eval", score=0.9),
            feedback(6, "model", value="grounded", extra={"row_id": "r", "labeller": "ada"}),
            feedback(7, score=1, days=40),
            feedback(8, score=1, key="another"),
            feedback(9, score=1),
            feedback(10, value={"a": 1}),
        ]
        settings = langsmith_settings(url)
        among = tuple(f"run-{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 10))
        found = await read(LangsmithAnnotations(settings, wire=langsmith_wire(settings, clock)), among=among)
    assert [(one.trace_id, one.value, one.comment) for one in found] == [
        ("run-1", 0, "the price is wrong"),
        ("run-2", "grounded", ""),
        ("run-3", 0.0, ""),
        ("run-6", "grounded", ""),
    ]
    assert {one.author for one in found} == {"Ada"}


async def test_many_runs_are_asked_about_in_short_requests() -> None:
    clock = Clock(NOON)
    with loopback(clock) as (app, url):
        app.feedback += [feedback(number, score=1) for number in range(120)]
        app.feedback += [feedback(1000 + number, score=1, run_id="run-1") for number in range(150)]
        settings = langsmith_settings(url)
        among = tuple(f"run-{number}" for number in range(120))
        found = await read(LangsmithAnnotations(settings, wire=langsmith_wire(settings, clock)), among=among)
    assert len(found) == 270


def test_a_platform_without_people_says_so() -> None:
    assert isinstance(files, Connector)
    with pytest.raises(ConfigError, match='the platform "files" gives no labels of people'):
        files.build_annotations({"path": "traces.jsonl"})
    settings: dict[str, object] = {"host": "http://127.0.0.1:1", "public_key": "pk", "secret_key": "sk"}
    assert isinstance(langfuse.build_annotations(settings), LangfuseAnnotations)
    assert issubclass(langfuse.settings, SourceSettings)
