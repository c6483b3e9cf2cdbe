"""`code.grader` 1.0.0: what a code grader finds about an answer in production; free, and asks no judge."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, JsonValue

from groundwire.scorer.dotted import load_callable, source_digest
from groundwire.scorer.evidence import Block, Coverage
from groundwire.scorer.graders import Sample, ToolCall, build_grader
from groundwire.scorer.judge import Capability, Judge
from groundwire.scorer.judges.estimates import Estimate
from groundwire.scorer.judges.offline import OfflineJudge
from groundwire.scorer.manifest import load_manifest
from groundwire.scorer.metrics.config import MetricConfig, MetricSettings, read_config
from groundwire.scorer.metrics.metric import Clock, Material, Metric, Outcome, Tally, now_utc, unanswered
from groundwire.scorer.metrics.reading import answer_of, compact, decoded, last_text, question_of
from groundwire.scorer.metrics.shape import Broken, below, in_time_order
from groundwire.scorer.naming import rekind
from groundwire.scorer.partition import Partition, PartitionType, Span, ToolCallPart
from groundwire.scorer.prices import find_price
from groundwire.scorer.spend import MICRO
from groundwire.scorer.usage import read_usage

__all__ = ["GraderConfig", "GraderMetric", "GraderSettings", "get_grader_metric"]

_OF_THE_RUN = frozenset({"cost_under", "latency_under", "tool_called"})
"""Graders that need no answer."""


class GraderConfig(MetricConfig):
    """Parameters of `code.grader` 1.0.0."""

    use: str = Field(
        default="refusal",
        min_length=1,
        description="The grader's name, or the dotted path of a function of your own (`package.module:function`).",
    )
    parameters: dict[str, JsonValue] = Field(default_factory=dict, description="The grader's own parameters.")
    metric_name: str = Field(
        default="code_grader",
        description="Name that the score goes by.",
        json_schema_extra={"x-aip-param-role": "scoring_metadata"},
    )

    def defining(self) -> dict[str, Any]:
        """See `MetricConfig.defining`; a function of the user's own defines a score by its source too."""
        source = source_digest(load_callable(self.use)) if ":" in self.use else ""
        return super().defining() | {"source": source}


class GraderSettings(MetricSettings):
    """What an evaluator can set beside `GraderConfig`."""


