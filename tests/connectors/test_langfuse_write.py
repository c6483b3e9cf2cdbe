"""Scores written to a Langfuse on loopback: in every form, once, refused ones found, and looked up afterwards."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.connectors.langfuse_app import LangfuseApp, Limit, served
from tests.connectors.langfuse_rows import NOON, Clock, settings_for, sink_for, wire_for

from groundwire.connectors import Score, Target
from groundwire.connectors.http import Patience
from groundwire.connectors.langfuse import LangfuseSink
from groundwire.connectors.langfuse.payload import Unsendable, event_id, payload_of, stored_environment
from groundwire.scorer import GiveUp, RetryLater

VERSIONS = {"array": "4.75.0", "ingestion": "4.16.0"}


def target(number: int = 1, **more: Any) -> Target:
    return Target(
        **{
            "project": "proj1",
            "trace_id": f"{number:032x}",
            "root_span_id": f"{number:016x}",
            "start_time": NOON - timedelta(minutes=5),
            "environment": "production",
            **more,
        }
    )


def score(number: int = 1, value: float | str | None = 0.75, **more: Any) -> Score:
    return Score(
        **{
            "score_id": f"{number:08x}-0000-5000-8000-000000000000",
            "name": "grounded",
            "value": value,
            "target": target(number),
            "comment": "0.75 · 3 of 4 claims grounded",
            "metadata": {"row_id": "r1", "labels": {"supported": 3, "hallucinated": 1}, "flags": []},
            **more,
        }
    )


@asynccontextmanager
async def writing(app: LangfuseApp, clock: Clock, **more: Any) -> AsyncIterator[LangfuseSink]:
    with served(app) as url:
        sink = sink_for(url, clock, **more)
        try:
            yield sink
        finally:
            await sink.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def states(deliveries: Any) -> list[str]:
    return [delivery.state for delivery in deliveries]


@pytest.mark.parametrize("form", VERSIONS)
async def test_a_score_stands_as_it_was_meant(form: str, clock: Clock) -> None:
    app = LangfuseApp(version=VERSIONS[form], clock=clock)
    async with writing(app, clock) as sink:
        assert states(await sink.push([score(), score(2, "grounded", name="grounded.label")])) == ["delivered"] * 2
    number, label = app.shown()
    assert {key: number[key] for key in ("id", "name", "value", "dataType", "environment", "timestamp", "comment")} == {
        "id": "00000001-0000-5000-8000-000000000000",
        "name": "grounded",
        "value": 0.75,
        "dataType": "NUMERIC",
        "environment": "production",
        "timestamp": "2026-11-30T11:55:00.000Z",
        "comment": "0.75 · 3 of 4 claims grounded",
    }
    assert (number["traceId"], number["observationId"]) == (f"{1:032x}", f"{1:016x}")
    assert number["metadata"]["labels"] == {"supported": 3, "hallucinated": 1}
    assert (label["value"], label["dataType"]) == ("grounded", "CATEGORICAL")
    path, body = app.sent[0]
    if form == "array":
        assert path == "/scores"
        assert [one["timestamp"] for one in body] == ["2026-11-30T11:55:00Z"] * 2 or body[0]["timestamp"].startswith(
            "2026-11-30T11:55:00"
        )
    else:
        assert path == "/ingestion"
        assert [event["timestamp"] for event in body["batch"]] == ["2026-11-30T11:55:00.000Z"] * 2


@pytest.mark.parametrize("form", VERSIONS)
async def test_a_change_of_day_at_midnight_leaves_one_score(form: str) -> None:
    clock = Clock(datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC))
    app = LangfuseApp(version=VERSIONS[form], clock=clock)
    started = target(start_time=datetime(2026, 11, 30, 23, 59, 40, tzinfo=UTC))
    async with writing(app, clock) as sink:
        await sink.push([score(target=started)])
        clock.forward(20)
        await sink.push([score(value=0.5, target=started, comment="re-scored")])
    assert [(one["value"], one["comment"]) for one in app.shown()] == [(0.5, "re-scored")]


async def test_a_server_between_the_known_versions_is_asked_with_a_list_first(clock: Clock) -> None:
    app = LangfuseApp(version="4.30.0", clock=clock)
    async with writing(app, clock) as sink:
        assert states(await sink.push([score(1), score(2)])) == ["delivered"] * 2
        assert states(await sink.push([score(3)])) == ["delivered"]
    assert [path for path, _ in app.sent] == ["/scores", "/ingestion", "/ingestion"]  # learnt once
    assert len(app.shown()) == 3


async def test_a_server_that_dates_by_arrival_is_never_given_a_score_under_another_day(clock: Clock) -> None:
    app = LangfuseApp(version="4.30.0", clock=clock)
    async with writing(app, clock) as sink:
        await sink._server.generation()
        sink._server.writes_by("single")
        assert states(await sink.push([score(1), score(2)])) == ["delivered"] * 2
        assert states(await sink.push([score(1, 0.5)])) == ["delivered"]
        clock.forward(86_400)
        refused = await sink.push([score(1, 0.25), score(9)])
    assert states(refused) == ["refused", "delivered"]
    assert "another day" in refused[0].reason
    assert [one["value"] for one in app.shown() if one["id"].startswith("00000001")] == [0.5]


async def test_the_refused_ones_of_a_list_are_found_and_the_others_stand(clock: Clock) -> None:
    app = LangfuseApp(clock=clock, refuse=lambda one: "name is on the block list" if one["value"] == 0.13 else None)
    values = [0.13 if number in (3, 60, 61) else 0.5 for number in range(100)]
    async with writing(app, clock) as sink:
        deliveries = await sink.push([score(number, value) for number, value in enumerate(values)])
    assert [number for number, one in enumerate(deliveries) if one.state == "refused"] == [3, 60, 61]
    assert deliveries[3].reason == "Langfuse refuses it: name is on the block list"
    assert len(app.shown()) == 97
    assert app.calls["POST /scores"] < 60  # halves, not one by one


async def test_events_that_are_refused_are_told_with_the_servers_message(clock: Clock) -> None:
    app = LangfuseApp(version="4.16.0", clock=clock)
    no_target = score(2, target=target(2, session_id=None, trace_id=""))
    async with writing(app, clock) as sink:
        deliveries = await sink.push([score(1), no_target, score(3)])
    assert states(deliveries) == ["delivered", "refused", "delivered"]
    assert "Invalid request data" in deliveries[1].reason


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (score(value=float("nan")), "finite"),
        (score(value=float("inf")), "finite"),
        (score(name=""), "name"),
        (score(value=""), "category"),
        (score(score_id="x" * 801), "800"),
        (score(score_id="a\rb"), "line break"),
        (score(comment="y" * 1_000_000), "too large"),
    ],
)
async def test_what_the_server_would_store_as_something_else_is_not_sent(bad: Score, why: str, clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        deliveries = await sink.push([bad, score(5)])
    assert states(deliveries) == ["refused", "delivered"]
    assert why in deliveries[0].reason
    assert len(app.shown()) == 1
    with pytest.raises(Unsendable):
        payload_of(bad, attach="observation")


async def test_where_a_score_is_attached(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    on_span = score(2, target=target(2, span_id="00000000000000aa", root_span_id=None))
    on_session = score(3, target=target(3, session_id="chat-1"))
    async with writing(app, clock, attach="trace") as sink:
        await sink.push([score(1), on_span, on_session])
    one, two, three = app.shown()
    assert (one["traceId"], one["observationId"], one["sessionId"]) == (f"{1:032x}", None, None)
    assert two["observationId"] == "00000000000000aa"
    assert (three["traceId"], three["observationId"], three["sessionId"]) == (None, None, "chat-1")


@pytest.mark.parametrize(
    ("environment", "stored"),
    [
        ("production", "production"),
        ("Production", "production"),
        ("Bad Env!", "default"),
        ("langfuse-x", "x"),
        ("e" * 41, "default"),
        (None, "default"),
    ],
)
async def test_the_environment_is_the_targets_or_is_told_in_the_metadata(
    environment: str | None, stored: str, clock: Clock
) -> None:
    assert stored_environment(environment or "default") == stored
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        await sink.push([score(target=target(environment=environment))])
    shown = app.shown()[0]
    assert shown["environment"] == stored
    assert shown["metadata"].get("environment") == (environment if environment not in (stored, None) else None)


async def test_an_empty_comment_and_odd_text_leave_nothing_old_and_break_nothing(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        await sink.push([score(comment="an old comment")])
        await sink.push([score(comment="")])
        assert app.shown()[0]["comment"] == "groundwire"
        await sink.push([score(comment="lone \ud800 surrogate, \x00 and \u2028", metadata={"flag": "\udfff"})])
    assert app.shown()[0]["comment"] == "lone \ufffd surrogate, \x00 and \u2028"


async def test_what_does_not_show_is_sent_once_more_and_then_told(clock: Clock) -> None:
    app = LangfuseApp(clock=clock, drop_scores=2)
    async with writing(app, clock) as sink:
        assert states(await sink.push([score(1), score(2), score(3)])) == ["delivered"] * 3
        assert len(app.shown()) == 1
        assert (await sink.read_back()).visible == ()  # too early to look
        clock.forward(61)
        seen = await sink.read_back()
        assert seen.visible == ("00000003-0000-5000-8000-000000000000",)
        assert [one.score_id[:8] for one in seen.missing] == ["00000001", "00000002"]
        assert len(app.shown()) == 3  # sent again
        app.scores = {key: one for key, one in app.scores.items() if not key[0].startswith("00000002")}
        clock.forward(61)
        seen = await sink.read_back()
        assert (len(seen.visible), [one[:8] for one in seen.lost]) == (1, ["00000002"])
        clock.forward(61)
        assert (await sink.read_back()).lost == ()
    assert app.calls["POST /scores"] == 2


async def test_a_value_that_has_not_been_replaced_yet_is_not_taken_for_the_new_one(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        await sink.push([score(value=0.75)])
        app.drop_scores = 1
        await sink.push([score(value=0.25)])
        clock.forward(61)
        assert [one.value for one in (await sink.read_back()).missing] == [0.25]
    assert [one["value"] for one in app.shown()] == [0.25]


async def test_a_withdrawn_score_is_deleted_and_not_waited_for(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        await sink.push([score(1), score(2)])
        assert states(await sink.push([score(1, None)])) == ["delivered"]
        clock.forward(61)
        assert [one[:8] for one in (await sink.read_back()).visible] == ["00000002"]
    assert [one["id"][:8] for one in app.shown()] == ["00000002"]


async def test_a_configuration_is_made_once_and_never_drops_a_score(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    app.configs.append(
        {
            "id": "theirs",
            "name": "grounded.narrow",
            "dataType": "NUMERIC",
            "isArchived": False,
            "minValue": 0.5,
            "maxValue": 1,
        }
    )
    async with writing(app, clock, create_config=True) as sink:
        await sink.push(
            [
                score(1),
                score(2, lower_is_better=True),
                score(3, 7.5),
                score(4, 0.1, name="grounded.narrow"),
                score(5, "grounded", name="grounded.label"),
                score(6, name="a name that is much too long for a configuration of Langfuse"),
            ]
        )
    assert len(app.shown()) == 6
    assert [one["configId"] for one in app.shown()] == ["config-2", "config-2", None, None, None, None]
    made = app.configs[1:]
    assert [(one["name"], one["minValue"], one["maxValue"]) for one in made] == [("grounded", 0, 1)]
    assert "higher is better" in made[0]["description"]


async def test_a_limit_in_the_middle_of_a_push_leaves_the_rest_for_later(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    with served(app) as url:
        settings = settings_for(url)
        sink = LangfuseSink(settings, wire=wire_for(settings, clock, patience=Patience(attempts=1)))
        await sink.push([score(1000)])
        some = [score(number) for number in range(150)]
        app.refuse = lambda one: (
            app.fail(429, headers={"Retry-After": "17"}) if one["id"].startswith("00000063") else None
        )
        deliveries = await sink.push(some)
        assert states(deliveries) == ["delivered"] * 100 + ["retry"] * 50
        assert {one.after for one in deliveries[100:]} == {17.0}
        app.refuse = lambda _: None
        app.fail(429, headers={"Retry-After": "11"})
        with pytest.raises(RetryLater) as later:
            await sink.push(some)
        assert later.value.after == 11
        app.fail(401, body={"message": "Invalid credentials."})
        with pytest.raises(GiveUp):
            await sink.push(some)
        await sink.close()


async def test_deletions_have_a_small_quota_of_their_own(clock: Clock) -> None:
    app = LangfuseApp(clock=clock, monotonic=clock.monotonic, limits={"delete": Limit(calls=4, per=86_400)})
    async with writing(app, clock) as sink:
        deliveries = await sink.push([score(number, None) for number in range(5)])
    assert states(deliveries) == ["delivered"] * 3 + ["retry"] * 2
    assert deliveries[-1].after > 80_000


def test_event_ids_rise_with_time() -> None:
    moments = [NOON + timedelta(milliseconds=step) for step in (0, 1, 7, 4_000, 86_400_000)]
    made = [event_id("s", at) for at in moments]
    assert made == sorted(made)
    assert len(set(made)) == 5
    assert event_id("s", NOON) != event_id("t", NOON)
    assert len(made[0]) == 36


async def test_what_check_tells_of_writing(clock: Clock) -> None:
    app = LangfuseApp(clock=clock)
    async with writing(app, clock) as sink:
        found = {finding.what: finding for finding in await sink.check()}
        assert found["scores"].state == "ok"
        assert "in lists" in found["server"].message
        assert app.sent == []  # nothing is written
        assert json.dumps([finding.message for finding in found.values()]).find("sk-lf") == -1
