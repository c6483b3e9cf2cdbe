"""A metric's manifest: what it measures, how, on what, and what it does not take."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.partition import PartitionType
from groundwire.scorer.row import Direction

__all__ = ["Execution", "Manifest", "MetricMetadata", "load_manifest", "manifest_names"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Execution(_Strict):
    """How the metric is run; enforced by the metric itself."""

    emits_metric_family: bool
    function_name: str | None
    max_concurrency: int = Field(ge=1)
    """Partitions under way at once."""
    processing_kind: Literal["network", "local"]
    timeout_seconds: float = Field(gt=0)
    """Most seconds for one partition."""


class MetricMetadata(_Strict):
    """The manifest's prose."""

    summary: str
    methodology: tuple[str, ...]
    score_semantics: str
    worked_example: str


class AcceptedSchema(_Strict):
    """A schema that the metric takes."""

    name: str


class Manifest(_Strict):
    """Every field of the manifest form, `manifest_version` "1"."""

    manifest_version: Literal["1"]
    kind: Literal["trace_metric"]
    name: str
    display_name: str
    description: str
    version: str
    metric_type: Literal["pointwise"]
    scorer_contract: Literal["per_row"]
    direction: Direction
    entrypoint: str
    target_kind: str
    partition_types: tuple[PartitionType, ...]
    required_kinds: tuple[Mapping[str, tuple[str, ...]], ...]
    required_columns: tuple[str, ...]
    dependencies: tuple[str, ...]
    accepts: tuple[AcceptedSchema, ...]
    config_schema: Mapping[str, JsonValue]
    execution: Execution
    unsupported_trace_shapes: tuple[str, ...]
    metric_metadata: MetricMetadata

    def as_yaml(self) -> str:
        """The manifest as YAML with raw Unicode, keys in alphabetical order."""
        return yaml.safe_dump(self.model_dump(mode="json"), allow_unicode=True, sort_keys=True, width=100)


def manifest_names() -> list[str]:
    """The names of the metrics in the package."""
    folder = files("groundwire.scorer") / "manifests"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


@cache
def _text(name: str) -> str:
    return (files("groundwire.scorer") / "manifests" / f"{name}.yaml").read_text(encoding="utf-8")


def load_manifest(name: str, config_schema: Callable[[], dict[str, Any]]) -> Manifest:
    """The manifest of that metric; its `config_schema` is made from the configuration itself, so that it can't drift.

    Raises `ConfigError` for a name that no metric has.
    """
    if name not in manifest_names():
        raise ConfigError(f"no metric is called {name!r}; there are: {', '.join(manifest_names())}")
    return Manifest.model_validate({**yaml.safe_load(_text(name)), "config_schema": config_schema()})
