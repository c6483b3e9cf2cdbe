"""`unsupported_spans` 1.0.0: the stretches of an answer that tool results and retrieved documents don't support."""

import asyncio
from collections.abc import Mapping
from typing import Any

from groundwire.scorer.claims import Claim
from groundwire.scorer.evidence import Coverage, Limits, View, fit
from groundwire.scorer.judge import Capability, Judge, UnsupportedSpan
from groundwire.scorer.judges.config import judge_config_of
from groundwire.scorer.judges.estimates import Estimate, estimate
from groundwire.scorer.judges.registry import build_judge
from groundwire.scorer.judges.segments import segments
from groundwire.scorer.manifest import load_manifest
from groundwire.scorer.metrics.config import SpansConfig, SpansSettings, read_config
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
from groundwire.scorer.metrics.record import roots_last
from groundwire.scorer.metrics.shape import Broken, below, in_time_order
from groundwire.scorer.metrics.span_evidence import view_of_responses
from groundwire.scorer.metrics.span_finding import find_spans
from groundwire.scorer.naming import rekind
from groundwire.scorer.partition import Partition, PartitionType, Span
from groundwire.scorer.selection import select

__all__ = ["SpansMetric", "get_spans_metric"]


class SpansMetric(Metric):
    """`unsupported_spans` with its configuration and judge; see `Metric`."""

    def __init__(
        self,
        *,
        judge: Judge,
        config: SpansConfig | None = None,
        settings: SpansSettings | None = None,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        """See `Metric`."""
        super().__init__(
            method=_Marking(config or SpansConfig(), settings or SpansSettings()),
            judge=judge,
            max_concurrency=max_concurrency,
            keep_prompts=keep_prompts,
            clock=clock,
        )


class _Marking:
    """Asks once which stretches are unsupported; see `Method`."""

    def __init__(self, config: SpansConfig, settings: SpansSettings) -> None:
        self.config = config
        self.settings = settings
        self.manifest = load_manifest("unsupported_spans", SpansConfig.model_json_schema)

    def needs(self, level: PartitionType) -> tuple[Capability, ...]:  # noqa: ARG002 - every level asks the same
        return ("spans",)

    def read(self, partition: Partition) -> Material | Broken:
        spans = list(rekind(partition.spans, self.settings.kinds))
        if partition.partition_type == "span":
            target = next((span for span in spans if span.span_id == partition.target_span_id), None)
            if target is None or target.kind != "LLM":
                return Broken(
                    rule="not_an_llm_span", remedy="span level judges LLM spans only; `kinds` can re-kind a span"
                )
            return self._of_span(target)
        if self.settings.root is not None:
            spans = below(spans, self.settings.root)
            if not spans:
                return Broken(rule="root_not_found", remedy="no span matches `root`; check its name or kind")
        return self._of_trace(spans)

    def _of_span(self, span: Span) -> Material:
        media = media_in([span])
        view = view_of_responses(
            response_parts(span.input_messages),
            span_id=span.span_id,
            max_leaf=self.config.max_tool_response_length,
            max_total=self.settings.max_prompt_chars // 2,
            media=media,
        )
        given = fit(given_blocks([span], self.settings.given), self._limits())
        view = View(shown=(*view.shown, *given.shown), media=media)
        return Material(
            question=last_text(span.input_messages, "user"),
            answer=answer_of([span]),
            blocks=view.blocks,
            view=view,
            media=media,
        )

    def _of_trace(self, spans: list[Span]) -> Material:
        ordered = roots_last(spans)
        documents = [_as_tool(span) for span in in_time_order(spans)]
        blocks = (*tool_blocks(documents), *given_blocks(ordered, self.settings.given))
        answer, media = (answer_of(ordered) if ordered else ""), media_in(spans)
        limits = self._limits()
        if self.settings.evidence_policy == "relevant":
            view = select(blocks, [draft.text for draft in segments(answer)], limits, media=media)
        else:
            view = fit(blocks, limits, media=media)
        question = question_of(ordered) if ordered else ""
        return Material(question=question, answer=answer, blocks=blocks, view=view, media=media)

    def _limits(self) -> Limits:
        return Limits(
            response=self.config.max_response_length,
            arguments=self.config.max_tool_calls_length,
            total=min(self.config.max_total_context, self.settings.max_prompt_chars // 2),
            given=min(Limits().given, self.settings.max_prompt_chars // 8),
        )

    def unscorable(self, partition: Partition, material: Material) -> str | None:
        if not material.answer:
            return unanswered(partition)
        if not any(block.text.strip() for block in material.blocks):
            return "no_evidence"
        return "low_coverage" if material.view.coverage.share < self.settings.min_coverage else None

    def outlook(self, partition: Partition, material: Material, judge: Judge) -> Estimate:  # noqa: ARG002 - one path
        return estimate(judge, "spans", material.question, material.answer, material.view)

    async def judge(
        self,
        partition: Partition,  # noqa: ARG002 - every level is judged alike
        material: Material,
        judge: Judge,
        tally: Tally,
        calls: asyncio.Semaphore,
    ) -> tuple[Outcome, Coverage]:
        async with calls:
            found = await find_spans(
                judge,
                request=material.question,
                answer=material.answer,
                evidence=material.view,
                predicate=self.config.predicate,
            )
        tally.add(found.reply)
        coverage = found.view.coverage
        if found.outcome == "unknown":
            return failed(found.failure), coverage
        if coverage.share < self.settings.min_coverage:  # the model's context held less than was sent
            return Outcome(status="unknown", reason="low_coverage"), coverage
        claims = tuple(_claim(span, material) for span in found.spans)
        score = 1.0 if found.outcome == "matched" else 0.0
        return Outcome(status="scored", score=score, label=found.outcome, claims=claims), coverage


def _as_tool(span: Span) -> Span:
    """Retrieved documents are evidence like tool results."""
    return span.model_copy(update={"kind": "TOOL"}) if span.kind == "RETRIEVER" else span


def _claim(span: UnsupportedSpan, material: Material) -> Claim:
    """A span as it stands in the row."""
    evidence = span.evidence
    if evidence is not None and evidence.span_id is None:
        at = next((block.span_id for block in material.blocks if block.name == evidence.block), None)
        evidence = evidence.model_copy(update={"span_id": at})
    return Claim(
        text=span.text,
        start=span.start,
        end=span.end,
        label="hallucinated",
        type=span.type,
        subtype=span.subtype,
        reason=span.reason,
        evidence=evidence,
        probability=span.probability,
    )


def get_spans_metric(
    config: SpansConfig | Mapping[str, Any] | None = None,
    systems_params: Mapping[str, Any] | None = None,
    *,
    settings: SpansSettings | None = None,
    judge: Judge | None = None,
) -> SpansMetric:
    """The metric's entrypoint (named so by its manifest); see `hallucination.get_trace_metric`.

    Raises `ConfigError` (`span_required`) for a judge that marks no spans.
    """
    known = read_config(SpansConfig, config, name="unsupported_spans")
    if judge is None:
        judge = build_judge(judge_config_of(known, systems_params), metric=known, settings=settings)
    metric = SpansMetric(judge=judge, config=known, settings=settings)
    metric.require("trace")
    return metric
