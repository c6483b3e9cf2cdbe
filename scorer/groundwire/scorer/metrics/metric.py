"""How any metric is run: bounded, timed, and ending in a row whatever happens."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import JsonValue

from groundwire.scorer.claims import Claim
from groundwire.scorer.errors import ConfigError, GroundwireError
from groundwire.scorer.evidence import Block, Coverage, View, content_hash
from groundwire.scorer.judge import Capability, Exchange, Failure, Judge, Reply
from groundwire.scorer.judges.estimates import Estimate
from groundwire.scorer.manifest import Manifest
from groundwire.scorer.metrics.config import MetricConfig, MetricSettings
from groundwire.scorer.metrics.shape import Broken
from groundwire.scorer.partition import Partition, PartitionType
from groundwire.scorer.row import Row, Status, package_version
from groundwire.scorer.spend import Account, Usage

__all__ = ["Clock", "Material", "Method", "Metric", "Outcome", "Tally", "failed", "now_utc", "unanswered"]

Clock = Callable[[], datetime]

UNREAD = frozenset({"body_too_large", "payload_missing"})
"""What connectors say of a span whose input and output they could not read."""
TOLD = UNREAD | {"missing_parents"}
"""What connectors say of a trace that its row says too."""


def now_utc() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Material:
    """What stands in a partition to be judged, before any judge is asked."""

    question: str
    answer: str
    blocks: tuple[Block, ...] = ()
    """The whole evidence, untruncated."""
    view: View = field(default_factory=View)
    """What a judge would be shown at first."""
    media: int = 0
    transcript: str = ""
    """The record as a judge is shown it, of a metric that judges against the whole conversation."""
    said: tuple[str, ...] = ()
    """The assistant's earlier turns: part of the record, no evidence."""

    @property
    def content_hash(self) -> str:
        """The identity of what is judged; see `evidence.content_hash`."""
        own = [Block(name="", kind="provided", text=text) for text in self.said]
        return content_hash(self.question, self.answer, (*self.blocks, *own))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What judging one partition found; a row is made of it."""

    status: Status
    reason: str | None = None
    score: float | None = None
    label: str | None = None
    explanation: str = ""
    claims: tuple[Claim, ...] = ()
    dimensions: Mapping[str, float] | None = None


@dataclass(kw_only=True)
class Tally:
    """What the judge's replies to one partition add up to."""

    usage: Usage = field(default_factory=Usage)
    flags: set[str] = field(default_factory=set)
    notes: dict[str, JsonValue] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)

    def add(self, reply: Reply[Any]) -> None:
        """Count a reply."""
        self.usage = self.usage + reply.usage
        self.flags |= reply.flags
        self.notes.update(reply.notes)
        self.exchanges.extend(reply.exchanges)


def failed(failure: Failure | None) -> Outcome:
    """The outcome where the judge gave no value."""
    if failure is None:
        return Outcome(status="error", reason="judge_gave_nothing")
    return Outcome(status=failure.status, reason=failure.reason, explanation=failure.message)


def unanswered(partition: Partition) -> str:
    """Why a partition has no answer: its model or agent failed, or it gave none."""
    errored = any(span.status == "error" for span in partition.spans if span.kind in ("LLM", "AGENT", "CHAIN"))
    return "target_error" if errored else "no_answer"


def _unread(partition: Partition) -> tuple[str, ...]:
    """Names of the spans that a judgement rests on and whose content the platform could not send."""
    return tuple(
        (span.tool_name or span.name)[:80]
        for span in partition.spans
        if (span.kind in ("TOOL", "LLM") or span.parent_id is None) and UNREAD.intersection(_flags(span.attributes))
    )


def _flags(attributes: Mapping[str, JsonValue]) -> tuple[str, ...]:
    found = attributes.get("groundwire.flags")
    return tuple(map(str, found)) if isinstance(found, list) else ()


