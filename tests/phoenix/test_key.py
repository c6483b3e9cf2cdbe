"""A real Phoenix with authentication switched on: what a missing, a wrong and a right key come to."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

import pytest
from tests.phoenix.server import Phoenix, serving

from groundwire.connectors import Finding, Score, Target, Window
from groundwire.connectors.phoenix import PhoenixSettings, PhoenixSink, PhoenixSource
from groundwire.connectors.testing import make_sample
from groundwire.scorer import GiveUp

pytestmark = pytest.mark.phoenix

KEY = "Right-key-of-the-administrator-0"
WRONG = "Wrong-key-of-nobody-at-all-00000"


@pytest.fixture(scope="module")
def locked(phoenix_command: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phoenix]:
    environment = {
        "PHOENIX_ENABLE_AUTH": "true",
        "PHOENIX_SECRET": "A-secret-for-signing-0123456789-abcdef",
        "PHOENIX_ADMIN_SECRET": KEY,
    }
    with serving(phoenix_command, tmp_path_factory.mktemp("locked"), environment=environment) as url:
        server = Phoenix(url, key=KEY)
        yield server
        server.http.close()


def settings(locked: Phoenix, key: str | None) -> PhoenixSettings:
    return PhoenixSettings.model_validate({"host": locked.url, "project": "default", "settle": 0, "api_key": key})


async def checked(given: PhoenixSettings) -> list[Finding]:
    found: list[Finding] = []
    for face in (PhoenixSource(given), PhoenixSink(given)):
        found += await face.check()
        await face.close()
    return found


@pytest.mark.parametrize(
    ("key", "what"), [(None, "it has authentication switched on: set `api_key`"), (WRONG, "check `api_key`")]
)
async def test_without_the_right_key_it_gives_up_and_says_what_to_do(
    locked: Phoenix, key: str | None, what: str
) -> None:
    given = settings(locked, key)
    source, sink = PhoenixSource(given), PhoenixSink(given)
    with pytest.raises(GiveUp, match="HTTP 401") as refused:
        async for _ in source.pull(Window(start=datetime.now(UTC)), None):
            pass
    target = Target(project="prod", trace_id="a" * 32, start_time=datetime.now(UTC))
    with pytest.raises(GiveUp, match="HTTP 401"):
        await sink.push([Score(score_id="s", name="grounded", value=1.0, target=target)])
    await source.close()
    await sink.close()
    found = await checked(given)
    assert [(one.what, one.state) for one in found] == [("key", "failed")] * 2
    assert all(what in one.message for one in found)
    assert WRONG not in str(refused.value) + str(found)


async def test_with_the_right_key_all_works(locked: Phoenix) -> None:
    given = settings(locked, KEY)
    trace = make_sample(0, end=datetime.now(UTC) - timedelta(minutes=1)).trace
    locked.put("default", trace)
    source, sink = PhoenixSource(given), PhoenixSink(given)
    read = [
        one
        async for page in source.pull(Window(start=datetime.now(UTC) - timedelta(hours=1)), None)
        for one in page.traces
    ]
    assert [one.trace_id for one in read] == [trace.trace_id]
    target = Target(project="prod", trace_id=trace.trace_id, start_time=datetime.now(UTC))
    score = Score(score_id=str(uuid5(NAMESPACE_URL, "s")), name="grounded", value=1.0, target=target)
    assert [one.state for one in await sink.push([score])] == ["delivered"]
    assert [one["result"]["score"] for one in locked.annotations("default")] == [1.0]
    await source.close()
    await sink.close()
    assert {one.state for one in await checked(given)} == {"ok"}
