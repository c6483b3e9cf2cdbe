"""The line: from a source's page to rows in the state and scores in the outbox.

 born ─▶ fetch ─▶ read ─▶ partition ─▶ sample ─▶ reserve ─▶ judge ─▶ weigh ─▶ settle ─▶ comment ─▶ deliver ─▶ close

Every step may happen twice, and the second time is nothing: work is stored before the cursor moves, money is held
before a call and booked with its cached reply after it, a row is stored with its scores or not at all.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from pydantic import JsonValue
from sqlalchemy import Connection

from groundwire.connectors import Page, Source, Trace, Window
from groundwire.jobs.admission import (
    Admission,
    Evaluator,
    admit,
    is_complete,
    last_change,
    passed_over,
    quiet,
    read_origin,
)
from groundwire.jobs.fetching import fetch_traces, partition_in
from groundwire.jobs.outcome import backoff, facts_of, scores_of
from groundwire.jobs.store import Store, counts, cursors, gaps, outcomes, rows, work
from groundwire.jobs.store.work import Item
from groundwire.scorer import (
    Account,
    Broken,
    FactCheck,
    GiveUp,
    Ledger,
    Material,
    Partition,
    Reservation,
    RetryLater,
    Row,
    SkipThis,
    Usage,
)

__all__ = ["STEPS", "At", "Line", "Progress", "Step", "Watched", "unwatched"]

log = logging.getLogger(__name__)

Step = Literal[
    "born", "fetch", "read", "partition", "sample", "reserve", "judge", "weigh", "settle", "comment", "deliver", "close"
]
STEPS: tuple[Step, ...] = (
    "born",
    "fetch",
    "read",
    "partition",
    "sample",
    "reserve",
    "judge",
    "weigh",
    "settle",
    "comment",
    "deliver",
    "close",
)
"""The steps of the line in order; the fault tests kill the process at each of them."""

At = Callable[[Step], None]
"""Called as each step begins."""

CLAIM_FOR = timedelta(seconds=90)
"""How long a claim holds unless it is renewed: what a killed process leaves behind is due again after that."""
GIVEN_UP_FOR = timedelta(minutes=10)
"""How long work waits whose judge is lost: until then somebody may have mended the key or the quota."""
HEARTBEAT = 30.0
"""Seconds between two renewals of what is claimed."""


def unwatched(step: Step) -> None:
    """What happens at a step where nobody watches."""


@dataclass(kw_only=True)
class Progress:
    """What one turn of the line came to."""

    seen: int = 0
    """Traces that the source looked at."""
    enqueued: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    nothing_new: int = 0
    """Work that came to nothing: the same content again, or a trace that is gone."""
    postponed: int = 0
    filtered: dict[str, int] = field(default_factory=dict)
    """By evaluator: traces that its filter let by."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """By evaluator: names of traces that its filter let by, for a filter that matches nothing."""
    problems: int = 0
    micro_dollars: int = 0
    over_budget: bool = False
    """Whether a cap left something for later."""

    def __add__(self, other: "Progress") -> "Progress":
        return Progress(
            seen=self.seen + other.seen,
            enqueued=self.enqueued + other.enqueued,
            by_status=dict(Counter(self.by_status) + Counter(other.by_status)),
            nothing_new=self.nothing_new + other.nothing_new,
            postponed=self.postponed + other.postponed,
            filtered=dict(Counter(self.filtered) + Counter(other.filtered)),
            examples={**self.examples, **other.examples},
            problems=self.problems + other.problems,
            micro_dollars=self.micro_dollars + other.micro_dollars,
            over_budget=self.over_budget or other.over_budget,
        )

    def add(self, row: Row) -> None:
        """Count a row."""
        self.by_status[row.status] = self.by_status.get(row.status, 0) + 1
        self.micro_dollars += row.usage.micro_dollars


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A ledger that tells when money is held and booked."""

    ledger: Ledger
    at: At

    async def reserve(self, account: Account, micro_dollars: int) -> Reservation | None:
        """See `Ledger.reserve`."""
        self.at("reserve")
        return await self.ledger.reserve(account, micro_dollars)

    async def settle(self, reservation: Reservation, usage: Usage, cache: Mapping[str, str] | None = None) -> None:
        """See `Ledger.settle`."""
        self.at("settle")
        await self.ledger.settle(reservation, usage, cache)

    async def release(self, reservation: Reservation) -> None:
        """See `Ledger.release`."""
        await self.ledger.release(reservation)


