"""Whatever order spans are stored and shown in, and wherever a process dies: each trace is given as it ends up."""

import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from groundwire.connectors import Trace, Window
from groundwire.connectors.phoenix import PhoenixSettings, feed
from groundwire.connectors.phoenix.feed import Feed
from groundwire.connectors.phoenix.place import Place
from groundwire.connectors.phoenix.spans import Row, Stored, stored

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
OVERLAP = 60
TRACES = 4
SPANS = 3
PAGE = 3


class Table:
    """Spans under numbers; a number is given out when a span comes, and shown when its writer is done."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.last = 0

    def next_number(self) -> int:
        self.last += 1
        return self.last

    def show(self, number: int, trace: int, span: int) -> None:
        self.rows[number] = {
            "id": base64.b64encode(f"Span:{number}".encode()).decode(),
            "name": f"span-{span}",
            "context": {"trace_id": f"{trace + 1:032x}", "span_id": f"{trace * SPANS + span + 1:016x}"},
            "span_kind": "AGENT" if span == 0 else "TOOL",
            "parent_id": None if span == 0 else f"{trace * SPANS + 1:016x}",
            "start_time": (NOON - timedelta(minutes=1)).isoformat(),
            "end_time": (NOON - timedelta(seconds=trace)).isoformat(),
            "status_code": "OK",
            "attributes": {"input.value": f"{number}", "tag.tags": ["a"]},
            "events": [],
        }

    def delete_last(self) -> None:
        """SQLite gives the last number out again, once it is free."""
        if self.rows:
            del self.rows[max(self.rows)]
            self.last = max(self.rows, default=0)

    def whole(self) -> dict[str, set[str]]:
        """By trace: its spans."""
        spans: dict[str, set[str]] = {}
        for row in self.rows.values():
            spans.setdefault(row["context"]["trace_id"], set()).add(row["context"]["span_id"])
        return spans

    # ---- as `Spans` ----

    async def newest(self) -> int:
        return max(self.rows, default=0)

    async def at(self, key: str) -> Stored | None:
        async for page in self.stored(since=None, at=key):
            return page[0] if page else None
        return None

    async def stored(self, *, since: datetime | None, at: str | None) -> AsyncIterator[list[Stored]]:
        first = 0 if at is None else int(base64.b64decode(at).decode().partition(":")[2])
        numbers = sorted(number for number in self.rows if number >= first)
        for start in range(0, len(numbers) or 1, PAGE):
            yield [stored(self.rows[number]) for number in numbers[start : start + PAGE]]

    async def of_traces(self, trace_ids: Iterable[str]) -> dict[str, list[Row]]:
        wanted = set(trace_ids)
        found: dict[str, list[Row]] = {}
        for _, row in sorted(self.rows.items()):
            if row["context"]["trace_id"] in wanted:
                found.setdefault(row["context"]["trace_id"], []).append(row)
        return found


class Life:
    """Looks, some of which die after a few pages, with the last cursor that was kept."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.now = NOON
        self.cursor: Any = None
        self.given: dict[str, Trace] = {}
        self.pages = 0

    async def look(self, *, most: int | None = None) -> None:
        made = Feed(
            spans=self.table,  # type: ignore[arg-type]  # the four verbs that are asked
            settings=PhoenixSettings(settle=20, rootless_after=300, overlap=OVERLAP),
            project="P1",
            window=Window(start=NOON - timedelta(hours=1)),
            place=Place.of(self.cursor),
            wanted=lambda head: self.table.whole()[head.trace_id] <= {span.span_id for span in head.spans},
            now=self.now,
            page=1,
        )
        async for page in made.run():
            self.given |= {trace.trace_id: trace for trace in page.traces}
            self.cursor = page.cursor
            self.pages += bool(page.traces)
            if most is not None:
                most -= 1
                if most < 0:
                    return


ACTIONS = st.one_of(
    st.tuples(st.just("store"), st.integers(0, TRACES - 1), st.integers(0, SPANS - 1), st.integers(0, 50)),
    st.tuples(st.just("look"), st.none() | st.integers(0, 2), st.sampled_from([0, 15, 50, 100]), st.just(0)),
    st.tuples(st.just("delete"), st.just(0), st.just(0), st.just(0)),
)


async def _lived(actions: Sequence[tuple[Any, ...]], chunk: int) -> Life:
    table, known = Table(), set()
    hidden: list[tuple[datetime, int, int, int]] = []
    life = Life(table)
    feed._A_CHUNK, before = chunk, feed._A_CHUNK
    try:
        for name, first, second, third in actions:
            for due, number, trace, span in [one for one in hidden if one[0] <= life.now]:
                table.show(number, trace, span)
                hidden.remove((due, number, trace, span))
            if name == "store" and (first, second) not in known:
                known.add((first, second))
                hidden.append((life.now + timedelta(seconds=third), table.next_number(), first, second))
            elif name == "delete" and not hidden:
                table.delete_last()
            elif name == "look":
                await life.look(most=first)
                life.now += timedelta(seconds=second)
        for _, number, trace, span in hidden:
            table.show(number, trace, span)
        for wait in (0, OVERLAP + 1, 301, 0):  # undisturbed, until nothing is waited for
            life.now += timedelta(seconds=wait)
            await life.look()
            given = life.pages
            await life.look()
            assert life.pages == given, "what was given is given again"
    finally:
        feed._A_CHUNK = before
    return life


LOOK = ("look", None, 100, 0)


@settings(max_examples=250, deadline=None)
@given(actions=st.lists(ACTIONS, min_size=1, max_size=30), chunk=st.integers(1, 12))
# an earlier number is shown after a later one was read
@example(actions=[("store", 0, 0, 50), ("store", 1, 0, 0), ("look", None, 1, 0), ("look", None, 60, 0), LOOK], chunk=9)
# numbers up to the last one that was read are given out again
@example(
    actions=[
        ("store", 0, 0, 0),
        ("store", 0, 1, 0),
        LOOK,
        LOOK,
        ("delete", 0, 0, 0),
        ("delete", 0, 0, 0),
        ("store", 1, 0, 0),
    ],
    chunk=9,
)
# a number that was read a moment ago is given out again
@example(actions=[("store", 0, 0, 0), ("look", None, 15, 0), ("delete", 0, 0, 0), ("store", 1, 0, 0), LOOK], chunk=9)
# a root comes to a span that was waiting for it
@example(actions=[("store", 0, 1, 0), ("look", None, 15, 0), ("store", 0, 0, 0), LOOK], chunk=9)
async def test_each_trace_is_given_as_it_ends_up_and_then_no_more(actions: list[tuple[Any, ...]], chunk: int) -> None:
    life = await _lived(actions, chunk)
    for trace_id, spans in life.table.whole().items():  # that a span was deleted isn't told
        assert spans <= {span.span_id for span in life.given[trace_id].spans}
    place = Place.of(life.cursor)
    assert place.waiting == {}
    assert len(place.seen) <= 1 or place.floor is None or min(place.seen) > place.floor.number
