"""`conversation.hallucination` 1.0.0: whether a response says more than the whole conversation before it gives."""

import asyncio
from collections.abc import Mapping
from typing import Any

from groundwire.scorer.evidence import BlockCoverage, Coverage
from groundwire.scorer.judge import Capability, Judge, Verdict
from groundwire.scorer.judges.config import judge_config_of
from groundwire.scorer.judges.estimates import Estimate, estimate
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.manifest import load_manifest
from groundwire.scorer.metrics.config import ConversationConfig, ConversationSettings, read_config
from groundwire.scorer.metrics.metric import Clock, Material, Metric, Outcome, Tally, failed, now_utc, unanswered
from groundwire.scorer.metrics.record import Record, partition_traces, record_of_span, record_of_traces
from groundwire.scorer.metrics.shape import Broken, below
from groundwire.scorer.metrics.shortening import RecordLimits, show
from groundwire.scorer.naming import rekind
from groundwire.scorer.partition import Partition, PartitionType

__all__ = ["ConversationMetric", "get_conversation_metric"]

FRAME = 3_000
"""Characters of a prompt that are neither transcript nor response: its instructions, the fence, room for a repair."""
MOST_BLOCKS = 200
"""Turns that a row's coverage tells one by one: those at the end; what stood before is summed up in one entry."""


class ConversationMetric(Metric):
    """`conversation.hallucination` with its configuration and judge; see `Metric`."""

    def __init__(
        self,
        *,
        judge: Judge,
        config: ConversationConfig | None = None,
        settings: ConversationSettings | None = None,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        """See `Metric`."""
        super().__init__(
            method=_Classifying(config or ConversationConfig(), settings or ConversationSettings()),
            judge=judge,
            max_concurrency=max_concurrency,
            keep_prompts=keep_prompts,
            clock=clock,
        )


class _Classifying:
    """Asks once whether a response is grounded in its record; see `Method`."""

    def __init__(self, config: ConversationConfig, settings: ConversationSettings) -> None:
        self.config = config
        self.settings = settings
        self.manifest = load_manifest("conversation.hallucination", ConversationConfig.model_json_schema)

    def needs(self, level: PartitionType) -> tuple[Capability, ...]:  # noqa: ARG002 - every level asks the same
        return ("classify",)

    def read(self, partition: Partition) -> Material | Broken:
        record = self._record(partition)
        if isinstance(record, Broken):
            return record
        room = self.settings.max_prompt_chars - FRAME - len(record.answer)
        limits = RecordLimits(
            response=self.config.max_response_length,
            turn=self.config.max_turn_length,
            total=max(min(self.config.max_total_context, room), 200),
        )
        shown = show(record.entries, limits, media=record.media)
        return Material(
            question=record.question,
            answer=record.answer,
            blocks=shown.view.blocks,
            view=shown.view,
            media=record.media,
            transcript=shown.transcript,
            said=tuple(entry.text for entry in record.entries if not entry.is_evidence),
        )

    def _record(self, partition: Partition) -> Record | Broken:
        spans = rekind(partition.spans, self.settings.kinds)
        partition = partition.model_copy(update={"spans": tuple(spans)})
        if partition.partition_type == "span":
            span = partition.target
            if span is None or span.kind != "LLM":
                return Broken(
                    rule="not_an_llm_span", remedy="span level judges LLM spans only; `kinds` can re-kind a span"
                )
            return record_of_span(span)
        traces = partition_traces(partition)
        if self.settings.root is not None:
            chosen = [below(trace, self.settings.root) for trace in traces]
            if not chosen[-1]:
                return Broken(rule="root_not_found", remedy="no span matches `root`; check its name or kind")
            traces = chosen
        return record_of_traces([trace for trace in traces if trace])

    def unscorable(self, partition: Partition, material: Material) -> str | None:
        if not material.answer:
            return unanswered(partition)
        if not any(block.text for block in material.blocks):
            return "no_evidence"
        return "low_coverage" if material.view.coverage.share < self.settings.min_coverage else None

    def outlook(self, partition: Partition, material: Material, judge: Judge) -> Estimate:  # noqa: ARG002 - one path
        return estimate(judge, "conversation", material.transcript, material.answer, material.view)

    async def judge(
        self,
        partition: Partition,  # noqa: ARG002 - every level is judged alike
        material: Material,
        judge: Judge,
        tally: Tally,
        calls: asyncio.Semaphore,
    ) -> tuple[Outcome, Coverage]:
        async with calls:
            reply = await judge.classify(material.transcript, material.answer)
        tally.add(reply)
        coverage = _condensed(material.view.coverage)
        if reply.value is None:
            return failed(reply.failure), coverage
        verdict = reply.value
        return (
            Outcome(
                status="scored",
                score=1.0 if verdict.label == "hallucinated" else 0.0,
                label=verdict.label,
                explanation=_explained(verdict),
                claims=verdict.claims,
            ),
            coverage,
        )


def _explained(verdict: Verdict) -> str:
    """The judge's explanation; of a hallucinated response it quotes the claim."""
    claim = next((claim.text for claim in verdict.claims if claim.label == "hallucinated"), "")
    if verdict.label == "grounded" or not claim or claim in verdict.explanation:
        return verdict.explanation
    return f"“{claim}”: {verdict.explanation}" if verdict.explanation else f"“{claim}”"


def _condensed(coverage: Coverage) -> Coverage:
    """The coverage of a long record with its older turns in one entry."""
    early, late = coverage.blocks[:-MOST_BLOCKS], coverage.blocks[-MOST_BLOCKS:]
    if not early:
        return coverage
    together = BlockCoverage(
        block=f"{early[0].block}…{early[-1].block}",
        shown=sum(block.shown for block in early),
        total=sum(block.total for block in early),
    )
    return coverage.model_copy(update={"blocks": (together, *late)})


def get_conversation_metric(
    config: ConversationConfig | Mapping[str, Any] | None = None,
    systems_params: Mapping[str, Any] | None = None,
    *,
    settings: ConversationSettings | None = None,
    judge: Judge | None = None,
) -> ConversationMetric:
    """The metric's entrypoint (named so by its manifest); see `hallucination.get_trace_metric`."""
    known = read_config(ConversationConfig, config, name="conversation.hallucination")
    if judge is None:
        judge = build_judge(judge_config_of(known, systems_params), metric=known, settings=settings)
    return ConversationMetric(judge=judge, config=known, settings=settings)
