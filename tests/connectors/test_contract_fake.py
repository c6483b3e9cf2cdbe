"""The fake platform keeps the contract of connectors, in memory, in a file, and with every habit of the real ones."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundwire.connectors.base import Sink, Source
from groundwire.connectors.testing import ConnectorContract, FakePlatform, FakeSink, FakeSource, Faults, Shown
from groundwire.connectors.trace import Trace

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Handle:
    """A fake platform as the contract's tests want it."""

    secrets: Sequence[str] = ("fk-secret-81b2",)
    speaks_http = True

    def __init__(self, path: Path | None, faults: Faults) -> None:
        self.platform = FakePlatform(path)
        self.platform.set_clock(NOW)
        self.platform.key = self.secrets[0]
        self.platform.faults = faults

    def now(self) -> datetime:
        return self.platform.now()

    def put(self, trace: Trace) -> None:
        self.platform.put(trace)

    def source(self, *, page_size: int) -> Source:
        return FakeSource(self.platform, page_size=page_size)

    def sink(self) -> Sink:
        return FakeSink(self.platform)

    def scores(self) -> list[Shown]:
        return [
            Shown(score_id=s.score_id, name=s.name, value=s.value, comment=s.comment) for s in self.platform.scores()
        ]

    def fail(self, status: int, *, retry_after: float | None = None) -> None:
        self.platform.fail(status, retry_after=retry_after or 0.0)


class TestInMemory(ConnectorContract):
    @pytest.fixture
    def platform(self) -> Iterator[Handle]:
        handle = Handle(None, Faults())
        yield handle
        handle.platform.close()


class TestInFile(ConnectorContract):
    @pytest.fixture
    def platform(self, tmp_path: Path) -> Iterator[Handle]:
        handle = Handle(tmp_path / "fake.sqlite", Faults())
        yield handle
        handle.platform.close()


class TestWithOddHabits(ConnectorContract):
    """Rows in no order, some twice, at most three a call."""

    @pytest.fixture
    def platform(self) -> Iterator[Handle]:
        handle = Handle(None, Faults(page_limit=3, shuffle=True, repeat_every=2))
        yield handle
        handle.platform.close()
