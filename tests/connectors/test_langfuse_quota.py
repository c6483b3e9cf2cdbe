"""The organization's rate limits: how they are kept, shared and learnt."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.langfuse_app import LangfuseApp, Limit, served
from tests.connectors.langfuse_rows import Clock, agent_trace, settings_for, sink_for, source_for

from groundwire.connectors import Window
from groundwire.connectors.http import Answer
from groundwire.connectors.langfuse.quota import Bucket, Quotas
from groundwire.connectors.langfuse.wire import Wire
from groundwire.scorer import RetryLater


class Ticks:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def answer(status: int = 200, **headers: str) -> Answer:
    return Answer(status=status, headers={name.replace("_", "-"): value for name, value in headers.items()}, body=None)


def test_a_window_holds_one_call_less_than_the_limit_and_then_waits() -> None:
    ticks = Ticks()
    bucket = Bucket(30, 60, clock=ticks)
    assert [bucket.take() for _ in range(29)] == [0.0] * 29
    assert bucket.take() == 61  # a second more than the server's window
    ticks.now += 61
    assert [bucket.take() for _ in range(28)] == [0.0] * 28


def test_without_a_limit_nothing_waits_until_the_server_says_so() -> None:
    ticks = Ticks()
    bucket = Bucket(None, 60, clock=ticks)
    assert {bucket.take() for _ in range(5000)} == {0.0}
    bucket.learn(answer(429, retry_after="7", x_ratelimit_limit="30"))
    assert bucket.limit == 30
    assert bucket.take() == 7


def test_what_others_of_the_organization_use_is_learnt() -> None:
    bucket = Bucket(30, 60, clock=Ticks())
    bucket.take()
    bucket.learn(answer(x_ratelimit_limit="100", x_ratelimit_remaining="2"))
    assert bucket.take() == 0.0
    assert bucket.take() > 0


def test_a_wait_beyond_patience_books_nothing() -> None:
    ticks = Ticks()
    bucket = Bucket(3, 86_400, clock=ticks)
    bucket.take()
    bucket.take()
    for _ in range(2):
        with pytest.raises(RetryLater) as later:
            bucket.take()
        assert later.value.after == 86_401
    ticks.now += 86_401
    assert bucket.take() == 0.0


@pytest.mark.parametrize("headers", [{"retry_after": "soon"}, {}])
def test_a_429_without_a_readable_wait_closes_the_whole_window(headers: dict[str, str]) -> None:
    bucket = Bucket(30, 60, clock=Ticks())
    bucket.learn(answer(429, **headers))
    assert bucket.take() == 60


@given(st.lists(st.floats(0, 30), max_size=200), st.integers(2, 40))
def test_no_window_of_the_server_ever_sees_its_limit(pauses: list[float], limit: int) -> None:
    ticks = Ticks()
    bucket = Bucket(limit, 60, clock=ticks)
    opened, used = -1e9, 0
    for pause in pauses:
        ticks.now += pause
        ticks.now += bucket.take(patience=1e9)
        if ticks.now >= opened + 60:
            opened, used = ticks.now, 0
        used += 1
        assert used < limit


def test_sources_of_one_organization_share_a_bucket_and_others_do_not() -> None:
    quotas = Quotas()
    one = quotas.bucket("https://cloud.langfuse.com", "org1", "general", "hobby")
    assert quotas.bucket("https://cloud.langfuse.com", "org1", "general", "pro") is one
    assert quotas.bucket("https://cloud.langfuse.com", "org1", "delete", "hobby") is not one
    assert quotas.bucket("https://cloud.langfuse.com", "org2", "general", "hobby") is not one
    assert (one.limit, quotas.bucket("http://own", "org1", "general", "self-hosted").limit) == (30, None)


async def test_reading_and_writing_stay_within_thirty_a_minute() -> None:
    clock = Clock()
    app = LangfuseApp(clock=clock, monotonic=clock.monotonic, limits={"general": Limit(calls=30, per=60)})
    for number in range(3000):
        agent_trace(app, number, end=clock() - timedelta(days=1) + timedelta(seconds=number))
    with served(app) as url:
        source, sink = source_for(url, clock, plan="hobby"), sink_for(url, clock, plan="hobby")
        sink._wire._quotas = source._wire._quotas
        began = clock.monotonic()
        count = 0
        async for page in source.pull(
            Window(start=clock() - timedelta(days=2), end=clock() - timedelta(hours=1)), None
        ):
            count += len(page.traces)
            await sink.check()
        await source.close()
        await sink.close()
    assert count == 3000
    assert app.calls["429"] == 0
    assert clock.monotonic() - began >= 61  # it did wait


async def test_no_more_than_the_named_number_is_in_flight() -> None:
    import asyncio

    app = LangfuseApp()
    with served(app) as url:
        wire = Wire(settings_for(url, in_flight=2), quotas=Quotas())
        flying, most = 0, 0
        real = wire._http.get

        async def counted(*args: object, **more: object) -> object:
            nonlocal flying, most
            flying += 1
            most = max(most, flying)
            try:
                return await real(*args, **more)  # type: ignore[arg-type]
            finally:
                flying -= 1

        wire._http.get = counted  # type: ignore[method-assign,assignment]
        await asyncio.gather(*(wire.get("/v3/scores", {"limit": 1}, what="scores") for _ in range(20)))
        await wire.close()
    assert most == 2
