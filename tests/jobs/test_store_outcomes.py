"""The end of a piece of work: one row, its scores and its state, or nothing."""

from datetime import timedelta

import pytest

from groundwire.jobs.store import outbox, outcomes, rows, work

from .conftest import NOW
from .samples import arrival, outcome, wanted

MINUTE = timedelta(minutes=1)


async def take(store, *, at=NOW, until=None, **more):
    (item,) = await store.write(
        work.claim, evaluators=["grounded"], limit=1, now=at, until=until or at + MINUTE, **more
    )
    return item


async def begin(store, **changes):
    await store.write(work.enqueue, [arrival(**changes)], now=NOW)
    return await take(store)


async def states(store):
    return [state for (_, state), n in (await store.read(work.tally)).items() for _ in range(n)]


async def current(store):
    found = []
    async for page in rows.pages(store, rows.RowQuery()):
        found += page
    return found


async def test_row_score_and_state_are_stored_together(store):
    item = await begin(store, inclusion=0.1, run_id="run-1")
    assert await store.write(outcomes.finish, item, outcome(), now=NOW)
    (stored,) = await current(store)
    assert stored.row == outcome().row
    assert (stored.evaluator, stored.content_hash, stored.inclusion, stored.run_id) == (
        "grounded",
        "hash-1",
        0.1,
        "run-1",
    )
    assert (stored.user_id, stored.trace_time, stored.facts) == ("u1", NOW, {"tags": ["a"]})
    assert (stored.superseded_at, stored.text_pruned) == (None, False)
    (entry,) = await store.read(outbox.entries)
    assert (entry.row_id, entry.run_id, entry.state, entry.generation) == ("r1", "run-1", "pending", 1)
    assert await states(store) == ["done"]


async def test_the_same_content_a_second_time_is_nothing(store):
    item = await begin(store)
    assert await store.write(outcomes.finish, item, outcome(), now=NOW)
    assert not await store.write(outcomes.finish, item, outcome(), now=NOW)
    assert not await store.write(outcomes.finish, item, outcome("r2", score=0.1), now=NOW)
    (stored,) = await current(store)
    assert stored.row.row_id == "r1"
    assert len(await store.read(outbox.entries)) == 1


async def test_two_workers_that_finish_the_same_item_leave_one_row(store):
    slow = await begin(store)
    quick = await take(store, at=NOW + MINUTE)
    assert await store.write(outcomes.finish, quick, outcome("quick"), now=NOW)
    assert not await store.write(outcomes.finish, slow, outcome("slow"), now=NOW)
    assert [stored.row.row_id for stored in await current(store)] == ["quick"]


async def test_a_worker_that_comes_back_late_with_older_content_changes_no_score(store):
    slow = await begin(store)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    quick = await take(store, at=NOW + MINUTE)
    assert await store.write(outcomes.finish, quick, outcome("quick", content_hash="hash-2", score=1.0), now=NOW)
    assert await store.write(outcomes.finish, slow, outcome("slow", score=0.0), now=NOW)
    (stored,) = await current(store)
    assert stored.row.row_id == "quick"
    (entry,) = await store.read(outbox.entries)
    assert entry.payload == {"value": 1.0}
    late = await store.read(rows.find, "slow")
    assert late is not None
    assert late.superseded_by == "quick"
    assert await states(store) == ["done"]


async def test_changed_content_supersedes_the_row_and_keeps_it(store):
    item = await begin(store)
    await store.write(outcomes.finish, item, outcome(), now=NOW)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    item = await take(store)
    later = NOW + MINUTE
    second = outcome("r2", content_hash="hash-2", score=1.0, created_at=later)
    assert await store.write(outcomes.finish, item, second, now=later)
    history = await store.read(rows.history, item.work_id)
    assert [(old.row.row_id, old.row.score, old.superseded_at, old.superseded_by) for old in history] == [
        ("r2", 1.0, None, None),
        ("r1", 0.75, later, "r2"),
    ]
    (entry,) = await store.read(outbox.entries)  # the same score on the platform, with its newer value
    assert (entry.payload, entry.revision, entry.row_id) == ({"value": 1.0}, 2, "r2")


async def test_content_that_arrived_while_it_was_judged_is_judged_next(store):
    item = await begin(store)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    assert await store.write(outcomes.finish, item, outcome(), now=NOW)
    assert await states(store) == ["pending"]
    assert (await take(store)).content_hash == "hash-2"