@dataclass(frozen=True, kw_only=True)
class _Finished:
    """What became of one piece of work: a row to store, or nothing but its end."""

    item: Item
    outcome: outcomes.Outcome | None = None
    end: Callable[[Connection], None] | None = None
    passed: str | None = None
    """As what a gate let it pass, to be counted with its row."""
    nothing_new: bool = False


@dataclass(kw_only=True)
class Line:
    """One source and its evaluators. `turn` pulls what is new and judges what is due."""

    name: str
    """The source's name in the configuration."""
    project: str
    source: Source
    evaluators: Sequence[Evaluator]
    store: Store
    clock: Callable[[], datetime]
    owner: str
    """This process, for leases and claims."""
    run_id: str
    live: bool = True
    rate: float | None = None
    """A backfill's own sampling rate."""
    rescore: bool = False
    concurrency: int = 64
    """Pieces of work under way at once."""
    store_text: bool = True
    at: At = unwatched
    seen: Callable[[Progress], None] | None = None
    """Told after every stored batch."""
    told: Callable[[str, Row], None] | None = None
    """Told of every stored row, with its evaluator's name."""
    gave_up: dict[str, str] = field(default_factory=dict)
    """By evaluator: why its judge is lost, in a line that says what to do. The other evaluators go on."""
    _traces: dict[str, Trace] = field(default_factory=dict)
    """The traces of the last two pages, so that judging them needs no fetch."""
    _at_hand: dict[str, Trace] = field(default_factory=dict)
    """By work id: the traces of what is claimed, as far as they need no fetch."""
    _claimed: dict[str, Item] = field(default_factory=dict)
    _finished: list["_Finished"] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _hungry: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while everything due is claimed: the next page may come."""
    _arrived: bool = False
    _over_budget: bool = False
    _over: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By evaluator and reason: traces passed over by their heads since the last page."""
    _let_by: dict[str, list[str]] = field(default_factory=dict)

    async def turn(
        self, window: Window | None, *, cursor_name: str | None = None, limit: int | None = None
    ) -> Progress:
        """Pull the window's pages and judge what is due; returns when nothing more is due.

        Without a window nothing is pulled: another process does, and this one shares the judging. The cursor moves
        page by page, each in the transaction that stores the page's work. Pulling is never more than a page ahead of
        judging. Raises RetryLater and GiveUp as the source and the judges do; what was stored stays.
        """
        progress = Progress()
        pulling = asyncio.create_task(self._pull(window, cursor_name or self.name, limit, progress))
        pulling.add_done_callback(lambda _: self._changed.set())
        beating = asyncio.create_task(self._beat())
        try:
            await self._judge(pulling, progress)  # what is due is judged, also where the source has failed meanwhile
            progress.over_budget = self._over_budget
            await pulling
        finally:
            for task in (pulling, beating):
                task.cancel()
            await asyncio.gather(pulling, beating, return_exceptions=True)
        return progress

    async def _pull(self, window: Window | None, cursor_name: str, limit: int | None, progress: Progress) -> None:
        if window is None:
            return
        places = await self.store.read(cursors.places, cursor_name)
        cursor = places[0].cursor if places else None
        reached = (places[0].reached if places else None) or window.start
        began = self.clock()
        before: dict[str, Trace] = {}
        async with aclosing(self._pages(window, cursor)) as pages:
            async for page in pages:
                self.at("read")
                progress.seen += page.seen or len(page.traces)
                progress.problems += len(page.problems)
                admission = self._admit(page.traces)
                if limit is not None:
                    admission = admission.first(max(limit - progress.enqueued, 0))
                await self._hungry.wait()  # never more than a page ahead of judging
                held = {trace.trace_id: trace for trace in page.traces if admission.holds(trace.trace_id)}
                self._traces = {**before, **held}
                before = held
                reached = max(reached, page.reached or reached)
                progress.enqueued += await self.store.write(
                    self._store_page, page, admission, cursor_name, reached=reached
                )
                self._over.clear()
                for name in {*admission.let_by, *self._let_by}:
                    names = [*self._let_by.get(name, ()), *admission.let_by.get(name, ())]
                    progress.filtered[name] = progress.filtered.get(name, 0) + len(names)
                    progress.examples[name] = [*progress.examples.get(name, []), *names][:5]
                self._let_by = {}
                self._arrived = True
                self._hungry.clear()
                self._changed.set()
                if (limit is not None and progress.enqueued >= limit) or (self._over_budget and not self.live):
                    return  # a backfill whose budget is spent goes on when it is given more
                cursor = page.cursor
        if cursor is not None:  # all there was has been given
            end = max(reached, window.end or began)
            await self.store.write(
                cursors.advance, cursor_name, cursor, reached=end, owner=self.owner, now=self.clock()
            )

    async def _pages(self, window: Window, cursor: Mapping[str, JsonValue] | None) -> AsyncGenerator[Page, None]:
        self.at("born")
        async for page in self.source.pull(window, cursor, wanted=self._wanted):
            yield page

    def _wanted(self, head: Trace) -> bool:
        """Whether any evaluator may want a trace, told from its head alone; counts it where none does."""
        reasons = passed_over(head, self.evaluators, rate=self.rate)
        if reasons is None:
            return True
        for name, reason in reasons.items():
            self._over[name, reason] += 1
            if reason == "filtered":
                self._let_by.setdefault(name, []).append(head.name)
        return False

    def _admit(self, traces: Sequence[Trace]) -> Admission:
        self.at("partition")
        return admit(
            traces,
            self.evaluators,
            now=self.clock(),
            at=self.at,
            live=self.live,
            rate=self.rate,
            rescore=self.rescore,
            run_id=self.run_id,
        )

    def _store_page(
        self, tx: Connection, page: Page, admission: Admission, cursor_name: str, *, reached: datetime
    ) -> int:
        now = self.clock()
        new = work.enqueue(tx, admission.arrivals, now=now)
        for evaluator, amounts in admission.counts.items():
            over = {reason: n for (name, reason), n in self._over.items() if name == evaluator}
            counts.add(tx, evaluator, dict(Counter(amounts) + Counter(over)), now=now)
        cursors.advance(tx, cursor_name, page.cursor, reached=reached, owner=self.owner, now=now)
        return new

    async def _judge(self, pulling: "asyncio.Task[None]", progress: Progress) -> None:
        """Claim what is due, work on it, store what came of it; ends when pulling has and nothing is due."""
        waiting: asyncio.Queue[Item] = asyncio.Queue()
        workers = [asyncio.create_task(self._work(waiting)) for _ in range(self.concurrency)]
        for worker in workers:
            worker.add_done_callback(lambda _: self._changed.set())
        all_claimed = False
        try:
            while True:
                self._changed.clear()
                pulled = pulling.done()
                for worker in workers:
                    if worker.done():
                        await worker  # a worker ends only by an error: the judge or the state is lost
                if (self._arrived or not all_claimed) and waiting.qsize() < self.concurrency:
                    self._arrived = False
                    wanted = 2 * self.concurrency - waiting.qsize()
                    items = await self._claim(wanted)
                    for item in items:
                        self._claimed[item.work_id] = item
                        if item.trace_id in self._traces:
                            self._at_hand[item.work_id] = self._traces[item.trace_id]
                        waiting.put_nowait(item)
                    all_claimed = len(items) < wanted
                    if all_claimed:
                        self._hungry.set()
                if self._finished:
                    await self._store(progress)
                elif not self._claimed and all_claimed and pulled and not self._arrived:
                    return
                else:
                    await self._changed.wait()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self._give_back()

    async def _give_back(self) -> None:
        """Store what is finished and let go of what isn't, so that a stopped process leaves nothing behind."""
        with suppress(RetryLater):  # the claims lapse by themselves where the state is away
            if self._finished:
                await self._store(Progress())
            left, self._claimed = list(self._claimed.values()), {}
            await self.store.write(self._let_go, left)

    def _let_go(self, tx: Connection, items: Sequence[Item]) -> None:
        for item in items:
            work.postpone(tx, item, not_before=self.clock(), reason="stopped")

    async def _beat(self) -> None:
        """Keep what is claimed for as long as it is worked on."""
        while True:
            await asyncio.sleep(HEARTBEAT)
            by_claim: dict[str, list[Item]] = {}
            for item in self._claimed.values():
                by_claim.setdefault(item.claim, []).append(item)
            until = self.clock() + CLAIM_FOR
            with suppress(RetryLater):  # the next beat may reach the state again
                for items in by_claim.values():
                    await self.store.write(work.extend, items, until=until)

    async def _claim(self, limit: int) -> list[Item]:
        now = self.clock()
        return await self.store.write(
            work.claim,
            evaluators=[evaluator.spec.name for evaluator in self.evaluators],
            limit=limit,
            now=now,
            until=now + CLAIM_FOR,
            live=self.live,
            run_id=None if self.live else self.run_id,
        )

    async def _store(self, progress: Progress) -> None:
        """Store everything that is finished in one transaction."""
        batch = list(self._finished)
        stored = await self.store.write(self._store_batch, batch)
        del self._finished[: len(batch)]  # only now: what couldn't be stored is stored by the next try
        for one, was_stored in zip(batch, stored, strict=True):
            self.at("close")
            self._claimed.pop(one.item.work_id, None)
            if one.outcome is not None and was_stored:
                progress.add(one.outcome.row)
                if self.told is not None:
                    self.told(one.item.evaluator, one.outcome.row)
            elif one.outcome is not None or one.nothing_new:
                progress.nothing_new += 1
            else:
                progress.postponed += 1
        if self.seen is not None:
            self.seen(progress)

    def _store_batch(self, tx: Connection, batch: Sequence[_Finished]) -> list[bool]:
        now = self.clock()
        work.lock(tx, [one.item for one in batch])
        rowed = [(index, one.item, one.outcome) for index, one in enumerate(batch) if one.outcome is not None]
        finished = [(item, outcome) for _, item, outcome in rowed]
        stored = outcomes.finish_all(tx, finished, now=now, store_text=self.store_text)
        new = {index for (index, _, _), was_stored in zip(rowed, stored, strict=True) if was_stored}
        for one in batch:
            if one.end is not None:
                one.end(tx)
        for index, item, outcome in rowed:
            if index in new and outcome.row.status == "skipped" and outcome.row.reason == "over_budget":
                moment = outcome.trace_time or now
                gaps.note(
                    tx,
                    source=self.name,
                    evaluator=item.evaluator,
                    why="cap",
                    key=now.date().isoformat(),
                    starts_at=moment,
                    ends_at=moment,
                    n=1,
                    now=now,
                )
        for (evaluator, reason), n in Counter(
            (one.item.evaluator, one.passed) for index, one in enumerate(batch) if one.passed and index in new
        ).items():
            counts.add(tx, evaluator, {reason: n}, now=now)
        return [index in new for index in range(len(batch))]

    async def _work(self, waiting: "asyncio.Queue[Item]") -> None:
        while True:
            item = await waiting.get()
            self._finished.append(await self._one(item))
            self._changed.set()

    async def _one(self, item: Item) -> _Finished:
        """Take one piece of work through the line."""
        evaluator = next(one for one in self.evaluators if one.spec.name == item.evaluator)
        try:
            traces = await self._traces_of(item)
        except RetryLater as error:
            return self._later(item, evaluator, reason="source_unavailable", after=error.after)
        except SkipThis:
            return self._ended(item, "gone")
        now = self.clock()
        settled = max(map(last_change, traces)) + quiet(evaluator.spec)
        if settled > now:
            return self._postponed(item, not_before=settled, reason="settling", waiting=True)
        partition = partition_in(traces, item.partition_id, evaluator)
        if partition is None:
            return self._ended(item, "gone" if item.partition_type != "session" else "resumed")
        if not all(map(is_complete, traces)) and now - item.first_seen < timedelta(seconds=evaluator.spec.max_wait):
            again = now + timedelta(seconds=max(evaluator.spec.settle, 1.0))
            return self._postponed(item, not_before=again, reason="incomplete", waiting=True)
        try:
            if item.evaluator not in self.gave_up:
                return await self._scored(item, evaluator, traces, partition)
        except RetryLater as error:  # the state is away for a while
            return self._later(item, evaluator, reason="state_unavailable", after=error.after)
        except GiveUp as error:
            self.gave_up[item.evaluator] = str(error)
            log.error("%s", error, extra={"action": "give_up", "evaluator": item.evaluator})
        return self._postponed(item, not_before=self.clock() + GIVEN_UP_FOR, reason="judge_gave_up")

    async def _traces_of(self, item: Item) -> Sequence[Trace]:
        held = self._at_hand.pop(item.work_id, None)
        session = item.session_id if item.partition_type == "session" else None
        if held is not None and session is None:
            return [held]
        self.at("fetch")
        return await fetch_traces(self.source, read_origin(item.origin), session_id=session)

    async def _scored(
        self, item: Item, evaluator: Evaluator, traces: Sequence[Trace], partition: Partition
    ) -> _Finished:
        trace = traces[-1]
        found = evaluator.metric.material(partition)
        content_hash = evaluator.metric.content_hash(partition, found=found)
        arrival_hash = evaluator.arrival_hash(trace) if item.partition_type == "session" else content_hash
        before = await self.store.read(rows.history, item.work_id) if item.revision > 1 else []
        same = next(
            (
                old
                for old in before
                if old.content_hash == content_hash and rows.is_judged(old.row.status, old.row.reason)
            ),
            None,
        )
        if same is not None and not (item.rescore and same.row.config_fingerprint != evaluator.metric.fingerprint):
            if same.superseded_at is None:
                return self._ended(item, None, content_hash=arrival_hash)
            return self._restored(item, evaluator, trace, partition, same, arrival_hash)
        self.at("judge")
        account = self._account(item)
        # a gate is for what comes in: what was judged once is judged again when it changes
        judged = any(rows.is_judged(old.row.status, old.row.reason) for old in before)
        gate = None if judged else await self._gate(evaluator, trace, found, account)
        if gate is not None and gate.label == "no_fact_check_needed":
            return self._needless(item, arrival_hash)
        row = await self._row(item, evaluator, trace, partition, found, account)
        if gate is not None:
            row = row.model_copy(update={"usage": row.usage + gate.usage})
        self.at("weigh")
        if row.status == "error" and row.reason != "target_error" and item.attempts < evaluator.spec.max_attempts:
            return self._later(item, evaluator, reason=row.reason or "error", after=0.0)
        if row.reason == "over_budget" and (evaluator.spec.on_cap == "wait" or not self.live):
            self._over_budget = True
            again = evaluator.room_again(self.clock()) if self.live else self.clock() + timedelta(hours=1)
            return self._postponed(item, not_before=again, reason="over_budget")
        self.at("comment")
        current = next((old for old in before if old.superseded_at is None), None)
        return _Finished(
            item=item,
            passed=None if gate is None else "needs_fact_check" if gate.label != "unknown" else "fact_check_unknown",
            outcome=outcomes.Outcome(
                row=row,
                content_hash=content_hash,
                arrival_hash=arrival_hash,
                scores=scores_of(
                    row, evaluator.spec, trace, partition, source=self.name, project=self.project, before=current
                ),
                trace_time=trace.start_time,
                user_id=trace.user_id,
                facts=facts_of(trace, partition, before=current),
            ),
        )

    def _account(self, item: Item) -> Account:
        return Account(
            evaluator=item.evaluator, run_id=item.run_id or self.run_id, trace_id=item.trace_id, live=item.live
        )

    async def _gate(
        self, evaluator: Evaluator, trace: Trace, found: Material | Broken, account: Account
    ) -> FactCheck | None:
        """What the evaluator's gate says; None where it has none, and of what gets its row without a judge."""
        if isinstance(found, Broken) or evaluator.refuses(trace) or not is_complete(trace):
            return None
        return await evaluator.fact_check(found.question, account)

    async def _row(
        self,
        item: Item,
        evaluator: Evaluator,
        trace: Trace,
        partition: Partition,
        found: Material | Broken,
        account: Account,
    ) -> Row:
        if evaluator.refuses(trace):
            return evaluator.metric.refused(
                partition, "skipped", "loop", "An evaluator's own trace is never scored.", evaluator=item.evaluator
            )
        if not is_complete(trace):
            return evaluator.metric.refused(
                partition,
                "unknown",
                "incomplete",
                f"It had not completed {evaluator.spec.max_wait:.0f} s after it was first seen.",
                evaluator=item.evaluator,
            )
        return await evaluator.metric.score(partition, account=account, found=found)

    def _restored(
        self,
        item: Item,
        evaluator: Evaluator,
        trace: Trace,
        partition: Partition,
        old: rows.StoredRow,
        content_hash: str,
    ) -> _Finished:
        """The content went back to what an earlier row was for: that row and its scores are current again."""
        scores = scores_of(
            old.row, evaluator.spec, trace, partition, source=self.name, project=self.project, before=old
        )

        def end(tx: Connection) -> None:
            outcomes.restore(tx, item, old.row.row_id, content_hash=content_hash, scores=scores, now=self.clock())

        return _Finished(item=item, end=end, nothing_new=True)

    def _later(self, item: Item, evaluator: Evaluator, *, reason: str, after: float) -> _Finished:
        wait = max(after, backoff(item.attempts, key=item.work_id))
        log.info("retry later", extra={"action": "postpone", "evaluator": evaluator.spec.name, "reason": reason})
        return self._postponed(item, not_before=self.clock() + timedelta(seconds=wait), reason=reason)

    def _postponed(self, item: Item, *, not_before: datetime, reason: str, waiting: bool = False) -> _Finished:
        def end(tx: Connection) -> None:
            work.postpone(tx, item, not_before=not_before, reason=reason, waiting=waiting)

        return _Finished(item=item, end=end)

    def _needless(self, item: Item, arrival_hash: str) -> _Finished:
        """A request that needs no facts: counted, and no row."""

        def end(tx: Connection) -> None:
            reason = "no_fact_check_needed"
            if work.close(tx, item, state="skipped", reason=reason, content_hash=arrival_hash):
                counts.add(tx, item.evaluator, {reason: 1}, now=self.clock())

        return _Finished(item=item, end=end, nothing_new=True)

    def _ended(self, item: Item, reason: str | None, *, content_hash: str | None = None) -> _Finished:
        def end(tx: Connection) -> None:
            work.close(
                tx, item, state="done" if reason is None else "skipped", reason=reason, content_hash=content_hash
            )

        return _Finished(item=item, end=end, nothing_new=True)
