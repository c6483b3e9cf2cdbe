"""Webhooks: stored before the answer, quick whatever the judge does, nothing lost, nothing leaked."""

import asyncio
import json
import logging
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.connectors.langfuse_app import served
from tests.connectors.langsmith_app import LangsmithApp
from tests.connectors.langsmith_runs import as_uuid, run, trace_id_of
from tests.flow.langsmith_rig import GENERATIONS, expected, put, samples, shown
from tests.flow.langsmith_rig import configured as configured_for
from tests.web.rig import HOOK, HOOK_PATH, NAME, SlowJudge, configured, delivery, web

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.intake import Intake
from groundwire.jobs.schedule import Runner
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings
from groundwire.jobs.store import counts, deliveries
from groundwire.jobs.store.schema import deliveries as table
from groundwire.scorer import HallucinationMetric, RetryLater

ONE = trace_id_of(1)


async def test_the_raw_delivery_is_stored_before_the_answer(tmp_path: Path) -> None:
    body = json.dumps({**delivery([ONE]), "zz_new_field": "kept"}).encode()
    async with web(configured(tmp_path)) as live:
        answer = await live.client.post(HOOK_PATH, headers=HOOK, content=body)
        assert (answer.status_code, answer.json()) == (202, {"traces": 1})
        stored = await live.service.store.read(lambda tx: tx.execute(select(table.c.evaluator, table.c.body)).all())
        assert stored == [(NAME, body)]
        assert live.told == [None]
        again = await live.client.post(HOOK_PATH, headers=HOOK, content=body)
        assert again.status_code == 202
        assert await live.service.store.read(deliveries.waiting) == {NAME: 1}


async def test_unknown_evaluators_and_platforms_and_those_that_arent_attached(tmp_path: Path) -> None:
    settings = configured(
        tmp_path,
        evaluators=[
            {"name": NAME, "source": "prod", "attach": "webhook"},
            {"name": "polled", "source": "prod"},
            {"name": "asked", "source": "prod", "attach": "decision"},
            {"name": "with space (a)", "source": "prod", "attach": "webhook"},
        ],
    )
    async with web(settings) as live:
        for path in ("langsmith/none", "langsmith/polled", "langsmith/asked", f"langfuse/{NAME}", "langsmith/%00"):
            answer = await live.client.post(f"/hooks/{path}", headers=HOOK, json=delivery([ONE]))
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_evaluator"), path
        answer = await live.client.post("/hooks/langsmith/with%20space%20%28a%29", headers=HOOK, json=delivery([ONE]))
        assert answer.status_code == 202
        unusable: list[Any] = [{"alert": 1}, {"runs": [{"id": "no uuid"}]}, [], "text"]
        for body in unusable:
            assert (await live.client.post(HOOK_PATH, headers=HOOK, json=body)).status_code == 422
        assert await live.service.store.read(deliveries.waiting) == {"with space (a)": 1}


async def test_a_full_queue_and_a_state_that_is_away_are_503_to_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with web(configured(tmp_path, service={"queue": 2})) as live:
        answers = [
            await live.client.post(HOOK_PATH, headers=HOOK, json=delivery([trace_id_of(number)])) for number in range(3)
        ]
        assert [answer.status_code for answer in answers] == [202, 202, 503]
        assert int(answers[2].headers["Retry-After"]) > 0
        retried = await live.client.post(HOOK_PATH, headers=HOOK, json=delivery([trace_id_of(1)]))
        assert retried.status_code == 202, "what is stored is known, however full the queue is"

        async def away(*_: Any, **__: Any) -> None:
            raise RetryLater("locked", after=1)

        monkeypatch.setattr(live.service.store, "write", away)
        answer = await live.client.post(HOOK_PATH, headers=HOOK, json=delivery([trace_id_of(9)]))
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "state_unavailable")
        monkeypatch.setattr("groundwire.jobs.web.hooks.STORED_WITHIN", 0.05)
        monkeypatch.setattr(live.service.store, "write", lambda *_, **__: asyncio.sleep(5))
        answer = await live.client.post(HOOK_PATH, headers=HOOK, json=delivery([trace_id_of(9)]))
        assert answer.status_code == 503


async def working(settings: Settings, service: Service, judge: Any = None) -> tuple[Intake, Runner]:
    evaluator = await service.evaluator(settings.evaluators[0])
    if judge is not None:
        evaluator = Evaluator(spec=evaluator.spec, metric=HallucinationMetric(judge=judge), since=evaluator.since)
    return Intake(service, [evaluator], run_id="run-1"), Runner(service, [evaluator], run_id="run-1")


async def begun(settings: Settings) -> None:
    """The evaluator began some minutes ago."""
    async with open_service(settings, clock=lambda: datetime.now(UTC) - timedelta(minutes=5)) as service:
        await service.evaluator(settings.evaluators[0])


