"""The fake platform itself: its clock, faults, rules of overwriting, counts, and another process at the same file."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from groundwire.connectors import Origin, Page, Score, Target, Window, load_connector
from groundwire.connectors.testing import (
    FakePlatform,
    FakeSink,
    FakeSource,
    Faults,
    Overwriting,
    make_sample,
    make_samples,
)
from groundwire.scorer import GiveUp, RetryLater, SkipThis

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
WINDOW = Window(start=NOON - timedelta(days=1))


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    platform = FakePlatform()
    platform.set_clock(NOON)
    yield platform
    platform.close()


async def pages(source: FakeSource, window: Window = WINDOW) -> list[Page]:
    return [page async for page in source.pull(window, None)]


async def ids(source: FakeSource) -> list[str]:
    return [trace.trace_id for page in await pages(source) for trace in page.traces]


def score(name: str, value: float | str | None, *, comment: str = "", day: int = 0) -> Score:
    start = NOON + timedelta(days=day)
    return Score(
        score_id=name,
        name="support",
        value=value,
        target=Target(project="fake", trace_id="t", start_time=start, environment="production"),
        comment=comment,
        metadata={"day": day},
    )


async def test_lag_hides_what_was_put_until_its_time(platform: FakePlatform) -> None:
    trace = make_sample(0, end=NOON - timedelta(minutes=1)).trace
    platform.faults = Faults(lag=30.0)
    platform.put(trace)
    source = FakeSource(platform)
    assert await ids(source) == []
    with pytest.raises(RetryLater, match="can't be found yet"):
        await source.fetch(Origin(trace_id=trace.trace_id))
    platform.advance(30.0)
    assert await ids(source) == [trace.trace_id]
    assert await source.fetch(Origin(trace_id=trace.trace_id)) == replace(
        trace, spans=tuple(sorted(trace.spans, key=lambda span: (span.start_time, span.span_id)))
    )


async def test_a_span_can_come_later(platform: FakePlatform) -> None:
    trace = make_sample(0, end=NOON - timedelta(minutes=1)).trace
    platform.put(replace(trace, spans=trace.spans[:-1]))
    platform.add_span(trace.spans[-1], after=10.0)
    source = FakeSource(platform)
    assert len((await source.fetch(Origin(trace_id=trace.trace_id))).spans) == 4
    platform.advance(10.0)
    assert len((await source.fetch(Origin(trace_id=trace.trace_id))).spans) == 5


async def test_what_is_deleted_is_gone_for_good(platform: FakePlatform) -> None:
    trace = make_sample(0, end=NOON - timedelta(minutes=1)).trace
    platform.put(trace)
    platform.delete(trace.trace_id)
    source = FakeSource(platform)
    assert await ids(source) == []
    with pytest.raises(SkipThis, match="was deleted"):
        await source.fetch(Origin(trace_id=trace.trace_id))


async def test_a_poison_trace_is_a_problem_and_the_others_are_given(platform: FakePlatform) -> None:
    for sample in make_samples(3, first_end=NOON - timedelta(minutes=9), spacing=timedelta(minutes=1)):
        platform.put(sample.trace)
    platform.put_unreadable("bad", ended=NOON - timedelta(minutes=8, seconds=30))
    given = await pages(FakeSource(platform, page_size=2))
    assert [len(page.traces) for page in given] == [1, 2, 0]
    assert [page.problems for page in given] == [("trace bad can't be read: its body is no trace",), (), ()]
    with pytest.raises(SkipThis, match="trace bad can't be read"):
        await FakeSource(platform).fetch(Origin(trace_id="bad"))


async def test_every_nth_call_is_limited_and_each_is_counted(platform: FakePlatform) -> None:
    platform.faults = Faults(limit_every=3, retry_after=4.0)
    sink = FakeSink(platform, batch_size=1)
    await sink.push([score("a", 1.0), score("b", 1.0)])
    with pytest.raises(RetryLater) as error:
        await sink.push([score("c", 1.0)])
    assert error.value.after == 4.0
    deliveries = await sink.push([score("c", 1.0), score("d", 1.0), score("e", 1.0), score("f", 1.0)])
    assert [(d.state, d.after) for d in deliveries] == [("delivered", 0.0)] * 2 + [("retry", 4.0)] * 2
    assert platform.calls() == {"write": 6}


async def test_an_outage_ends(platform: FakePlatform) -> None:
    platform.faults = Faults(down_from=NOON, down_until=NOON + timedelta(hours=1))
    source = FakeSource(platform)
    with pytest.raises(RetryLater, match="HTTP 503"):
        await ids(source)
    assert [finding.state for finding in await source.check()] == ["failed"]
    platform.advance(3600.0)
    assert await ids(source) == []
    assert [finding.state for finding in await source.check()] == ["ok"]


async def test_a_wrong_key_opens_nothing(platform: FakePlatform) -> None:
    connector = load_connector("groundwire.connectors.testing:fake")
    settings = connector.read_settings({"path": "unused", "key": "sk-wrong-123"})
    assert "sk-wrong-123" not in repr(settings)
    source = FakeSource(platform, key=settings.key)
    with pytest.raises(GiveUp) as error:
        await ids(source)
    assert "sk-wrong-123" not in str(error.value)


async def test_scores_that_are_refused_or_put_off(platform: FakePlatform) -> None:
    sink = FakeSink(platform)
    platform.faults = Faults(busy_every=2)
    states = [delivery.state for delivery in await sink.push([score(name, 1.0) for name in "abcd"])]
    assert states == ["delivered", "retry", "delivered", "retry"]
    platform.faults = Faults(refuse_every=2)
    first = [delivery.state for delivery in await sink.push([score(name, 1.0) for name in "abcdefgh"])]
    assert set(first) == {"delivered", "refused"}
    assert [delivery.state for delivery in await sink.push([score(name, 1.0) for name in "abcdefgh"])] == first


@pytest.mark.parametrize(
    ("rule", "days", "left"),
    [
        (Overwriting(key="id_name_date"), (0, 0), [0.25]),
        (Overwriting(key="id_name_date"), (0, 1), [0.75, 0.25]),
        (Overwriting(key="id"), (0, 1), [0.25]),
    ],
)
async def test_when_a_score_replaces_another(
    platform: FakePlatform, rule: Overwriting, days: tuple[int, int], left: list[float]
) -> None:
    platform.overwriting = rule
    sink = FakeSink(platform)
    await sink.push([score("a", 0.75, day=days[0])])
    await sink.push([score("a", 0.25, day=days[1])])
    assert [stored.value for stored in platform.scores()] == left
    await sink.push([score("a", None)])
    assert platform.scores() == []


async def test_merging_keeps_what_the_newer_score_leaves_empty(platform: FakePlatform) -> None:
    platform.overwriting = Overwriting(merge=True)
    sink = FakeSink(platform)
    await sink.push([score("a", 0.75, comment="long")])
    moved = replace(score("a", "grounded"), target=Target(project="fake", trace_id="u", start_time=NOON), metadata={})
    await sink.push([moved])
    (stored,) = platform.scores()
    assert (stored.value, stored.comment, stored.trace_id, stored.environment) == (
        "grounded",
        "long",
        "t",
        "production",
    )
    assert (stored.metadata, stored.writes) == ({"day": 0}, 2)


async def test_calls_for_a_thousand_traces(platform: FakePlatform) -> None:
    spaced = make_samples(1000, first_end=NOON - timedelta(minutes=30), spacing=timedelta(seconds=1))
    platform.put_all(sample.trace for sample in spaced)
    assert len(await ids(FakeSource(platform))) == 1000
    assert platform.calls() == {"list": 2, "read": 10}


async def test_another_process_at_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "fake.sqlite"
    platform = FakePlatform(path)
    platform.set_clock(NOON)
    platform.key = "shared-key-55"
    platform.put_all(sample.trace for sample in make_samples(5, first_end=NOON - timedelta(minutes=9)))
    child = """
