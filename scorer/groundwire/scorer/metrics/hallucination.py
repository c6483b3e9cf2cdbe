"""`agent.hallucination` 1.0.0: how well an agent's text rests on the evidence it had, at span and trace level."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import JsonValue, ValidationError

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Claim, DraftClaim
from groundwire.scorer.errors import ConfigError, GroundwireError
from groundwire.scorer.evidence import Block, BlockCoverage, Coverage, Limits, Shown, View, content_hash, fit
from groundwire.scorer.judge import Capability, Failure, Judge, Reply
from groundwire.scorer.judges.config import judge_config_of
from groundwire.scorer.judges.estimates import Estimate, estimate
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.manifest import load_manifest
from groundwire.scorer.metrics.config import HallucinationConfig, HallucinationSettings
from groundwire.scorer.metrics.reading import (
    answer_of,
    given_blocks,
    last_text,
    media_in,
    question_of,
    response_parts,
    tool_blocks,
)
from groundwire.scorer.metrics.shape import Broken, tree_of
from groundwire.scorer.metrics.span_evidence import view_of_responses
from groundwire.scorer.naming import rekind
from groundwire.scorer.partition import Partition, PartitionType
from groundwire.scorer.row import Row, Status, package_version
from groundwire.scorer.selection import select
from groundwire.scorer.spend import Account, Usage

__all__ = ["DIMENSION_WEIGHTS", "LABEL_WEIGHTS", "HallucinationMetric", "Material", "get_trace_metric", "weigh"]

LABEL_WEIGHTS: Mapping[str, float] = {"supported": 1.0, "inferred": 0.5, "model_knowledge": 0.7, "hallucinated": 0.0}
"""What a claim earns by its label, as the metric's manifest says."""
DIMENSION_WEIGHTS: Mapping[str, float] = {
    "numeric": 0.35,
    "categorical": 0.25,
    "no_fabrication": 0.30,
    "completeness": 0.10,
}
"""What each dimension of the SPAN path weighs, as the metric's manifest says."""
DECIDED_SHARE = 0.8
"""Least share of the claims that must bear a label for a score to be given (DESIGN §3)."""

LONGEST_CHECKED = 1_000
"""Most characters of a claim that the code checks read: more is no statement, and costs seconds."""

Clock = Callable[[], datetime]


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

    @property
    def content_hash(self) -> str:
        """The identity of what is judged; see `evidence.content_hash`."""
        return content_hash(self.question, self.answer, self.blocks)


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    """What one path found; the metric makes a row of it."""

    status: Status
    reason: str | None = None
    score: float | None = None
    label: str | None = None
    explanation: str = ""
    claims: tuple[Claim, ...] = ()
    dimensions: Mapping[str, float] | None = None


@dataclass(kw_only=True)
class _Tally:
    """What the judge's replies to one partition add up to."""

    usage: Usage = field(default_factory=Usage)
    flags: set[str] = field(default_factory=set)
    notes: dict[str, JsonValue] = field(default_factory=dict)
    exchanges: list[Any] = field(default_factory=list)

    def add(self, reply: Reply[Any]) -> None:
        self.usage = self.usage + reply.usage
        self.flags |= reply.flags
        self.notes.update(reply.notes)
        self.exchanges.extend(reply.exchanges)


def weigh(labels: Sequence[str | None]) -> float | None:
    """The TRACE score: the mean weight of the labelled claims, in [0, 1].

    None where there are no claims, or less than 80 % of them have a label.
    """
    weights = [LABEL_WEIGHTS[label] for label in labels if label is not None]
    if not weights or len(weights) < DECIDED_SHARE * len(labels):
        return None
    return round(sum(weights) / len(weights), 9)


