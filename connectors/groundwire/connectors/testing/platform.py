"""A tracing platform of our own, with the habits of the real ones: lag, late spans, limits, outages, odd rules."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from pydantic import TypeAdapter, ValidationError

from groundwire.connectors.cursor import ended_at
from groundwire.connectors.testing.rules import Faults, Listed, Overwriting, Refused, StoredScore
from groundwire.connectors.testing.tables import Tables
from groundwire.connectors.trace import Trace
from groundwire.scorer import Span

__all__ = ["FakePlatform"]

_TRACES = TypeAdapter(Trace)
_FAULTS = TypeAdapter(Faults)
_OVERWRITING = TypeAdapter(Overwriting)
_SCORES = TypeAdapter(StoredScore)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BODIES: dict[str, Any] = {"input_messages": (), "output_messages": (), "input": None, "output": None}


class FakePlatform:
    """Traces in, scores in, both to be looked at; `source()` and `sink()` of the package build its two faces.

    Without a path everything is in memory and traces are given as the objects that were put. With one, any number of
    processes can open the same file, and what is set here (faults, rules, clock, key) holds in all of them.
    """

    def __init__(self, path: Path | str | None = None, *, clock: Callable[[], datetime] | None = None) -> None:
        """`clock` (in memory or for this process) gives the time, UTC; without it, `set_clock`'s or the real one."""
        self._tables = Tables(None if path is None else Path(path))
        self._clock = clock
        self._made: dict[str, tuple[Trace, Trace]] | None = {} if path is None else None
        """In memory: head and whole of each trace; the tables then hold neither."""

    def close(self) -> None:
        """Let go of the database."""
        self._tables.close()

    # ---- how it is set ----

    @property
    def faults(self) -> Faults:
        """What goes wrong."""
        return _FAULTS.validate_python(self._tables.state("faults") or {})

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._tables.set_state("faults", _FAULTS.dump_python(faults, mode="json"))

    @property
    def overwriting(self) -> Overwriting:
        """When a score replaces another."""
        return _OVERWRITING.validate_python(self._tables.state("overwriting") or {})

    @overwriting.setter
    def overwriting(self, rule: Overwriting) -> None:
        self._tables.set_state("overwriting", _OVERWRITING.dump_python(rule, mode="json"))

    @property
    def key(self) -> str:
        """The API key that opens it."""
        return str(self._tables.state("key") or "fake-key")

    @key.setter
    def key(self, key: str) -> None:
        self._tables.set_state("key", key)

    def now(self) -> datetime:
        """The platform's time, UTC."""
        if self._clock is not None:
            return self._clock()
        micros = self._tables.state("clock")
        return datetime.now(UTC) if micros is None else _EPOCH + timedelta(microseconds=micros)

    def set_clock(self, now: datetime | None) -> None:
        """Stop the clock at a moment; None lets it run again."""
        self._tables.set_state("clock", None if now is None else _micros(now))

    def advance(self, seconds: float) -> None:
        """Move a stopped clock, forwards or back."""
        self.set_clock(self.now() + timedelta(seconds=seconds))

    def fail(self, status: int, *, times: int = 1, retry_after: float = 0.0) -> None:
        """Answer the next `times` calls with that status, and a Retry-After header where it is above 0 (seconds)."""
        with self._tables.transaction():
            script = self._tables.state("script") or []
            self._tables.set_state("script", script + [[status, retry_after]] * times)

    # ---- what applications do ----

    def put(self, trace: Trace) -> None:
        """An application sends a trace, or more of it: spans it already has are replaced, the others stay."""
        self.put_all((trace,))

    def put_all(self, traces: Iterable[Trace]) -> None:
        """Send many, quickly."""
        with self._tables.transaction():
            lag, now = self.faults.lag, _micros(self.now())
            self._settle(now)
            for trace in traces:
                if lag > 0:
                    self._tables.add_pending(trace.trace_id, _dump(trace), visible=now + round(lag * 1e6))
                else:
                    self._store(trace)

    def add_span(self, span: Span, *, after: float = 0.0) -> None:
        """A span of a trace that was put arrives `after` that many seconds, or replaces the one with its id."""
        with self._tables.transaction():
            delay = self.faults.lag + after
            now = _micros(self.now())
            self._settle(now)
            known = self._known(span.trace_id)
            late = Trace(trace_id=span.trace_id, spans=(span,), source="fake") if known is None else known
            late = replace(late, spans=(span,))
            if delay > 0:
                self._tables.add_pending(span.trace_id, _dump(late), visible=now + round(delay * 1e6))
            else:
                self._store(late)

    def put_unreadable(self, trace_id: str, *, ended: datetime) -> None:
        """A trace that is listed and whose body is no JSON."""
        with self._tables.transaction():
            head = Trace(trace_id=trace_id, spans=(), source="fake")
            version = self._tables.next_number("version")
            self._tables.write_trace((trace_id, _micros(ended), version, _dump(head), '{"trace_id": '))

    def delete(self, trace_id: str) -> None:
        """Someone deletes a trace."""
        self._tables.delete_trace(trace_id)
        if self._made is not None:
            self._made.pop(trace_id, None)

    # ---- what there is to see ----

    def scores(self) -> list[StoredScore]:
        """Every score, by id, name and date: two rows with one id are what a person would see twice."""
        found = [_SCORES.validate_python(body) for body in self._tables.scores()]
        return sorted(found, key=lambda score: (score.score_id, score.name, score.timestamp))

    def calls(self) -> dict[str, int]:
        """How many API calls were made, refused ones too, by endpoint."""
        return self._tables.calls()

    def trace_count(self) -> int:
        """How many traces can be read now."""
        with self._tables.transaction():
            self._settle(_micros(self.now()))
            return self._tables.trace_count()

    # ---- its API: each raises `Refused` ----

    def list_traces(
        self,
        key: str,
        start: datetime,
        end: datetime,
        *,
        limit: int,
        after: tuple[int, str] | None = None,
        newest_first: bool = False,
    ) -> tuple[list[Listed], tuple[int, str] | None]:
        """Traces whose root ended in `[start, end)`, oldest first, and where to go on; None at the end."""
        with self._call("list", key) as faults:
            limit = min(limit, faults.page_limit)
            rows = self._tables.stretch(
                _micros(start), _micros(end), limit=limit, after=after, newest_first=newest_first
            )
            beyond = (rows[-1][1], rows[-1][0]) if len(rows) == limit else None
            listed = [
                Listed(
                    trace_id=trace_id,
                    ended_at=_EPOCH + timedelta(microseconds=ended),
                    version=version,
                    head=self._made[trace_id][0] if self._made is not None and trace_id in self._made else head,
                )
                for trace_id, ended, version, head in rows
            ]
            if faults.repeat_every:
                listed += listed[:: faults.repeat_every]
            if faults.shuffle:
                Random(len(listed)).shuffle(listed)
            return listed, beyond

    def read_traces(self, key: str, trace_ids: Sequence[str]) -> list[tuple[str, int, str | Trace]]:
        """Those of these traces that are there, whole, each with its id and version."""
        with self._call("read", key) as faults:
            if len(trace_ids) > faults.page_limit:
                raise Refused(400)
            found: list[tuple[str, int, str | Trace]] = []
            for trace_id, _, version, _, body in self._tables.traces(trace_ids):
                made = self._made.get(trace_id) if self._made is not None else None
                whole: str | Trace = body if made is None else made[1]
                if faults.shuffle:
                    whole = _shuffled(whole)
                found.append((trace_id, version, whole))
            return found

    def was_deleted(self, trace_id: str) -> bool:
        """Whether a trace that isn't there once was."""
        return self._tables.was_deleted(trace_id)

    def write_scores(self, key: str, scores: Sequence[StoredScore]) -> list[int]:
        """Store them by the rule of `overwriting`; an HTTP status for each: 201, 422 (never) or 503 (not now)."""
        with self._call("write", key) as faults:
            if len(scores) > faults.page_limit:
                raise Refused(413)
            rule = self.overwriting
            statuses = []
            for score in scores:
                if faults.refuse_every and _drawn(score.score_id) % faults.refuse_every == 0:
                    statuses.append(422)
                elif faults.busy_every and self._tables.next_number("sent") % faults.busy_every == 0:
                    statuses.append(503)
                else:
                    self._write(score, rule)
                    statuses.append(201)
            return statuses

    def delete_score(self, key: str, score_id: str) -> None:
        """Delete every score with that id; there need be none."""
        with self._call("delete", key):
            self._tables.delete_scores(score_id)

    # ---- inside ----

    @contextmanager
    def _call(self, endpoint: str, key: str) -> Iterator[Faults]:
        refused = None
        with self._tables.transaction():
            faults = self.faults
            self._tables.count(endpoint)
            refused = self._refusal(key, faults)
            if refused is None:
                self._settle(_micros(self.now()))
                yield faults
        if refused is not None:
            raise refused

    def _refusal(self, key: str, faults: Faults) -> Refused | None:
        script = self._tables.state("script")
        if script:
            self._tables.set_state("script", script[1:])
            return Refused(int(script[0][0]), after=float(script[0][1]))
        now = self.now()
        if (faults.down_from is not None or faults.down_until is not None) and (
            (faults.down_from is None or faults.down_from <= now)
            and (faults.down_until is None or now < faults.down_until)
        ):
            return Refused(503)
        if faults.limit_every and self._tables.next_number("limited") % faults.limit_every == 0:
            return Refused(429, after=faults.retry_after)
        return Refused(401) if key != self.key else None

    def _settle(self, now: int) -> None:
        for _, body in self._tables.take_pending(now):
            self._store(_TRACES.validate_json(body))

    def _known(self, trace_id: str) -> Trace | None:
        if self._made is not None and trace_id in self._made:
            return self._made[trace_id][1]
        row = self._tables.trace(trace_id)
        return None if row is None else _TRACES.validate_json(row[4])

    def _store(self, trace: Trace) -> None:
        known = self._known(trace.trace_id)
        if known is not None:
            spans = {span.span_id: span for span in (*known.spans, *trace.spans)}
            trace = replace(trace, spans=tuple(spans.values()))
        trace = replace(trace, spans=tuple(sorted(trace.spans, key=lambda span: (span.start_time, span.span_id))))
        head = replace(trace, spans=tuple(span.model_copy(update=_BODIES) for span in trace.spans))
        version = self._tables.next_number("version")
        ended = ended_at(trace) or self.now()
        if self._made is None:
            self._tables.write_trace((trace.trace_id, _micros(ended), version, _dump(head), _dump(trace)))
        else:
            self._tables.write_trace((trace.trace_id, _micros(ended), version, "", ""))
            self._made[trace.trace_id] = (head, trace)

    def _write(self, score: StoredScore, rule: Overwriting) -> None:
        slot = score.score_id
        if rule.key == "id_name_date":
            slot = f"{score.score_id}\n{score.name}\n{score.timestamp.astimezone(UTC).date()}"
        stored = self._tables.score(slot)
        if stored is not None:
            old = _SCORES.validate_python(stored)
            score = replace(score, writes=old.writes + 1)
            if rule.merge:
                score = replace(
                    old,
                    value=score.value,
                    comment=score.comment or old.comment,
                    metadata={**old.metadata, **score.metadata},
                    writes=score.writes,
                )
        self._tables.write_score(slot, score.score_id, _SCORES.dump_python(score, mode="json"))


def _dump(trace: Trace) -> str:
    return _TRACES.dump_json(trace).decode()


def _shuffled(trace: str | Trace) -> str | Trace:
    if isinstance(trace, str):
        try:
            trace = _TRACES.validate_json(trace)
        except ValidationError:
            return trace
    spans = list(trace.spans)
    Random(trace.trace_id).shuffle(spans)
    return replace(trace, spans=tuple(spans))


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _drawn(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")
