"""What calibrations ask of the state: labelled rows, candidates, targets, and how traces are fetched again."""

from datetime import timedelta
from typing import Any

from groundwire.jobs.store import Store, calibrations, outcomes, work
from groundwire.jobs.store.calibrations import StoredCalibration

from .conftest import NOW
from .samples import arrival, outcome


async def judged(store: Store, number: int, *, content: str = "hash-1", **changes: Any) -> None:
    name = f"p{number}"
    seen = arrival(name, content_hash=content, trace_id=f"t{number}", origin={"trace_id": f"t{number}"})
    await store.write(work.enqueue, [seen], now=NOW)
    claim: dict[str, Any] = {"evaluators": ["grounded"], "now": NOW, "until": NOW + timedelta(minutes=1), "limit": 1}
    [item] = await store.write(work.claim, **claim)
    row_id = f"r{number}-{content}"
    made = outcome(row_id, name, content_hash=content, trace_id=f"t{number}", session_id="s1", **changes)
    assert await store.write(outcomes.finish, item, made, now=NOW)


async def test_labels_find_the_current_rows_by_row_partition_or_trace(store: Store) -> None:
    for number in range(3):
        await judged(store, number)
    await judged(store, 1, content="hash-2", score=1.0)

    async def found(**asked: Any) -> list[str]:
        return sorted(one.row.row_id for one in await store.read(calibrations.labelled, "grounded", **asked))

    assert await found(row_ids=["r1-hash-1"]) == ["r1-hash-2"]
    assert await found(partition_ids=["p0", "p2", "none"]) == ["r0-hash-1", "r2-hash-1"]
    assert await found(trace_ids=["t1"], row_ids=["r0-hash-1"]) == ["r0-hash-1", "r1-hash-2"]
    assert await found() == []
    assert await store.read(calibrations.labelled, "another", partition_ids=["p0"]) == []


async def test_candidates_are_the_current_rows_of_one_configuration_with_an_answer(store: Store) -> None:
    await judged(store, 0)
    await judged(store, 1, status="unknown", reason="no_claims", score=None, label=None)
    await judged(store, 2, status="invalid", reason="no_tool", score=None, label=None)
    await judged(store, 3, config_fingerprint="f2")

    def read(tx: Any) -> list[tuple[str, str, float | None, float]]:
        return sorted(calibrations.judged(tx, "grounded", "f1"))

    assert await store.read(read) == [("r0-hash-1", "scored", 0.75, 1.0), ("r1-hash-1", "unknown", None, 1.0)]
    targets = await store.read(calibrations.targets, "grounded", since=NOW - timedelta(days=1), limit=10)
    assert sorted((one.partition_id, one.trace_id, one.session_id, one.span_id) for one in targets) == [
        ("p0", "t0", "s1", None),
        ("p1", "t1", "s1", None),
        ("p3", "t3", "s1", None),
    ]
    assert len(await store.read(calibrations.targets, "grounded", since=NOW - timedelta(days=1), limit=2)) == 2
    assert await store.read(calibrations.targets, "grounded", since=NOW + timedelta(days=1), limit=2) == []


async def test_origins_tell_how_traces_are_fetched_again(store: Store) -> None:
    await judged(store, 0)
    key = work.work_key("grounded", "trace", "p0")
    assert await store.read(calibrations.origins, [key, "none"]) == {key: {"trace_id": "t0"}}


async def test_the_newest_calibration_of_the_configuration_counts_before_a_newer_one_of_another(store: Store) -> None:
    def made(fingerprint: str, days: float) -> StoredCalibration:
        return StoredCalibration(
            evaluator="grounded",
            metric="agent.hallucination",
            metric_version="1.0.0",
            partition_type="trace",
            fingerprint=fingerprint,
            judge={"kind": "llm"},
            n=40,
            kappa=None,
            figures={"a": [1.5]},
            made_at=NOW - timedelta(days=days),
        )

    for one in (made("f1", 9), made("f1", 5), made("f2", 1)):
        await store.write(calibrations.add, one)
    assert await store.read(calibrations.latest, "grounded", "f1") == made("f1", 5)
    assert await store.read(calibrations.latest, "grounded", "f3") == made("f2", 1)
    assert await store.read(calibrations.latest, "another", "f1") is None
    assert [one.fingerprint for one in await store.read(calibrations.list_calibrations)] == ["f2", "f1", "f1"]