import asyncio, sys
from datetime import UTC, datetime
from groundwire.connectors import Score, Target, Window, load_connector
async def main():
    connector = load_connector("groundwire.connectors.testing:fake")
    settings = {"path": sys.argv[1], "key": "shared-key-55", "page_size": 2}
    source, sink = connector.build_source(settings), connector.build_sink(settings)
    async for page in source.pull(Window(start=datetime(2026, 11, 1, tzinfo=UTC)), None):
        await sink.push([
            Score(score_id=trace.trace_id, name="n", value=1.0,
                  target=Target(project="p", trace_id=trace.trace_id, start_time=trace.start_time))
            for trace in page.traces
        ])
    await source.close()
    await sink.close()
asyncio.run(main())
"""
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", child, str(path)], check=True)
    assert len(platform.scores()) == 5
    assert platform.calls() == {"list": 1, "read": 3, "write": 3}
    platform.close()


def test_samples_are_the_same_again_and_their_answers_are_true() -> None:
    first, again = list(make_samples(200, seed=7)), list(make_samples(200, seed=7))
    assert first == again
    assert {sample.kind for sample in first} == {"grounded", "hallucinated", "invalid"}
    assert len({sample.trace.trace_id for sample in first}) == 200
    for sample in first:
        root = sample.trace.root
        assert root is not None
        answer = root.output_messages[0].text
        results = re.findall(r"\d+", str([span.output for span in sample.trace.spans if span.kind == "TOOL"]))
        numbers = [word for word in answer.replace(".", " ").split() if word.isdigit()]
        invented = [number for number in numbers if number not in results]
        match sample.kind:
            case "grounded":
                assert sample.score == 1.0
                assert invented == []
            case "hallucinated":
                assert len(invented) == len(sample.invented)
                assert sample.score == (4 - len(invented)) / 4
                assert all(sentence in answer for sentence in sample.invented)
            case _:
                assert sample.score is None
                kinds = [span.kind for span in sample.trace.spans]
                assert kinds.count("AGENT") == 2 if sample.rule == "orchestrator_subagent" else "TOOL" not in kinds
