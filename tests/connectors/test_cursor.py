"""Progress through time: whatever arrives, however late within the bound, is given; nothing unchanged twice."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from groundwire.connectors.base import Window
from groundwire.connectors.cursor import Mark, Progress, ended_at
from groundwire.connectors.testing import make_sample
from groundwire.connectors.trace import Trace

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def mark(name: str, seconds: float, version: str = "1") -> Mark:
    return Mark(trace_id=name, at=at(seconds), version=version)


def test_a_first_look_covers_the_window() -> None:
    assert Progress().stretch(Window(start=NOON), now=at(60), lateness=HOUR) == (NOON, at(60))
    assert Progress().stretch(Window(start=NOON, end=at(5)), now=at(60), lateness=HOUR) == (NOON, at(5))


def test_the_next_look_goes_back_by_the_lateness_but_not_before_the_beginning() -> None:
    window = Window(start=NOON)
    progress = Progress().after([mark("a", 5000)], window, looked_at=at(5400), lateness=HOUR)
    later = Window(start=at(5400))  # jobs give the place that was reached
    assert progress.stretch(later, now=at(5460), lateness=HOUR) == (at(1800), at(5460))
    early = Progress().after([mark("a", 60)], window, looked_at=at(120), lateness=HOUR)
    assert early.stretch(later, now=at(5460), lateness=HOUR) == (NOON, at(5460))


def test_deep_in_history_only_ties_are_remembered() -> None:
    window = Window(start=at(-90_000), end=NOON)
    marks = [mark("a", -80_000), mark("b", -70_000), mark("c", -70_000)]
    progress = Progress().after(marks, window, looked_at=NOON, lateness=HOUR)
    assert set(progress.seen) == {"b", "c"}
    assert progress.stretch(window, now=NOON, lateness=HOUR) == (at(-70_000), NOON)


def test_a_look_that_found_nothing_still_settles_what_is_old() -> None:
    window = Window(start=NOON)
    progress = Progress().after([mark("a", 10), mark("b", 20)], window, looked_at=at(30), lateness=HOUR)
    assert set(progress.seen) == {"a", "b"}
    assert set(progress.after([], window, looked_at=at(9000), lateness=HOUR).seen) == {"b"}


def test_going_back_in_time_ends_at_the_position() -> None:
    window = Window(start=NOON, end=at(100), newest_first=True)
    progress = Progress().after([mark("c", 90), mark("b", 80), mark("a", 80)], window, looked_at=at(200), lateness=HOUR)
    start, end = progress.stretch(window, now=at(200), lateness=HOUR)
    assert (start, end) == (NOON, at(80) + timedelta(microseconds=1))
    assert progress.knows("a", "1")
    assert progress.knows("b", "1")
    assert not progress.knows("c", "1")  # it lies outside what is looked at


def test_a_changed_version_is_news() -> None:
    progress = Progress().after([mark("a", 10)], Window(start=NOON), looked_at=at(30), lateness=HOUR)
    assert progress.knows("a", "1")
    assert not progress.knows("a", "2")


def test_a_cursor_survives_and_a_strange_one_starts_anew() -> None:
    progress = Progress().after([mark("a", 10.000001)], Window(start=NOON), looked_at=at(30), lateness=HOUR)
    assert Progress.of(progress.as_cursor()) == progress
    strange: Any
    for strange in (None, {}, {"version": 99}, {"version": 1}, {"version": 1, "begin": "x"}, {"offset": 3}):
        assert Progress.of(strange) == Progress()


def test_a_trace_stands_at_the_end_of_its_root() -> None:
    trace = make_sample(0, end=NOON).trace
    assert ended_at(trace) == NOON
    root, *below = trace.spans
    unfinished = Trace(trace_id="t", spans=(root.model_copy(update={"end_time": None}), *below), source="x")
    assert ended_at(unfinished) == NOON - timedelta(seconds=0.1)
    assert ended_at(Trace(trace_id="t", spans=(), source="x")) is None


Event = tuple[str, int, int, str]
"""A trace or a change of it: name, end and time of arrival in seconds, version."""


@st.composite
def arrivals(draw: st.DrawFn) -> list[Event]:
    """In order of arrival, each at most 50 s late."""
    found: list[Event] = []
    for number in range(draw(st.integers(1, 8))):
        end = draw(st.integers(0, 200))
        lags = sorted(draw(st.lists(st.integers(0, 50), min_size=1, max_size=3)))
        found += [(f"t{number}", end, end + lag, str(version)) for version, lag in enumerate(lags)]
    return sorted(found, key=lambda event: (event[2], event[3]))


@given(arrivals(), st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), max_size=12), st.integers(1, 3))
def test_nothing_late_is_lost_and_nothing_unchanged_comes_twice(
    events: list[Event], looks: list[tuple[int, int]], page_size: int
) -> None:
    """Looks at a platform with a pause before each, some killed after a number of pages, before the cursor is kept."""
    window, lateness, never = Window(start=at(-1)), timedelta(seconds=50), 99
    cursor: Mapping[str, JsonValue] | None = None
    latest: dict[str, str] = {}
    kept: list[tuple[str, str]] = []
    now = 0
    for pause, killed_after in [*((p, k or never) for p, k in looks), (300, never), (60, never)]:
        now += pause
        visible = {name: (end, version) for name, end, arrived, version in events if arrived < now}
        progress = Progress.of(cursor)
        start, end = progress.stretch(window, now=at(now), lateness=lateness)
        rows = sorted(
            (ended, name, version)
            for name, (ended, version) in visible.items()
            if start <= at(ended) < end and not progress.knows(name, version)
        )
        pages = [rows[first : first + page_size] for first in range(0, len(rows), page_size)]
        for number, page in enumerate([*pages, []], start=1):
            latest |= {name: version for _, name, version in page}
            marks = [mark(name, ended, version) for ended, name, version in page]
            progress = progress.after(marks, window, looked_at=at(now), lateness=lateness)
            if number == killed_after:
                break
            cursor = progress.as_cursor()
            kept += [(name, version) for _, name, version in page]
    assert latest == {name: version for name, _, _, version in events}
    assert len(kept) == len(set(kept))
