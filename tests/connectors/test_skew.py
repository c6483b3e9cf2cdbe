"""A server's Date header beside this machine's clock."""

from datetime import UTC, datetime

import pytest

from groundwire.connectors.skew import clock_finding

NOW = datetime(2026, 11, 30, 12, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("date", "state", "said"),
    [
        ("Mon, 30 Nov 2026 12:00:28 GMT", "ok", "agrees"),
        ("Mon, 30 Nov 2026 12:00:10 GMT", "warning", "20 s ahead of"),
        ("Mon, 30 Nov 2026 13:01:00 +0100", "warning", "30 s behind"),
        ("Mon, 30 Nov 2026 12:00:10 -0000", "warning", "20 s ahead of"),  # of no zone, which is UTC
        ("yesterday", "ok", "tells no time"),
        (None, "ok", "tells no time"),
    ],
)
def test_what_is_said_of_the_clock(date: str | None, state: str, said: str) -> None:
    found = clock_finding(date, now=NOW)
    assert found.state == state
    assert said in found.message
