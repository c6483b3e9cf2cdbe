"""The metrics by name: what configures each, and what makes it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.judge import Judge
from groundwire.scorer.manifest import Manifest, load_manifest
from groundwire.scorer.metrics.config import (
    ConversationConfig,
    ConversationSettings,
    HallucinationConfig,
    HallucinationSettings,
    MetricConfig,
    MetricSettings,
    SpansConfig,
    SpansSettings,
)
from groundwire.scorer.metrics.conversation import ConversationMetric
from groundwire.scorer.metrics.graded import GraderConfig, GraderMetric, GraderSettings
from groundwire.scorer.metrics.hallucination import HallucinationMetric
from groundwire.scorer.metrics.metric import Clock, Metric, now_utc
from groundwire.scorer.metrics.spans import SpansMetric

__all__ = ["METRICS", "MetricKind", "MetricName", "build_metric", "load_metric_manifest", "metric_kind"]

MetricName = Literal["agent.hallucination", "code.grader", "conversation.hallucination", "unsupported_spans"]


@dataclass(frozen=True, kw_only=True)
class MetricKind:
    """What one metric is made of."""

    config: type[MetricConfig]
    """The fields that its manifest lists."""
    settings: type[MetricSettings]
    """What can be set beside them."""
    make: Callable[..., Metric]
    judged: bool = True
    """False where no judge is asked."""


METRICS: Mapping[MetricName, MetricKind] = {
    "agent.hallucination": MetricKind(
        config=HallucinationConfig, settings=HallucinationSettings, make=HallucinationMetric
    ),
    "code.grader": MetricKind(config=GraderConfig, settings=GraderSettings, make=GraderMetric, judged=False),
    "conversation.hallucination": MetricKind(
        config=ConversationConfig, settings=ConversationSettings, make=ConversationMetric
    ),
    "unsupported_spans": MetricKind(config=SpansConfig, settings=SpansSettings, make=SpansMetric),
}


def metric_kind(name: str) -> MetricKind:
    """The metric of that name. Raises `ConfigError` for a name that no metric has."""
    known = next((one for one in get_args(MetricName) if one == name), None)
    if known is None:
        raise ConfigError(f"no metric is called {name!r}; there are: {', '.join(METRICS)}")
    return METRICS[known]


def build_metric(
    name: str,
    *,
    judge: Judge,
    config: MetricConfig | None = None,
    settings: MetricSettings | None = None,
    max_concurrency: int | None = None,
    keep_prompts: bool = False,
    clock: Clock = now_utc,
) -> Metric:
    """The metric of that name, with its configuration and settings (its own defaults unless given); see `Metric`.

    Raises `ConfigError` for an unknown name.
    """
    more: dict[str, Any] = {"max_concurrency": max_concurrency, "keep_prompts": keep_prompts, "clock": clock}
    return metric_kind(name).make(judge=judge, config=config, settings=settings, **more)


def load_metric_manifest(name: str) -> Manifest:
    """The manifest of a metric, with the schema of its configuration. Raises `ConfigError` for an unknown name."""
    return load_manifest(name, metric_kind(name).config.model_json_schema)