class GraderMetric(Metric):
    """`code.grader` with its configuration; see `Metric`. Whatever judge is given, none is asked."""

    def __init__(
        self,
        *,
        judge: Judge | None = None,  # noqa: ARG002 - every metric is given one
        config: GraderConfig | None = None,
        settings: GraderSettings | None = None,
        max_concurrency: int | None = None,
        keep_prompts: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        """See `Metric`. Raises `ConfigError` for a grader that doesn't exist and parameters that don't fit it."""
        super().__init__(
            method=_Grading(config or GraderConfig(), settings or GraderSettings()),
            judge=OfflineJudge(),
            max_concurrency=max_concurrency,
            keep_prompts=keep_prompts,
            clock=clock,
        )


class _Grading:
    """Grades the answer of a partition; see `Method`."""

    def __init__(self, config: GraderConfig, settings: GraderSettings) -> None:
        self.config = config
        self.settings = settings
        self.manifest = load_manifest("code.grader", GraderConfig.model_json_schema)
        self._grade = build_grader(config.use, config.parameters)

    def needs(self, level: PartitionType) -> tuple[Capability, ...]:  # noqa: ARG002 - no level asks a judge
        return ()

    def read(self, partition: Partition) -> Material | Broken:
        spans = self._spans(partition)
        if isinstance(spans, Broken):
            return spans
        sample = _sample(partition, spans)
        calls = [[call.name, call.arguments] for call in sample.tool_calls or ()]
        said = Block(name="S1", kind="provided", text=json.dumps(calls, ensure_ascii=False, sort_keys=True))
        return Material(question=str(sample.input), answer=sample.answer, blocks=(said,))

    def unscorable(self, partition: Partition, material: Material) -> str | None:
        return None if material.answer or self.config.use in _OF_THE_RUN else unanswered(partition)

    def outlook(self, partition: Partition, material: Material, judge: Judge) -> Estimate:  # noqa: ARG002 - it is free
        return Estimate()

    async def judge(
        self,
        partition: Partition,
        material: Material,  # noqa: ARG002 - a grader sees more of the partition
        judge: Judge,  # noqa: ARG002 - none is asked
        tally: Tally,  # noqa: ARG002 - nothing is spent
        calls: asyncio.Semaphore,  # noqa: ARG002 - nothing is called
    ) -> tuple[Outcome, Coverage]:
        spans = self._spans(partition)
        grade = self._grade(_sample(partition, [] if isinstance(spans, Broken) else spans))
        if grade.passed is None:
            return Outcome(status="unknown", reason="not_graded", explanation=grade.reason), Coverage()
        return Outcome(
            status="scored",
            score=1.0 if grade.passed else 0.0,
            label=grade.label or ("passed" if grade.passed else "failed"),
            explanation=grade.reason,
        ), Coverage()

    def _spans(self, partition: Partition) -> list[Span] | Broken:
        """The root and what is below it, or the span; the kinds are those that the rules say."""
        if partition.partition_type == "span":
            target = partition.target
            return [target] if target is not None else Broken(rule="no_target", remedy="the partition names no span")
        spans = rekind(partition.spans, self.settings.kinds)
        if self.settings.root is not None:
            return below(spans, self.settings.root) or Broken(
                rule="root_not_found", remedy="no span matches `root`; check its name or kind"
            )
        ids = {span.span_id for span in spans}
        ordered = in_time_order(spans)
        root = next((span for span in ordered if span.parent_id not in ids), ordered[0])
        return [root, *(span for span in ordered if span is not root)]


def _sample(partition: Partition, spans: Sequence[Span]) -> Sample:
    """What a grader sees of a partition; nothing in it says what would be right."""
    if not spans:
        return Sample()
    root = spans[0]
    alone = partition.partition_type == "span"
    return Sample(
        input=last_text(root.input_messages, "user") if alone else question_of(spans),
        answer=answer_of(spans),
        tool_calls=_asked_for(root) if alone else _called(spans),
        latency_seconds=(root.end_time - root.start_time).total_seconds() if root.end_time is not None else None,
        micro_dollars=_cost(spans),
        sources={span.tool_name or span.name: compact(span.output) for span in spans if span.kind == "TOOL"},
    )


def _called(spans: Sequence[Span]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(name=span.tool_name or span.name, arguments=decoded(span.input))
        for span in spans
        if span.kind == "TOOL"
    )


def _asked_for(span: Span) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(name=part.name, arguments=decoded(part.arguments))
        for message in span.output_messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    )


def _cost(spans: Sequence[Span]) -> int | None:
    """What the model calls cost, in micro-dollars; None where there are none, or one's cost isn't known."""
    costs = [_cost_of(span) for span in spans if span.kind == "LLM"]
    if not costs or any(cost is None for cost in costs):
        return None
    return sum(cost or 0 for cost in costs)


def _cost_of(span: Span) -> int | None:
    reported: Mapping[str, Any] = span.usage or {}
    cost = reported.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        return round(cost * MICRO)
    usage = read_usage({name: value for name, value in reported.items() if name != "cost"})
    price = find_price(span.model, now=span.start_time) if span.model else None
    return price.cost(usage) if usage is not None and price is not None else None


def get_grader_metric(
    config: GraderConfig | Mapping[str, Any] | None = None,
    systems_params: Mapping[str, Any] | None = None,  # noqa: ARG001 - every entrypoint takes it; no judge is asked
    *,
    settings: GraderSettings | None = None,
    judge: Judge | None = None,
) -> GraderMetric:
    """The metric's entrypoint (named so by its manifest). Raises `ConfigError` as `GraderMetric` does."""
    return GraderMetric(judge=judge, config=read_config(GraderConfig, config, name="code.grader"), settings=settings)
