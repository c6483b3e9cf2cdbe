"""The fake platform as a connector: its Source, its Sink and the `fake` that a configuration can name."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from pydantic import Field, JsonValue, SecretStr, TypeAdapter, ValidationError

from groundwire.connectors.base import Finding, Origin, Page, Wanted, Window
from groundwire.connectors.connector import Connector, SourceSettings
from groundwire.connectors.cursor import Mark, Progress
from groundwire.connectors.score import Delivery, Score
from groundwire.connectors.testing.platform import FakePlatform
from groundwire.connectors.testing.rules import Listed, Refused, StoredScore
from groundwire.connectors.trace import Trace
from groundwire.scorer import GiveUp, GroundwireError, RetryLater, SkipThis

__all__ = ["FakeSettings", "FakeSink", "FakeSource", "fake"]

_TRACES = TypeAdapter(Trace)
_T = TypeVar("_T")


class FakeSettings(SourceSettings):
    """`platform = "groundwire.connectors.testing:fake"`."""

    path: str
    """The SQLite file of the platform."""
    key: SecretStr = SecretStr("fake-key")
    page_size: int = Field(default=100, ge=1)
    """Traces a page, and scores a call."""
    lateness: float = Field(default=3600.0, ge=0)
    """Seconds after its end in which a trace may still turn up or change and be noticed."""


class _Client:
    """Calls the platform and says what its refusals mean."""

    def __init__(self, platform: FakePlatform, key: SecretStr, *, owned: bool) -> None:
        self.platform = platform
        self._key = key
        self._owned = owned

    async def ask(self, call: Callable[[str], _T]) -> _T:
        if (latency := self.platform.faults.latency) > 0:
            await asyncio.sleep(latency)
        try:
            return call(self._key.get_secret_value())
        except Refused as refusal:
            raise _meaning(refusal) from None

    async def find(self) -> list[Finding]:
        try:
            now = self.platform.now()
            await self.ask(partial(self.platform.list_traces, start=now, end=now, limit=1))
        except GroundwireError as error:
            return [Finding(what="fake platform", state="failed", message=str(error))]
        return [Finding(what="fake platform", state="ok", message=f"{self.platform.trace_count()} traces")]

    def close(self) -> None:
        if self._owned:
            self.platform.close()


class FakeSource:
    """Reads a `FakePlatform`: one call lists up to 1,000 traces, one reads a page of them whole."""

    def __init__(
        self,
        platform: FakePlatform,
        *,
        key: SecretStr | None = None,
        page_size: int = 100,
        lateness: float = 3600.0,
        owned: bool = False,
    ) -> None:
        """`lateness` in seconds; `owned` says that closing the source closes the platform."""
        self._client = _Client(platform, key if key is not None else SecretStr(platform.key), owned=owned)
        self._platform = platform
        self._page_size = page_size
        self._lateness = timedelta(seconds=lateness)

    async def pull(
        self, window: Window, cursor: Mapping[str, JsonValue] | None, *, wanted: Wanted | None = None
    ) -> AsyncIterator[Page]:
        """Pages of at most `page_size` traces; a last one without any says that all was looked at."""
        progress = Progress.of(cursor)
        began = self._platform.now()
        start, end = progress.stretch(window, now=began, lateness=self._lateness)
        moved = partial(Progress.after, window=window, looked_at=began, lateness=self._lateness)
        after: tuple[int, str] | None = None
        more = start < end
        while more:
            rows, after = await self._client.ask(
                partial(
                    self._platform.list_traces,
                    start=start,
                    end=end,
                    limit=1000,
                    after=after,
                    newest_first=window.newest_first,
                )
            )
            more = after is not None
            once = {row.trace_id: row for row in rows if not progress.knows(row.trace_id, str(row.version))}
            fresh = sorted(once.values(), key=lambda row: (row.ended_at, row.trace_id), reverse=window.newest_first)
            for at in range(0, len(fresh), self._page_size):
                chunk = fresh[at : at + self._page_size]
                traces, problems, versions = await self._read(chunk, wanted)
                marks = [
                    Mark(trace_id=row.trace_id, at=row.ended_at, version=str(versions.get(row.trace_id, row.version)))
                    for row in chunk
                ]
                progress = moved(progress, marks)
                yield Page(
                    traces=traces,
                    cursor=progress.as_cursor(),
                    reached=None if window.newest_first else chunk[-1].ended_at,
                    problems=problems,
                    seen=len(chunk),
                )
        yield Page(traces=(), cursor=moved(progress, ()).as_cursor(), reached=max(start, end))

    async def fetch(self, origin: Origin) -> Trace:
        """One trace as it stands now."""
        found = await self._client.ask(partial(self._platform.read_traces, trace_ids=[origin.trace_id]))
        if not found:
            if self._platform.was_deleted(origin.trace_id):
                raise SkipThis(f"trace {origin.trace_id} was deleted")
            raise RetryLater(f"trace {origin.trace_id} can't be found yet")
        trace = _whole(found[0][2])
        if trace is None:
            raise SkipThis(f"trace {origin.trace_id} can't be read: its body is no trace")
        return trace

    async def check(self) -> Sequence[Finding]:
        """Whether it answers and takes the key."""
        return await self._client.find()

    async def close(self) -> None:
        """Let go of the database, where it is this source's own."""
        self._client.close()

    async def _read(
        self, rows: Sequence[Listed], wanted: Wanted | None
    ) -> tuple[tuple[Trace, ...], tuple[str, ...], dict[str, int]]:
        chosen = [row.trace_id for row in rows if wanted is None or (head := _whole(row.head)) is None or wanted(head)]
        if not chosen:
            return (), (), {}
        bodies: dict[str, str | Trace] = {}
        versions: dict[str, int] = {}
        step = min(len(chosen), self._platform.faults.page_limit)
        for at in range(0, len(chosen), step):
            read = await self._client.ask(partial(self._platform.read_traces, trace_ids=chosen[at : at + step]))
            for trace_id, version, body in read:
                bodies[trace_id], versions[trace_id] = body, version
        traces, problems = [], []
        for trace_id in chosen:
            if trace_id not in bodies:
                continue
            trace = _whole(bodies[trace_id])
            if trace is None:
                problems.append(f"trace {trace_id} can't be read: its body is no trace")
            else:
                traces.append(trace)
        return tuple(traces), tuple(problems), versions


