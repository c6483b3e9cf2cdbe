"""The metrics: each turns one partition into one row."""

from groundwire.scorer.metrics.registry import load_metric_manifest

__all__ = ["load_metric_manifest"]