async def test_a_slow_judge_delays_no_answer_and_the_text_is_forgotten_while_it_judges(tmp_path: Path) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured_for(tmp_path, url, attach="webhook")
        await begun(settings)
        fresh = samples(6, ended=datetime.now(UTC) - timedelta(seconds=2))
        ids = [put(platform, sample) for sample in fresh]
        async with web(settings, on_socket=True) as live:
            judge = SlowJudge()
            judge.seconds = 2.0
            intake, _ = await working(settings, live.service, judge)
            stop = asyncio.Event()
            taking = asyncio.create_task(intake.run(stop))
            await live.client.post(HOOK_PATH, headers=HOOK, json=delivery(ids[:3]))
            await asyncio.sleep(0.5)
            began = time.perf_counter()
            answer = await live.client.post(HOOK_PATH, headers=HOOK, json=delivery(ids[3:]))
            assert answer.status_code == 202
            assert time.perf_counter() - began < 0.5
            intake.arrived()
            await asyncio.sleep(0.3)
            bodies = await live.service.store.read(lambda tx: tx.execute(select(table.c.body, table.c.size)).all())
            assert bodies == [(None, 0), (None, 0)]
            stop.set()
            await taking


async def test_25_000_runs_in_a_trace_are_one_trace(tmp_path: Path) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured_for(tmp_path, url, attach="webhook")
        await begun(settings)
        [sample] = samples(1, ended=datetime.now(UTC) - timedelta(seconds=2))
        trace_id = put(platform, sample)
        start = datetime.now(UTC) - timedelta(seconds=3)
        for number in range(25_000):
            platform.put(
                run(as_uuid(f"step {number}"), trace_id, start=start, parent_run_id=trace_id, run_type="parser")
            )
        async with web(settings, on_socket=True) as live:
            sent = [{"id": row["id"], "trace_id": trace_id} for row in platform.runs]
            began = time.perf_counter()
            answer = await live.client.post(HOOK_PATH, headers=HOOK, json={"runs": sent})
            assert (answer.status_code, answer.json()) == (202, {"traces": 1})
            assert time.perf_counter() - began < 2
            intake, runner = await working(settings, live.service)
            await intake.once()
            await runner.deliver("prod")
            assert shown(platform) == expected([sample])
            assert [call for call in platform.calls if "traces" in call] == ["GET /api/v2/traces/" + trace_id]
            assert platform.calls["GET /api/v2/traces/" + trace_id] == 1


PRIVATE = (
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.7/inputs",
    "https://localhost/inputs",
    "https://storage.googleapis.com@10.0.0.7/inputs",
    "file:///etc/passwd",
)


async def test_no_private_address_that_a_delivery_or_a_run_names_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []

    def stream(*arguments: Any, **_: Any) -> Any:
        called.append(str(arguments))
        raise AssertionError("nothing may be fetched")

    monkeypatch.setattr("httpx2.AsyncClient.stream", stream)
    platform = LangsmithApp(**GENERATIONS["v1"])
    with served(platform) as host, caplog.at_level(logging.DEBUG):
        settings = configured_for(tmp_path, host, attach="webhook")
        await begun(settings)
        start = datetime.now(UTC) - timedelta(seconds=3)
        sent = []
        for number, url in enumerate(PRIVATE):
            held: dict[str, Any] = {
                "id": trace_id_of(number),
                "trace_id": trace_id_of(number),
                "inputs": None,
                "outputs": None,
            }
            held |= {f"{side}_s3_urls": {"ROOT": {"presigned_url": url}} for side in ("inputs", "outputs")}
            platform.put({**run(held["id"], held["id"], start=start), **held})
            sent.append(held)
        async with web(settings) as live:
            assert (await live.client.post(HOOK_PATH, headers=HOOK, json={"runs": sent})).status_code == 202
            intake, _ = await working(settings, live.service)
            await intake.once()
            assert sum(intake.total.by_status.values()) == len(PRIVATE)
            assert intake.total.by_status.get("scored") is None
    assert called == []
    assert "169.254" not in caplog.text


async def test_a_run_of_another_project_is_no_work(tmp_path: Path) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured_for(tmp_path, url, attach="webhook")
        await begun(settings)
        [sample] = samples(1, ended=datetime.now(UTC) - timedelta(seconds=2))
        trace_id = put(platform, sample)
        async with web(settings) as live:
            body = {"runs": [{"id": trace_id, "trace_id": trace_id, "session_id": as_uuid("another")}]}
            assert (await live.client.post(HOOK_PATH, headers=HOOK, json=body)).status_code == 202
            intake, _ = await working(settings, live.service)
            await intake.once()
            assert intake.total.by_status == {}
            assert await live.service.store.read(deliveries.waiting) == {}


async def test_what_sampling_leaves_out_is_never_read_and_is_counted(tmp_path: Path) -> None:
    platform = LangsmithApp(**GENERATIONS["v2"])
    with served(platform) as url:
        settings = configured_for(tmp_path, url, attach="webhook", sample=0.0)
        await begun(settings)
        async with web(settings) as live:
            await live.client.post(HOOK_PATH, headers=HOOK, json=delivery([trace_id_of(one) for one in range(5)]))
            intake, _ = await working(settings, live.service)
            await intake.once()
            assert await live.service.store.read(counts.totals) == {(NAME, "sampled_out"): 5}
            assert not [call for call in platform.calls if "traces" in call]