async def test_content_that_goes_back_to_what_it_was_costs_no_second_judgement(store):
    for number in ("1", "2"):
        item = await begin(store, content_hash=f"hash-{number}")
        judged = outcome(f"r{number}", content_hash=f"hash-{number}", score=float(number) / 4)
        await store.write(outcomes.finish, item, judged, now=NOW)
    item = await begin(store, content_hash="hash-1")
    earlier = {old.content_hash: old.superseded_by for old in await store.read(rows.history, item.work_id)}
    assert earlier == {"hash-1": "r2", "hash-2": None}
    scores = [wanted(value=0.25)]
    await store.write(outcomes.restore, item, "r1", content_hash="hash-1", scores=scores, now=NOW)
    assert [stored.row.row_id for stored in await current(store)] == ["r1"]
    (entry,) = await store.read(outbox.entries)
    assert entry.payload == {"value": 0.25}
    assert await states(store) == ["done"]


async def test_another_configuration_judges_again_only_where_it_is_asked_to(store):
    item = await begin(store)
    await store.write(outcomes.finish, item, outcome(), now=NOW)
    await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW)
    item = await take(store)
    assert not await store.write(outcomes.finish, item, outcome("r2", config_fingerprint="f2"), now=NOW)
    await store.write(work.enqueue, [arrival(rescore=True)], now=NOW)
    item = await take(store)
    assert not await store.write(outcomes.finish, item, outcome("r3", config_fingerprint="f1"), now=NOW)
    await store.write(work.enqueue, [arrival(rescore=True)], now=NOW)
    item = await take(store)
    assert await store.write(outcomes.finish, item, outcome("r4", config_fingerprint="f2"), now=NOW)
    assert [stored.row.row_id for stored in await current(store)] == ["r4"]
    await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW)
    assert not (await take(store)).rescore  # asked for once


@pytest.mark.parametrize(
    ("status", "reason", "state", "judged"),
    [
        ("unknown", "no_evidence", "done", True),
        ("invalid", "one_root", "done", True),
        ("skipped", "loop", "skipped", True),
        ("skipped", "over_budget", "skipped", False),
        ("error", "judge_unreachable", "error", False),
    ],
)
async def test_what_counts_as_judged(store, status, reason, state, judged):
    item = await begin(store)
    first = outcome(status=status, reason=reason, score=None, label=None)
    assert await store.write(outcomes.finish, item, first, now=NOW)
    assert await states(store) == [state]
    assert rows.is_judged(status, reason) is judged
    await store.write(work.enqueue, [arrival(content_hash=None)], now=NOW)
    item = await take(store)
    assert await store.write(outcomes.finish, item, outcome("r2"), now=NOW + MINUTE) is not judged
    assert [stored.row.row_id for stored in await current(store)] == ["r1" if judged else "r2"]


async def test_a_failure_in_the_middle_leaves_nothing(store):
    item = await begin(store)
    await store.write(outcomes.finish, item, outcome(), now=NOW)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    item = await take(store)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(outcomes.finish, item, outcome("r1", content_hash="hash-2", score=0.0), now=NOW)
    (stored,) = await current(store)
    assert (stored.row.score, stored.superseded_at) == (0.75, None)
    assert await states(store) == ["judging"]


async def test_an_error_shows_no_value(store):
    item = await begin(store)
    secret = outcome(explanation="the caller's card is 4242")
    await store.write(outcomes.finish, item, secret, now=NOW)
    await store.write(work.enqueue, [arrival(content_hash="hash-2")], now=NOW)
    item = await take(store)
    with pytest.raises(Exception, match=r"(?i)unique") as failure:
        await store.write(outcomes.finish, item, outcome("r1", content_hash="hash-2", explanation="card 4242"), now=NOW)
    assert "4242" not in str(failure.value)
    assert "4242" not in repr(failure.value)


async def test_without_text_only_hashes_labels_and_offsets_are_stored(store):
    item = await begin(store)
    await store.write(outcomes.finish, item, outcome(), now=NOW, store_text=False)
    (stored,) = await current(store)
    (claim,) = stored.row.claims
    assert (claim.text, claim.reason, claim.start, claim.end, claim.label) == ("", "", 0, 17, "hallucinated")
    assert claim.evidence is not None
    assert (claim.evidence.quote, claim.evidence.path, claim.evidence.block, claim.evidence.verified) == (
        "",
        None,
        "E1",
        True,
    )
    assert (claim.checks[0].text, claim.checks[0].value, claim.checks[0].outcome) == ("", None, "contradicted")
    assert (stored.row.explanation, stored.row.judge) == ("", {"kind": "llm", "model": "gpt-5-mini"})
    assert stored.text_pruned
    (entry,) = await store.read(outbox.entries)
    assert entry.comment == "0.75 · Bag costs 10 EUR."  # until it is delivered
    assert entry.payload == {"value": 0.75}