class Method(Protocol):
    """What makes one metric different from another: how it reads a partition, and how it judges what it read."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def config(self) -> MetricConfig: ...

    @property
    def settings(self) -> MetricSettings: ...

    def needs(self, level: PartitionType) -> tuple[Capability, ...]:
        """What a judge must be able to answer at that level."""
        ...

    def read(self, partition: Partition) -> Material | Broken:
        """The question, answer and evidence of a partition, or the rule that its shape breaks."""
        ...

    def unscorable(self, partition: Partition, material: Material) -> str | None:
        """Why a partition is unknown whoever judges it; None where it can be judged."""
        ...

    def outlook(self, partition: Partition, material: Material, judge: Judge) -> Estimate:
        """What judging it would take."""
        ...

    async def judge(
        self, partition: Partition, material: Material, judge: Judge, tally: Tally, calls: asyncio.Semaphore
    ) -> tuple[Outcome, Coverage]:
        """Ask the judge, at most as many calls at once as `calls` has room for."""
        ...


class Metric:
    """Turns a partition into a row by a method. One instance serves many partitions at once."""

    def __init__(
        self,
        *,
        method: Method,
        judge: Judge,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        """`max_concurrency` partitions are under way at once (the manifest's 8 unless given).

        With `keep_prompts` a row holds the judge's prompts beside its replies, for `groundwire explain`.
        """
        self._method = method
        self._keep_prompts = keep_prompts
        self.judge = judge
        self.manifest = method.manifest
        self._clock = clock
        self._partitions = asyncio.Semaphore(max_concurrency or self.manifest.execution.max_concurrency)
        self._calls = asyncio.Semaphore(method.config.concurrency_limit)

    @property
    def config(self) -> MetricConfig:
        """The fields that the manifest lists."""
        return self._method.config

    @property
    def settings(self) -> MetricSettings:
        """The settings beside them."""
        return self._method.settings

    def judged_by(self, judge: Judge) -> "Metric":
        """The same metric with another judge."""
        return Metric(method=self._method, judge=judge, keep_prompts=self._keep_prompts, clock=self._clock)

    @property
    def fingerprint(self) -> str:
        """16 hex digits over everything that defines a score; rows of different fingerprints are never pooled."""
        defining = {
            "metric": self.manifest.name,
            "version": self.manifest.version,
            "config": self.config.defining(),
            "settings": self.settings.model_dump(mode="json", exclude={"prompts_dir"}),
            "judge": self.judge.version.model_dump(mode="json"),
        }
        text = json.dumps(defining, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def require(self, partition_type: PartitionType) -> None:
        """Raise `ConfigError` where the metric has no such level, or the judge can't answer what it asks there."""
        if partition_type not in self.manifest.partition_types:
            levels = " and ".join(self.manifest.partition_types)
            raise ConfigError(f"{self.manifest.name} scores {levels} partitions, not {partition_type}s")
        needed = self._method.needs(partition_type)
        missing = [capability for capability in needed if capability not in self.judge.capabilities]
        if missing:
            code = "span_required: " if "spans" in missing else ""
            raise ConfigError(
                f"{code}the {self.judge.version.kind} judge can't answer {', '.join(missing)}, which "
                f"{self.manifest.name} asks at {partition_type} level; choose another judge or level"
            )

    def material(self, partition: Partition) -> Material | Broken:
        """The question, answer and evidence of a partition, or the rule that its shape breaks. Asks no judge."""
        return self._method.read(partition)

    def broken(self, partition: Partition) -> Broken | None:
        """The rule that a partition's shape breaks, if any."""
        found = self.material(partition)
        return found if isinstance(found, Broken) else None

    def outlook(self, partition: Partition) -> Estimate:
        """What judging a partition would take; nothing where it would get its row without a call. Asks no judge."""
        found = self.material(partition)
        if isinstance(found, Broken) or _unread(partition) or self._method.unscorable(partition, found) is not None:
            return Estimate()
        return self._method.outlook(partition, found, self.judge)

    async def score(
        self, partition: Partition, *, account: Account | None = None, found: Material | Broken | None = None
    ) -> Row:
        """The row of one partition; `found` is its `material`, where that has been read already.

        Raises `ConfigError` for a level that the metric or its judge can't do, `GiveUp` where the judge is lost for
        every partition (a wrong key, a model that is gone), and `RetryLater` where the ledger's state is away.
        Everything else is a row, also a fault of our own (`error: internal_error`, with the exception's name).
        """
        self.require(partition.partition_type)
        account = account or Account(trace_id=partition.trace_id)
        async with self._partitions:
            found = found or self.material(partition)
            tally = Tally(flags=set(TOLD.intersection(_flags(partition.attributes))))
            if missing := _unread(partition):  # before its shape: what isn't read may be what the shape lacks
                why = (
                    f"The platform could not send what {', '.join(missing[:5])} held; without it nothing can be judged."
                )
                outcome = Outcome(status="unknown", reason="incomplete", explanation=why)
                coverage = Coverage() if isinstance(found, Broken) else found.view.coverage
                return self._row(partition, found, outcome, coverage, tally, evaluator=account.evaluator)
            if isinstance(found, Broken):
                outcome = Outcome(status="invalid", reason=found.rule, explanation=found.remedy)
                return self._row(partition, found, outcome, Coverage(), tally, evaluator=account.evaluator)
            judge = self.judge.bound(account)
            try:
                async with asyncio.timeout(self.manifest.execution.timeout_seconds):
                    outcome, coverage = await self._judged(partition, found, judge, tally)
            except TimeoutError:
                outcome, coverage = Outcome(status="error", reason="timeout"), found.view.coverage
            except GroundwireError:
                raise
            except Exception as error:  # noqa: BLE001 - one bad partition never stops a run: its row says what broke
                outcome = Outcome(status="error", reason="internal_error", explanation=type(error).__name__)
                coverage = found.view.coverage
            return self._row(partition, found, outcome, coverage, tally, evaluator=account.evaluator)

    async def _judged(
        self, partition: Partition, material: Material, judge: Judge, tally: Tally
    ) -> tuple[Outcome, Coverage]:
        reason = self._method.unscorable(partition, material)
        if reason is not None:
            return Outcome(status="unknown", reason=reason), material.view.coverage
        return await self._method.judge(partition, material, judge, tally, self._calls)

    def refused(
        self, partition: Partition, status: Status, reason: str, explanation: str = "", *, evaluator: str = ""
    ) -> Row:
        """A row for a partition that is not judged (a duplicate, an evaluator's own trace, never completed, …)."""
        found = self.material(partition)
        outcome = Outcome(status=status, reason=reason, explanation=explanation)
        coverage = Coverage() if isinstance(found, Broken) else found.view.coverage
        return self._row(partition, found, outcome, coverage, Tally(), evaluator=evaluator)

    def rejected(
        self, partition_type: PartitionType, partition_id: str, trace_id: str, *, reason: str, explanation: str
    ) -> Row:
        """An `invalid` row for a partition that breaks its own form, so that it can't be built."""
        partition = Partition.model_construct(
            partition_type=partition_type, partition_id=partition_id, trace_id=trace_id, spans=()
        )
        outcome = Outcome(status="invalid", reason=reason, explanation=explanation)
        return self._row(partition, self.material(partition), outcome, Coverage(), Tally(), evaluator="")

    def content_hash(self, partition: Partition, *, found: Material | Broken | None = None) -> str:
        """The identity of what is judged; of a partition of an invalid shape, of that shape.

        `found` is the partition's `material`, where that has been read already.
        """
        found = found or self.material(partition)
        if isinstance(found, Material):
            return found.content_hash
        spans = sorted((span.span_id, span.parent_id or "", span.kind) for span in partition.spans)
        return hashlib.sha256(json.dumps([found.rule, spans]).encode()).hexdigest()

    def _row(
        self,
        partition: Partition,
        found: Material | Broken,
        outcome: Outcome,
        coverage: Coverage,
        tally: Tally,
        *,
        evaluator: str,
    ) -> Row:
        fingerprint = self.fingerprint
        identity = [
            evaluator,
            self.manifest.name,
            self.manifest.version,
            fingerprint,
            partition.partition_type,
            partition.partition_id,
            self.content_hash(partition, found=found),
            # an error is not an answer: what a retry finds is a row of its own
            outcome.reason if outcome.status in ("error", "skipped") else "",
        ]
        judge: dict[str, JsonValue] = self.judge.version.model_dump(mode="json")
        if tally.notes:
            judge["notes"] = dict(tally.notes)
        if tally.exchanges:
            judge["replies"] = [self._reply(item) for item in tally.exchanges]
        return Row(
            row_id="row_" + hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:20],
            partition_id=partition.partition_id,
            partition_type=partition.partition_type,
            trace_id=partition.trace_id,
            session_id=partition.session_id,
            target_span_id=partition.target_span_id,
            metric=self.manifest.name,
            metric_version=self.manifest.version,
            status=outcome.status,
            reason=outcome.reason,
            score=outcome.score,
            label=outcome.label,
            direction=self.manifest.direction,
            explanation=outcome.explanation,
            claims=outcome.claims,
            dimensions=outcome.dimensions,
            coverage=coverage,
            flags=tuple(sorted(tally.flags)),
            usage=tally.usage,
            judge=judge,
            config_fingerprint=fingerprint,
            groundwire_version=package_version(),
            created_at=self._clock(),
        )

    def _reply(self, item: Exchange) -> dict[str, JsonValue]:
        kept: dict[str, JsonValue] = {"question": item.question, "reply": item.reply}
        return kept | {"prompt": item.prompt} if self._keep_prompts else kept
