"""The whole line on the loopback Langfuse: every score right and once, across runs, restarts, days and late spans."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import row_of_span, trace_fields

from groundwire.connectors import Trace
from groundwire.connectors.testing import Sample, make_sample
from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.flow import Progress
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings

NAME = "support-groundedness"


@pytest.fixture(params=["4.75.0", "4.16.0"])
def app(request: pytest.FixtureRequest) -> Iterator[tuple[LangfuseApp, str]]:
    app = LangfuseApp(version=request.param)
    with served(app) as url:
        yield app, url


def configured(folder: Path, url: str) -> Settings:
    source = {"platform": "langfuse", "host": url, "public_key": PUBLIC_KEY, "secret_key": SECRET_KEY, "settle": 0}
    return Settings.model_validate(
        {
            "sources": {"prod": {**source, "lateness": 3600}},
            "evaluators": [{"name": NAME, "source": "prod", "settle": 0, "where": {"environment": "production"}}],
            "state": {"url": f"sqlite:///{folder / 'state.db'}"},
        }
    )


def put(app: LangfuseApp, trace: Trace) -> None:
    about = trace_fields(
        {"traceName": trace.name, "environment": trace.environment, "tags": list(trace.tags), "metadata": {}}
    )
    for span in trace.spans:
        app.put({**row_of_span(span), **about})


def samples(count: int, *, ended: datetime) -> list[Sample]:
    kinds = ("grounded", "hallucinated", "grounded", "invalid")
    return [
        make_sample(index, seed=5, kind=kinds[index % 4], end=ended - timedelta(seconds=index))  # type: ignore[arg-type]
        for index in range(count)
    ]


async def run_once(settings: Settings, *, deliver: bool = True, ahead: timedelta = timedelta(0)) -> Runner:
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead) as service:
        runner = Runner(service, [await service.evaluator(settings.evaluator(NAME))], run_id="run-1")
        await (runner.once() if deliver else runner.poll("prod"))
        assert runner.failed == {}
        assert runner.stopped == {}
        return runner


def shown(app: LangfuseApp) -> dict[str, Any]:
    found = [(score["traceId"], score["value"]) for score in app.shown() if score["name"] == NAME]
    assert len(found) == len(dict(found)), "a trace bears two scores"
    return dict(found)


def expected(all_samples: Sequence[Sample]) -> dict[str, Any]:
    return {sample.trace.trace_id: sample.score for sample in all_samples if sample.score is not None}


async def test_new_traces_are_scored_once_across_runs_and_a_process_that_died_before_it_delivered(
    app: tuple[LangfuseApp, str], tmp_path: Path
) -> None:
    platform, url = app
    settings = configured(tmp_path, url)
    await run_once(settings, ahead=timedelta(minutes=-5))  # it begins here: what ended before is history
    fresh = samples(8, ended=datetime.now(UTC) - timedelta(seconds=5))
    [history] = [make_sample(99, end=datetime.now(UTC) - timedelta(minutes=20))]
    for sample in (*fresh, history):
        put(platform, sample.trace)
    await run_once(settings, deliver=False)
    assert shown(platform) == {}
    await run_once(settings)
    assert shown(platform) == expected(fresh)
    again = await run_once(settings)
    assert again.total.by_status == {}
    assert again.delivered.delivered == 0
    roots = {score["observationId"] for score in platform.shown()}
    assert roots == {sample.trace.spans[0].span_id for sample in fresh if sample.score is not None}


async def test_history_is_backfilled_once_and_a_late_span_a_day_later_changes_the_same_score(
    app: tuple[LangfuseApp, str], tmp_path: Path
) -> None:
    platform, url = app
    settings = configured(tmp_path, url)
    now = datetime.now(UTC)
    old = samples(8, ended=now - timedelta(days=2))
    for sample in old:
        put(platform, sample.trace)

    async def backfill(ahead: timedelta, *, newest_first: bool = False) -> Progress:
        async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead) as service:
            spec = settings.evaluator(NAME)
            asked = Backfill(
                evaluator=spec,
                spans=(Span(start=now - timedelta(days=3), end=now),),
                newest_first=newest_first,
            )
            evaluator = await service.evaluator(spec, live=False)
            total, _, finished = await run_backfill(service, asked, evaluator, told=lambda *_: None)
            assert finished
            return total

    first = await backfill(timedelta(0))
    assert first.by_status == {"scored": 6, "invalid": 2}
    assert shown(platform) == expected(old)
    assert (await backfill(timedelta(0))).by_status == {}

    wrong = next(sample for sample in old if sample.kind == "hallucinated")
    before = next(score["id"] for score in platform.shown() if score["traceId"] == wrong.trace.trace_id)
    tool = next(span for span in wrong.trace.spans if span.kind == "TOOL")
    proof = {"note": " ".join(wrong.invented)}
    late = tool.model_copy(update={"span_id": "f" * 16, "name": "check", "tool_name": "check", "output": proof})
    platform.put({**row_of_span(late), **trace_fields({"environment": "production", "metadata": {}})})
    second = await backfill(timedelta(days=1), newest_first=True)
    assert second.by_status == {"scored": 1}
    after = shown(platform)
    assert after == {**expected(old), wrong.trace.trace_id: 1.0}
    score = next(score for score in platform.shown() if score["traceId"] == wrong.trace.trace_id)
    assert score["id"] == before
    assert "re-scored: 1 span arrived later" in score["comment"]
