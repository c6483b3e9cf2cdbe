"""`agent.hallucination` 1.0.0: how well an agent's text rests on the evidence it had, at span and trace level."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from groundwire.scorer.checks import EvidenceIndex, run_checks
from groundwire.scorer.claims import Claim, DraftClaim
from groundwire.scorer.evidence import Block, BlockCoverage, Coverage, Limits, Shown, View, fit
from groundwire.scorer.judge import Capability, Judge
from groundwire.scorer.judges.config import judge_config_of
from groundwire.scorer.judges.estimates import Estimate, estimate
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.manifest import load_manifest
from groundwire.scorer.metrics.config import HallucinationConfig, HallucinationSettings, read_config
from groundwire.scorer.metrics.metric import Clock, Material, Metric, Outcome, Tally, failed, now_utc, unanswered
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
from groundwire.scorer.selection import select

__all__ = ["DIMENSION_WEIGHTS", "LABEL_WEIGHTS", "HallucinationMetric", "get_trace_metric", "weigh"]

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
"""Least share of the claims that must bear a label for a score to be given."""

LONGEST_CHECKED = 1_000
"""Most characters of a claim that the code checks read: more is no statement, and costs seconds."""


def weigh(labels: Sequence[str | None]) -> float | None:
    """The TRACE score: the mean weight of the labelled claims, in [0, 1].

    None where there are no claims, or less than 80 % of them have a label.
    """
    weights = [LABEL_WEIGHTS[label] for label in labels if label is not None]
    if not weights or len(weights) < DECIDED_SHARE * len(labels):
        return None
    return round(sum(weights) / len(weights), 9)


class HallucinationMetric(Metric):
    """`agent.hallucination` with its configuration and judge; see `Metric`."""

    def __init__(
        self,
        *,
        judge: Judge,
        config: HallucinationConfig | None = None,
        settings: HallucinationSettings | None = None,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        """See `Metric`."""
        super().__init__(
            method=_Tracing(config or HallucinationConfig(), settings or HallucinationSettings()),
            judge=judge,
            max_concurrency=max_concurrency,
            keep_prompts=keep_prompts,
            clock=clock,
        )


class _Tracing:
    """Traces what an agent said back to what its tools returned; see `Method`."""

    def __init__(self, config: HallucinationConfig, settings: HallucinationSettings) -> None:
        self.config = config
        self.settings = settings
        self.manifest = load_manifest("agent.hallucination", HallucinationConfig.model_json_schema)

    def needs(self, level: PartitionType) -> tuple[Capability, ...]:
        return ("faithfulness",) if level == "span" else ("split", "label")

    def read(self, partition: Partition) -> Material | Broken:
        if partition.partition_type == "span":
            return self._span_material(partition)
        return self._trace_material(partition)

    def outlook(self, partition: Partition, material: Material, judge: Judge) -> Estimate:
        path: Literal["span", "trace"] = "span" if partition.partition_type == "span" else "trace"
        recheck = self.settings.recheck
        return estimate(judge, path, material.question, material.answer, material.view, recheck=recheck)

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

    async def judge(
        self, partition: Partition, material: Material, judge: Judge, tally: Tally, calls: asyncio.Semaphore
    ) -> tuple[Outcome, Coverage]:
        if partition.partition_type == "span":
            return await self._judge_span(material, judge, tally, calls)
        return await self._judge_trace(material, judge, tally, calls)

    def unscorable(self, partition: Partition, material: Material) -> str | None:
        if not material.answer:
            return unanswered(partition)
        if not any(block.kind == "tool" and block.text for block in material.blocks):
            return "no_evidence"
        if self.settings.evidence_policy == "head" or partition.partition_type == "span":
            return "low_coverage" if material.view.coverage.share < self.settings.min_coverage else None
        return None

    async def _judge_span(
        self, material: Material, judge: Judge, tally: Tally, calls: asyncio.Semaphore
    ) -> tuple[Outcome, Coverage]:
        coverage = material.view.coverage
        async with calls:
            reply = await judge.faithfulness(material.question, material.answer, material.view)
        tally.add(reply)
        if reply.view is not None:
            coverage = reply.view.coverage
        if reply.value is None:
            return failed(reply.failure), coverage
        if coverage.share < self.settings.min_coverage:  # the prompt or the model's context held less than was sent
            return Outcome(status="unknown", reason="low_coverage"), coverage
        dimensions = reply.value.dimensions.model_dump()
        outcome = Outcome(
            status="scored",
            score=round(sum(DIMENSION_WEIGHTS[name] * value for name, value in dimensions.items()), 9),
            explanation=reply.value.explanation,
            claims=self._checked(judge, reply.value.claims, material, tally),
            dimensions=dimensions,
        )
        return outcome, coverage

    async def _judge_trace(
        self, material: Material, judge: Judge, tally: Tally, calls: asyncio.Semaphore
    ) -> tuple[Outcome, Coverage]:
        view = material.view
        async with calls:
            split = await judge.split(material.question, material.answer)
        tally.add(split)
        if split.value is None:
            return failed(split.failure), view.coverage
        drafts = tuple(claim for claim in split.value if claim.kind == "fact")
        if not drafts:
            return Outcome(status="unknown", reason="no_claims"), view.coverage
        if self.settings.evidence_policy == "relevant" and _was_cut(view):
            texts = [draft.text for draft in drafts]
            view = select(material.blocks, texts, self._limits(), media=material.media)
        if view.coverage.share < self.settings.min_coverage:
            return Outcome(status="unknown", reason="low_coverage"), view.coverage
        async with calls:
            reply = await judge.label(material.question, drafts, view)
        tally.add(reply)
        view = reply.view or view
        if reply.value is None:
            return failed(reply.failure), view.coverage
        if view.coverage.share < self.settings.min_coverage:
            return Outcome(status="unknown", reason="low_coverage"), view.coverage
        claims, coverage = reply.value, view.coverage
        if self.settings.recheck and _was_cut(view):
            claims, coverage = await self._recheck(material, drafts, claims, coverage, judge, tally, calls)
        return self._weighed(self._checked(judge, claims, material, tally), tally), coverage

    async def _recheck(
        self,
        material: Material,
        drafts: Sequence[DraftClaim],
        claims: tuple[Claim, ...],
        coverage: Coverage,
        judge: Judge,
        tally: Tally,
        calls: asyncio.Semaphore,
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
        async with calls:
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

    def _weighed(self, claims: tuple[Claim, ...], tally: Tally) -> Outcome:
        labels = [claim.label for claim in claims]
        score = weigh(labels)
        decided = sum(label is not None for label in labels)
        if score is None:
            return Outcome(
                status="unknown",
                reason="undecided",
                explanation=f"{decided} of {len(claims)} claims decided; a score needs {DECIDED_SHARE:.0%}.",
                claims=claims,
            )
        if decided < len(labels):
            tally.flags.add("partial_labels")
        label = "hallucinated" if "hallucinated" in labels else "grounded"
        return Outcome(status="scored", score=score, label=label, claims=claims)

    def _checked(self, judge: Judge, claims: tuple[Claim, ...], material: Material, tally: Tally) -> tuple[Claim, ...]:
        """Every claim with its code checks, against the whole evidence; says where they contradict the judge."""
        index: EvidenceIndex | None = None
        out = []
        for claim in claims:
            checked = claim
            if not claim.checks and judge.version.kind != "offline" and len(claim.text) <= LONGEST_CHECKED:
                index = index or EvidenceIndex.of(View(shown=tuple(_whole(block) for block in material.blocks)))
                checked = claim.model_copy(update={"checks": run_checks(claim.text, index)})
            if checked.label in ("supported", "inferred") and any(
                check.outcome == "contradicted" or (check.outcome == "not_found" and check.check != "name")
                for check in checked.checks
            ):
                tally.flags.add("checks_disagree")
            out.append(checked)
        return tuple(out)


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
    known = read_config(HallucinationConfig, config, name="agent.hallucination")
    if judge is None:
        judge = build_judge(judge_config_of(known, systems_params), metric=known, settings=settings)
    return HallucinationMetric(judge=judge, config=known, settings=settings)