class FakeSink:
    """Writes to a `FakePlatform` as a good client does: same id, same timestamp, deletion where nothing is known."""

    def __init__(
        self,
        platform: FakePlatform,
        *,
        key: SecretStr | None = None,
        batch_size: int = 100,
        owned: bool = False,
    ) -> None:
        """`owned` says that closing the sink closes the platform."""
        self._client = _Client(platform, key if key is not None else SecretStr(platform.key), owned=owned)
        self._platform = platform
        self._batch_size = batch_size

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """One call for each `batch_size` scores and one for each withdrawal."""
        fates: dict[int, Delivery] = {}
        step = min(self._batch_size, self._platform.faults.page_limit)
        written = [(at, score) for at, score in enumerate(scores) if score.value is not None]
        calls: list[Sequence[tuple[int, Score]]] = [written[at : at + step] for at in range(0, len(written), step)]
        calls += [[(at, score)] for at, score in enumerate(scores) if score.value is None]
        for batch in calls:
            try:
                fates.update(await self._send(batch))
            except RetryLater as error:
                if not fates:
                    raise
                left = {at: score for at, score in enumerate(scores) if at not in fates}
                fates |= {
                    at: Delivery(score_id=score.score_id, state="retry", reason=str(error), after=error.after)
                    for at, score in left.items()
                }
                break
        return [fates[at] for at in range(len(scores))]

    async def check(self) -> Sequence[Finding]:
        """Whether it answers and takes the key."""
        return await self._client.find()

    async def close(self) -> None:
        """Let go of the database, where it is this sink's own."""
        self._client.close()

    async def _send(self, batch: Sequence[tuple[int, Score]]) -> dict[int, Delivery]:
        if batch[0][1].value is None:
            at, score = batch[0]
            await self._client.ask(partial(self._platform.delete_score, score_id=score.score_id))
            return {at: Delivery(score_id=score.score_id, state="delivered")}
        rows = [_row(score) for _, score in batch]
        statuses = await self._client.ask(partial(self._platform.write_scores, scores=rows))
        return {at: _delivery(score.score_id, status) for (at, score), status in zip(batch, statuses, strict=True)}


def _row(score: Score) -> StoredScore:
    assert score.value is not None  # noqa: S101 - withdrawals go another way
    target = score.target
    return StoredScore(
        score_id=score.score_id,
        name=score.name,
        value=score.value,
        timestamp=target.start_time,
        trace_id=target.trace_id,
        span_id=target.span_id,
        session_id=target.session_id,
        environment=target.environment,
        comment=score.comment,
        metadata=score.metadata,
    )


def _delivery(score_id: str, status: int) -> Delivery:
    if status == 201:
        return Delivery(score_id=score_id, state="delivered")
    if status == 422:
        return Delivery(score_id=score_id, state="refused", reason="HTTP 422: the fake platform refuses this score")
    return Delivery(score_id=score_id, state="retry", reason=f"HTTP {status}: the fake platform is busy")


def _meaning(refusal: Refused) -> GroundwireError:
    if refusal.status == 429:
        return RetryLater("the fake platform limits the rate of calls (HTTP 429)", after=refusal.after)
    if refusal.status in (401, 403):
        return GiveUp(f"the fake platform refuses the key (HTTP {refusal.status}); check `key`")
    if refusal.status >= 500:
        return RetryLater(f"the fake platform is down (HTTP {refusal.status})", after=refusal.after)
    return GiveUp(f"the fake platform doesn't take the request (HTTP {refusal.status})")


def _whole(body: str | Trace) -> Trace | None:
    if isinstance(body, Trace):
        return body
    try:
        return _TRACES.validate_json(body)
    except ValidationError:
        return None


def _build_source(settings: FakeSettings) -> FakeSource:
    return FakeSource(
        FakePlatform(settings.path),
        key=settings.key,
        page_size=settings.page_size,
        lateness=settings.lateness,
        owned=True,
    )


def _build_sink(settings: FakeSettings) -> FakeSink:
    return FakeSink(FakePlatform(settings.path), key=settings.key, batch_size=settings.page_size, owned=True)


fake = Connector(
    name="fake",
    starts="beginning",
    feedback=True,
    settings=FakeSettings,
    source=_build_source,
    sink=_build_sink,
    where_fields={
        "environment": "environment",
        "has_error": "any span failed",
        "level": "highest level of its spans",
        "max_duration": "first start to last end",
        "metadata": "metadata",
        "min_duration": "first start to last end",
        "model": "models called",
        "name": "name",
        "release": "release",
        "session": "session id",
        "tags": "tags",
        "user": "user id",
    },
)
"""Named in a configuration as `platform = "groundwire.connectors.testing:fake"`."""