class HallucinationMetric:
    """Turns a partition into a row. One instance serves many partitions at once."""

    def __init__(
        self,
        *,
        judge: Judge,
        config: HallucinationConfig | None = None,
        settings: HallucinationSettings | None = None,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = lambda: datetime.now(UTC),
    ) -> None:
        """`max_concurrency` partitions are under way at once (the manifest's 8 unless given).

        With `keep_prompts` a row holds the judge's prompts beside its replies, for `groundwire explain`.
        """
        self._keep_prompts = keep_prompts
        self.judge = judge
        self.config = config or HallucinationConfig()
        self.settings = settings or HallucinationSettings()
        self.manifest = load_manifest("agent.hallucination", HallucinationConfig.model_json_schema)
        self._clock = clock
        self._partitions = asyncio.Semaphore(max_concurrency or self.manifest.execution.max_concurrency)
        self._calls = asyncio.Semaphore(self.config.concurrency_limit)

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

    def require(self, partition_type: str) -> None:
        """Raise `ConfigError` where the judge can't answer what this level asks."""
        if partition_type not in self.manifest.partition_types:
            levels = " and ".join(self.manifest.partition_types)
            raise ConfigError(f"{self.manifest.name} scores {levels} partitions, not {partition_type}s")
        needed: tuple[Capability, ...] = ("faithfulness",) if partition_type == "span" else ("split", "label")
        missing = [capability for capability in needed if capability not in self.judge.capabilities]
        if missing:
            raise ConfigError(
                f"the {self.judge.version.kind} judge can't answer {', '.join(missing)}, which "
                f"{self.manifest.name} asks at {partition_type} level; choose another judge or level"
            )

    def material(self, partition: Partition) -> Material | Broken:
        """The question, answer and evidence of a partition, or the rule that its shape breaks. Asks no judge."""
        if partition.partition_type == "span":
            return self._span_material(partition)
        return self._trace_material(partition)

    def broken(self, partition: Partition) -> Broken | None:
        """The rule that a partition's shape breaks, if any."""
        found = self.material(partition)
        return found if isinstance(found, Broken) else None

    def outlook(self, partition: Partition) -> Estimate:
        """What judging a partition would take; nothing where it would get its row without a call. Asks no judge."""
        found = self.material(partition)
        if isinstance(found, Broken) or self._unscorable(partition, found) is not None:
            return Estimate()
        path: Literal["span", "trace"] = "span" if partition.partition_type == "span" else "trace"
        return estimate(self.judge, path, found.question, found.answer, found.view, recheck=self.settings.recheck)

    async def score(self, partition: Partition, *, account: Account | None = None) -> Row:
        """The row of one partition.

        Raises `ConfigError` for a level that the metric or its judge can't do, `GiveUp` where the judge is lost for
        every partition (a wrong key, a model that is gone), and `RetryLater` where the ledger's state is away.
        Everything else is a row, also a fault of our own (`error: internal_error`, with the exception's name).
        """
        self.require(partition.partition_type)
        account = account or Account(trace_id=partition.trace_id)
        async with self._partitions:
            found = self.material(partition)
            if isinstance(found, Broken):
                outcome = _Outcome(status="invalid", reason=found.rule, explanation=found.remedy)
                return self._row(partition, outcome, Coverage(), _Tally(), evaluator=account.evaluator)
            tally = _Tally()
            judge = self.judge.bound(account)
            try:
                async with asyncio.timeout(self.manifest.execution.timeout_seconds):
                    outcome, coverage = await self._judge(partition, found, judge, tally)
            except TimeoutError:
                outcome, coverage = _Outcome(status="error", reason="timeout"), found.view.coverage
            except GroundwireError:
                raise
            except Exception as error:  # noqa: BLE001 - one bad partition never stops a run: its row says what broke
                outcome = _Outcome(status="error", reason="internal_error", explanation=type(error).__name__)
                coverage = found.view.coverage
            return self._row(partition, outcome, coverage, tally, evaluator=account.evaluator)

    def refused(
        self, partition: Partition, status: Status, reason: str, explanation: str = "", *, evaluator: str = ""
    ) -> Row:
        """A row for a partition that is not judged (a duplicate, an evaluator's own trace, never completed, …)."""
        found = self.material(partition)
        outcome = _Outcome(status=status, reason=reason, explanation=explanation)
        coverage = Coverage() if isinstance(found, Broken) else found.view.coverage
        return self._row(partition, outcome, coverage, _Tally(), evaluator=evaluator)

    def rejected(
        self, partition_type: PartitionType, partition_id: str, trace_id: str, *, reason: str, explanation: str
    ) -> Row:
        """An `invalid` row for a partition that breaks its own form, so that it can't be built."""
        partition = Partition.model_construct(
            partition_type=partition_type, partition_id=partition_id, trace_id=trace_id, spans=()
        )
        outcome = _Outcome(status="invalid", reason=reason, explanation=explanation)
        return self._row(partition, outcome, Coverage(), _Tally(), evaluator="")

    def content_hash(self, partition: Partition) -> str:
        """The identity of what is judged (DESIGN §5); of a partition of an invalid shape, of that shape."""
        found = self.material(partition)
        if isinstance(found, Material):
            return found.content_hash
        spans = sorted((span.span_id, span.parent_id or "", span.kind) for span in partition.spans)
        return hashlib.sha256(json.dumps([found.rule, spans]).encode()).hexdigest()

    def _span_material(self, partition: Partition) -> Material | Broken:
        span = partition.target
        if span is None or rekind([span], self.settings.kinds)[0].kind != "LLM":
            return Broken(rule="not_an_llm_span", remedy="span level judges LLM spans only; `kinds` can re-kind a span")
        media = media_in([span])
        view = view_of_responses(
            response_parts(span.input_messages),
            span_id=span.span_id,
            max_leaf=self.config.max_tool_response_length,
            max_total=self.settings.max_prompt_chars // 2,
            media=media,
        )
        return Material(
            question=last_text(span.input_messages, "user"),
            answer=answer_of([span]),
            blocks=view.blocks,
            view=view,
            media=media,
        )

    def _trace_material(self, partition: Partition) -> Material | Broken:
        rekinded = partition.model_copy(update={"spans": rekind(partition.spans, self.settings.kinds)})
        tree = tree_of(rekinded, root=self.settings.root)
        if isinstance(tree, Broken):
            return tree
        blocks = (*tool_blocks(tree.below), *given_blocks(tree.spans, self.settings.given))
        media = media_in(tree.spans)
        return Material(
            question=question_of(tree.spans),
            answer=answer_of(tree.spans),
            blocks=blocks,
            view=fit(blocks, self._limits(), media=media),
            media=media,
        )

    def _limits(self) -> Limits:
        return Limits(
            response=self.config.max_response_length,
            arguments=self.config.max_tool_calls_length,
            total=min(self.config.max_total_context, self.settings.max_prompt_chars // 2),
            given=min(Limits().given, self.settings.max_prompt_chars // 8),
        )

    async def _judge(
        self, partition: Partition, material: Material, judge: Judge, tally: _Tally
    ) -> tuple[_Outcome, Coverage]:
        reason = self._unscorable(partition, material)
        if reason is not None:
            return _Outcome(status="unknown", reason=reason), material.view.coverage
        if partition.partition_type == "span":
            return await self._judge_span(material, judge, tally)
        return await self._judge_trace(material, judge, tally)

    def _unscorable(self, partition: Partition, material: Material) -> str | None:
        """Why a partition is unknown whoever judges it; None where it can be judged."""
        if not material.answer:
            errored = any(span.status == "error" for span in partition.spans if span.kind in ("LLM", "AGENT", "CHAIN"))
            return "target_error" if errored else "no_answer"
        if not any(block.kind == "tool" and block.text for block in material.blocks):
            return "no_evidence"
        if self.settings.evidence_policy == "head" or partition.partition_type == "span":
            return "low_coverage" if material.view.coverage.share < self.settings.min_coverage else None
        return None

    async def _judge_span(self, material: Material, judge: Judge, tally: _Tally) -> tuple[_Outcome, Coverage]:
        coverage = material.view.coverage
        async with self._calls:
            reply = await judge.faithfulness(material.question, material.answer, material.view)
        tally.add(reply)
        if reply.view is not None:
            coverage = reply.view.coverage
        if reply.value is None:
            return _failed(reply.failure), coverage
        if coverage.share < self.settings.min_coverage:  # the prompt or the model's context held less than was sent
            return _Outcome(status="unknown", reason="low_coverage"), coverage
        dimensions = reply.value.dimensions.model_dump()
        outcome = _Outcome(
            status="scored",
            score=round(sum(DIMENSION_WEIGHTS[name] * value for name, value in dimensions.items()), 9),
            explanation=reply.value.explanation,
            claims=self._checked(reply.value.claims, material, tally),
            dimensions=dimensions,
        )
        return outcome, coverage

    async def _judge_trace(self, material: Material, judge: Judge, tally: _Tally) -> tuple[_Outcome, Coverage]:
        view = material.view
        async with self._calls:
            split = await judge.split(material.question, material.answer)
        tally.add(split)
        if split.value is None:
            return _failed(split.failure), view.coverage
        drafts = tuple(claim for claim in split.value if claim.kind == "fact")
        if not drafts:
            return _Outcome(status="unknown", reason="no_claims"), view.coverage
        if self.settings.evidence_policy == "relevant" and _was_cut(view):
            texts = [draft.text for draft in drafts]
            view = select(material.blocks, texts, self._limits(), media=material.media)
        if view.coverage.share < self.settings.min_coverage:
            return _Outcome(status="unknown", reason="low_coverage"), view.coverage
        async with self._calls:
            reply = await judge.label(material.question, drafts, view)
        tally.add(reply)
        view = reply.view or view
        if reply.value is None:
            return _failed(reply.failure), view.coverage
        if view.coverage.share < self.settings.min_coverage:
            return _Outcome(status="unknown", reason="low_coverage"), view.coverage
        claims, coverage = reply.value, view.coverage
        if self.settings.recheck and _was_cut(view):
            claims, coverage = await self._recheck(material, drafts, claims, coverage, judge, tally)
        return self._weighed(self._checked(claims, material, tally), tally), coverage

    async def _recheck(
        self,
        material: Material,
        drafts: Sequence[DraftClaim],
        claims: tuple[Claim, ...],
        coverage: Coverage,
        judge: Judge,
        tally: _Tally,
    ) -> tuple[tuple[Claim, ...], Coverage]:
        """Ask again about what was found wanting, against the windows of the whole evidence most relevant to it."""
        doubtful = [
            index
            for index, claim in enumerate(claims)
            if claim.label == "hallucinated" or (claim.label is None and claim.reason == "undecided")
        ]
        if not doubtful:
            return claims, coverage
        asked = [drafts[index] for index in doubtful]
        view = select(material.blocks, [draft.text for draft in asked], self._limits(), media=material.media)
        async with self._calls:
            reply = await judge.label(material.question, asked, view)
        tally.add(reply)
        if reply.value is None:  # the first labels stand; why there was no second look is said in the row
            tally.flags.add("recheck_failed")
            return claims, coverage
        tally.flags.add("rechecked")
        view = reply.view or view
        again = dict(zip(doubtful, reply.value, strict=True))
        kept = tuple(
            again[index] if index in again and again[index].label is not None else claim
            for index, claim in enumerate(claims)
        )
        return kept, _most_seen(coverage, view.coverage)

    def _weighed(self, claims: tuple[Claim, ...], tally: _Tally) -> _Outcome:
        labels = [claim.label for claim in claims]
        score = weigh(labels)
        decided = sum(label is not None for label in labels)
        if score is None:
            return _Outcome(
                status="unknown",
                reason="undecided",
                explanation=f"{decided} of {len(claims)} claims decided; a score needs {DECIDED_SHARE:.0%}.",
                claims=claims,
            )
        if decided < len(labels):
            tally.flags.add("partial_labels")
        label = "hallucinated" if "hallucinated" in labels else "grounded"
        return _Outcome(status="scored", score=score, label=label, claims=claims)

    def _checked(self, claims: tuple[Claim, ...], material: Material, tally: _Tally) -> tuple[Claim, ...]:
        """Every claim with its code checks, against the whole evidence; says where they contradict the judge."""
        index: EvidenceIndex | None = None
        out = []
        for claim in claims:
            checked = claim
            if not claim.checks and self.judge.version.kind != "offline" and len(claim.text) <= LONGEST_CHECKED:
                index = index or EvidenceIndex.of(View(shown=tuple(_whole(block) for block in material.blocks)))
                checked = claim.model_copy(update={"checks": run_checks(claim.text, index)})
            if checked.label in ("supported", "inferred") and any(
                check.outcome == "contradicted" or (check.outcome == "not_found" and check.check != "name")
                for check in checked.checks
            ):
                tally.flags.add("checks_disagree")
            out.append(checked)
        return tuple(out)

    def _row(
        self, partition: Partition, outcome: _Outcome, coverage: Coverage, tally: _Tally, *, evaluator: str
    ) -> Row:
        fingerprint = self.fingerprint
        identity = [
            evaluator,
            self.manifest.name,
            self.manifest.version,
            fingerprint,
            partition.partition_type,
            partition.partition_id,
            self.content_hash(partition),
            # an error is not an answer: what a retry finds is a row of its own
            outcome.reason if outcome.status in ("error", "skipped") else "",
        ]
        judge: dict[str, JsonValue] = self.judge.version.model_dump(mode="json")
        if tally.notes:
            judge["notes"] = dict(tally.notes)
        if tally.exchanges:
            judge["replies"] = [
                {"question": item.question, "reply": item.reply}
                | ({"prompt": item.prompt} if self._keep_prompts else {})
                for item in tally.exchanges
            ]
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


def _failed(failure: Failure | None) -> _Outcome:
    if failure is None:
        return _Outcome(status="error", reason="judge_gave_nothing")
    return _Outcome(status=failure.status, reason=failure.reason, explanation=failure.message)


def _was_cut(view: View) -> bool:
    return any(shown.cut for shown in view.shown)


def _whole(block: Block) -> Shown:
    return Shown(block=block, text=block.text, arguments=block.arguments)


def _most_seen(first: Coverage, second: Coverage) -> Coverage:
    """For each block the fuller of two looks: a lower bound of what both together showed."""
    again = {block.block: block for block in second.blocks}

    def fuller(block: BlockCoverage) -> BlockCoverage:
        other = again.get(block.block)
        return other if other is not None and other.shown > block.shown else block

    return first.model_copy(update={"blocks": tuple(fuller(block) for block in first.blocks)})


def get_trace_metric(
    config: HallucinationConfig | Mapping[str, Any] | None = None,
    systems_params: Mapping[str, Any] | None = None,
    *,
    settings: HallucinationSettings | None = None,
    judge: Judge | None = None,
) -> HallucinationMetric:
    """The metric's entrypoint (named so by its manifest).

    `config` holds the fields of `HallucinationConfig`. `systems_params["evaluator_system"]["params"]` configures the
    judge (`model` or `judge_model`, `api_key` or `judge_api_key`, `base_url`); without it the offline judge answers.
    Raises `ConfigError` for a field that doesn't exist or a value out of range.
    """
    try:
        known = config if isinstance(config, HallucinationConfig) else HallucinationConfig.model_validate(config or {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "config"
        raise ConfigError(f"agent.hallucination: {where}: {first['msg']}") from None
    if judge is None:
        judge = build_judge(judge_config_of(known, systems_params), metric=known, settings=settings)
    return HallucinationMetric(judge=judge, config=known, settings=settings)
