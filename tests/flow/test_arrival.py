"""Whatever order, however often and however late spans come: the rows and scores at the end are the same."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.flow.rig import knowing, rig
from tests.flow.unattended import samples

from groundwire.connectors.testing import Faults, Overwriting

FOUND = samples(4, seed=8, hallucinated=0.5, invalid=0.2, ago=timedelta(minutes=5))
SPANS = [(sample.trace, span) for sample in FOUND for span in sample.trace.spans]
LATEST = 50
"""Minutes by which a span may be late; the fake source looks back an hour from a trace's end."""


async def final(arrivals: Sequence[tuple[int, int]], *, shuffle: bool, lag: float) -> Any:
    """What stands in the state and on the platform once every span has come; each arrives as (minute, which)."""
    with TemporaryDirectory() as folder:
        async with rig(Path(folder), [{"max_wait": "2h"}], judge=knowing(FOUND)) as r:
            r.platform.faults = Faults(shuffle=shuffle, repeat_every=3, lag=lag)
            r.platform.overwriting = Overwriting(key="id_name_date", merge=True)
            begin = r.clock.now
            for minute, which in sorted(arrivals):
                r.clock.now = max(r.clock.now, begin + timedelta(minutes=minute))
                trace, span = SPANS[which]
                r.platform.put(replace(trace, spans=(span,)))
                await r.turn()
                await r.deliver()
            r.clock.forward(seconds=lag, minutes=2)
            for _ in range(3):
                await r.turn()
                await r.deliver()
                r.clock.forward(minutes=5)
            rows = {
                one.row.trace_id: (one.row.status, one.row.reason, one.row.score, one.content_hash)
                for one in await r.rows()
            }
            scores = [(score.score_id, score.trace_id, score.value) for score in r.platform.scores()]
            return rows, sorted(scores)


@cache
def in_order() -> Any:
    return asyncio.run(final([(0, which) for which in range(len(SPANS))], shuffle=False, lag=0.0))


def test_the_rows_at_the_end_are_right() -> None:
    rows, scores = in_order()
    expected = {sample.trace.trace_id: sample.score for sample in FOUND}
    assert {trace_id: row[2] for trace_id, row in rows.items()} == expected
    assert {trace_id: value for _, trace_id, value in scores} == {
        trace_id: value for trace_id, value in expected.items() if value is not None
    }


minutes = st.integers(min_value=0, max_value=LATEST)
once_each = st.tuples(*(minutes for _ in SPANS)).map(lambda times: [(at, which) for which, at in enumerate(times)])
again = st.lists(st.tuples(minutes, st.integers(min_value=0, max_value=len(SPANS) - 1)), max_size=6)


@settings(max_examples=20, deadline=None, derandomize=True, phases=[Phase.generate])
@given(arrivals=once_each, repeated=again, shuffle=st.booleans(), lag=st.sampled_from([0.0, 40.0]))
def test_any_order_of_arrival_ends_the_same(
    arrivals: list[tuple[int, int]], repeated: list[tuple[int, int]], shuffle: bool, lag: float
) -> None:
    assert asyncio.run(final([*arrivals, *repeated], shuffle=shuffle, lag=lag)) == in_order()
