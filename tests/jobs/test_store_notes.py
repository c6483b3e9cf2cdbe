"""Runs, gaps, counts and the judges' cache."""

from datetime import timedelta

from groundwire.jobs.store import cache, counts, gaps, runs

from .conftest import NOW

HOUR = timedelta(hours=1)


async def test_a_run_tells_what_it_came_to_also_when_it_was_killed(store):
    await store.write(runs.start, "run-1", command="backfill", args={"limit": 5}, evaluator="e", now=NOW)
    await store.write(runs.start, "run-2", command="run", args={}, now=NOW + HOUR)
    await store.write(runs.note, "run-1", counts={"scored": 3}, micro_dollars=1_200)
    await store.write(runs.note, "run-1", counts={"scored": 4, "error": 1}, micro_dollars=1_600)
    killed, *_ = await store.read(runs.list_runs, run_id="run-1")
    assert (killed.outcome, killed.counts, killed.micro_dollars, killed.ended_at) == (
        "running",
        {"scored": 4, "error": 1},
        1_600,
        None,
    )
    await store.write(runs.end, "run-1", outcome="stopped", message="cap reached", now=NOW + 2 * HOUR)
    assert [(run.run_id, run.outcome, run.ended_at) for run in await store.read(runs.list_runs)] == [
        ("run-2", "running", None),
        ("run-1", "stopped", NOW + 2 * HOUR),
    ]
    assert [run.run_id for run in await store.read(runs.list_runs, evaluator="e")] == ["run-1"]
    assert [run.run_id for run in await store.read(runs.list_runs, limit=1)] == ["run-2"]
    assert killed.args == {"limit": 5}


async def test_a_gap_widens_and_counts(store):
    window = {"source": "prod", "evaluator": "e", "why": "cap", "key": "day/2026-11-30"}
    await store.write(gaps.note, **window, starts_at=NOW, ends_at=NOW + HOUR, n=3, now=NOW)
    await store.write(gaps.note, **window, starts_at=NOW - HOUR, ends_at=NOW, n=2, now=NOW + HOUR)
    (gap,) = await store.read(gaps.list_gaps)
    assert (gap.starts_at, gap.ends_at, gap.n, gap.noted_at) == (NOW - HOUR, NOW + HOUR, 5, NOW + HOUR)


async def test_gaps_are_listed_by_what_is_asked_and_closed_by_a_backfill(store):
    async def note(why, key, start, end, **more):
        return await store.write(
            gaps.note, source="prod", why=why, key=key, starts_at=NOW + start * HOUR, ends_at=NOW + end * HOUR,
            now=NOW, **more,
        )  # fmt: skip

    outage = await note("outage", "1", 0, 1)
    cap = await note("cap", "2", 2, 3, evaluator="e", n=7)
    other = await note("cap", "2", 2, 3, evaluator="f", n=1)

    async def listed(**which):
        return [gap.gap_id for gap in await store.read(gaps.list_gaps, **which)]

    assert await listed(evaluator="e") == [outage, cap]
    assert await listed(why="outage") == [outage]
    assert await listed(source="elsewhere") == []
    assert await listed(until=NOW + 2 * HOUR) == [outage]
    assert sorted(await listed(since=NOW + 2 * HOUR)) == sorted([cap, other])
    await store.write(gaps.close, [outage, cap], now=NOW)
    assert await listed() == [other]
    assert await listed(closed=True, evaluator="e") == [outage, cap]
    await note("cap", "2", 3, 4, evaluator="e", n=1)  # it was skipped again
    assert set(await listed()) == {cap, other}


async def test_counts_are_kept_by_evaluator_hour_and_reason(store):
    await store.write(counts.add, "e", {"sampled_out": 9, "filtered": 1, "gated": 0}, now=NOW)
    await store.write(counts.add, "e", {"sampled_out": 1}, now=NOW + timedelta(minutes=59))
    await store.write(counts.add, "e", {"sampled_out": 5}, now=NOW + HOUR)
    await store.write(counts.add, "f", {}, now=NOW)
    assert await store.read(counts.totals) == {("e", "sampled_out"): 15, ("e", "filtered"): 1}
    assert await store.read(counts.totals, since=NOW + HOUR) == {("e", "sampled_out"): 5}
    assert await store.read(counts.totals, until=NOW + HOUR) == {("e", "sampled_out"): 10, ("e", "filtered"): 1}


async def test_a_reply_is_kept_once(store):
    await store.write(cache.keep, {"a": "1", "b": "2"}, trace_id="t", now=NOW)
    await store.write(cache.keep, {"b": "3", "c": "nul \0"}, trace_id=None, now=NOW)
    assert await store.read(cache.find, ["a", "b", "c", "d"]) == {"a": "1", "b": "2", "c": "nul \ufffd"}
    assert await store.read(cache.find, []) == {}
