"""The one retry layer: what is tried again, how long it waits, and that it tells nothing."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import httpx2
import pytest

from groundwire.connectors.http import Answer, Caller, Patience, as_error, retry_after, said
from groundwire.scorer import GiveUp, RetryLater, SkipThis

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Service:
    """Gives what it is told, one after the other; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.waited: list[float] = []
        self.time = 0.0

    async def __call__(self) -> Answer:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, headers = answer if isinstance(answer, tuple) else (answer, {})
        return Answer(status=status, headers=headers, body={"message": "told"})

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.time += seconds

    def caller(self, **patience: Any) -> Caller:
        return Caller(
            platform="Acme",
            transport_errors=(httpx.TransportError, httpx2.TransportError),
            patience=Patience(**patience),
            sleep=self.sleep,
            clock=lambda: self.time,
            now=lambda: NOW,
        )


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 524, 599])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    service = Service(status, status, 200)
    assert (await service.caller().call(service, what="it")).status == 200
    assert len(service.waited) == 2


@pytest.mark.parametrize(
    "error",
    [httpx.ConnectTimeout("pk-secret"), httpx.ReadError("x"), httpx2.ReadTimeout("x"), httpx2.ConnectError("x")],
)
async def test_no_answer_of_either_library_is_tried_again_and_then_told(error: Exception) -> None:
    service = Service(error, error, 200)
    assert (await service.caller().call(service, what="it")).ok
    service = Service(error, error, error)
    with pytest.raises(RetryLater, match=type(error).__name__) as caught:
        await service.caller(attempts=3).call(service, what="it")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("status", [301, 400, 404, 405, 410, 413, 422])
async def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    service = Service(status)
    with pytest.raises(SkipThis):
        await service.caller().call(service, what="it")
    service = Service(status)
    assert (await service.caller().call(service, what="it", accept=frozenset({status}))).status == status
    assert service.waited == []


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_gives_up(status: int) -> None:
    service = Service(status)
    with pytest.raises(GiveUp, match="told"):
        await service.caller().call(service, what="it")


async def test_the_servers_own_wait_is_kept_to() -> None:
    date = "Mon, 30 Nov 2026 12:00:09 GMT"
    service = Service((429, {"retry-after": "3"}), (503, {"retry-after": date}), 200)
    await service.caller().call(service, what="it")
    assert service.waited == [3.0, 9.0]


async def test_a_wait_beyond_the_deadline_is_the_callers() -> None:
    service = Service((429, {"retry-after": "900"}), 200)
    with pytest.raises(RetryLater) as caught:
        await service.caller(deadline=60).call(service, what="it")
    assert caught.value.after == 900
    assert service.waited == []


async def test_waits_are_random_below_a_bound_that_doubles() -> None:
    tried: list[list[float]] = []
    for _ in range(200):
        service = Service(*[500] * 6)
        with pytest.raises(RetryLater):
            await service.caller(attempts=6, first=1, longest=6).call(service, what="it")
        tried.append(service.waited)
    for number, bound in enumerate((1, 2, 4, 6, 6)):
        waits = [one[number] for one in tried]
        assert max(waits) <= bound
        assert max(waits) > 0.8 * bound  # full jitter: over the whole range
        assert min(waits) < 0.2 * bound


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("-4", 0.0),
        ("nan", None),
        ("inf", 86_400.0),
        ("999999", 86_400.0),
        ("", None),
        ("soon", None),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("Mon Nov 30 2026 20:00:00 GMT+0000 (Coordinated Universal Time)", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    found = retry_after({"retry-after": value}, now=NOW)
    assert found == seconds or (value.startswith("Mon Nov") and found is not None and found >= 0)


def test_what_a_server_said_is_one_short_line() -> None:
    zod = {"message": "Invalid request data", "error": [{"path": ["value"], "message": "expected\nnumber"}]}
    assert said(zod) == "Invalid request data · value: expected number"
    assert said({"detail": [1]}) == said("<html>the whole request</html>") == said(None) == ""
    assert len(said({"message": "m" * 5000})) == 200


async def test_the_log_and_the_errors_hold_no_text_and_no_key(caplog: pytest.LogCaptureFixture) -> None:
    class Talking(Service):
        async def __call__(self) -> Answer:
            await super().__call__()
            return Answer(status=500, headers={"authorization": "Basic c2VjcmV0"}, body="the trace says hello")

    service = Talking(500, 500)
    with caplog.at_level(logging.DEBUG), pytest.raises(RetryLater) as caught:
        await service.caller(attempts=2).call(service, what="its rows")
    told = caplog.text + str(caught.value) + repr(Answer(status=500, headers={"k": "c2VjcmV0"}, body="hello"))
    assert "hello" not in told
    assert "c2VjcmV0" not in told
    assert [record.__dict__["action"] for record in caplog.records] == ["http_retry"]


def test_responses_of_both_libraries_are_read_alike() -> None:
    for response in (httpx.Response(200, json={"a": 1}), httpx2.Response(200, json={"a": 1})):
        answer = Answer.of(response)
        assert (answer.status, answer.body, answer.headers["content-type"]) == (200, {"a": 1}, "application/json")
    assert Answer.of(httpx.Response(200, text="<html>")).body == "<html>"
    assert Answer.of(httpx.Response(202)).body is None


def test_an_error_names_who_and_what() -> None:
    error = as_error(
        Answer(status=503, headers={}, body=None), platform="Acme", what="its rows", now=NOW + timedelta(1)
    )
    assert str(error) == "Acme failed at its rows (HTTP 503)"
