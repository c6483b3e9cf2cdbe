"""The metrics: each turns one partition into one row."""

from groundwire.scorer.manifest import Manifest, load_manifest
from groundwire.scorer.metrics.config import HallucinationConfig

__all__ = ["load_metric_manifest"]


def load_metric_manifest(name: str) -> Manifest:
    """The manifest of a metric, with the schema of its configuration. Raises `ConfigError` for an unknown name."""
    return load_manifest(name, HallucinationConfig.model_json_schema)
