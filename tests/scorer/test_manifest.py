"""The manifest has every field, and the configuration is the one that the metric is specified with."""

import pytest
import yaml

from groundwire.scorer import ConfigError, HallucinationConfig, load_metric_manifest, manifest_names

# name: (type, default, title, role), as the metric is specified
SPECIFIED = {
    "concurrency_limit": ("integer", 10, "Concurrency Limit", "operational"),
    "judge_temperature": ("number", 0.0, "Judge Temperature", None),
    "language": ("string", "en", "Language", None),
    "max_response_length": ("integer", 2000, "Max Response Length", None),
    "max_tool_calls_length": ("integer", 500, "Max Tool Calls Length", None),
    "max_tool_response_length": ("integer", 400, "Max Tool Response Length", None),
    "max_total_context": ("integer", 8000, "Max Total Context", None),
    "metric_name": ("string", "hallucination", "Metric Name", "scoring_metadata"),
    "model": (None, None, "Model", None),
    "timeout_seconds": ("number", 60.0, "Timeout Seconds", "operational"),
}


def test_the_configuration_is_the_specifications() -> None:
    schema = HallucinationConfig.model_json_schema()
    assert schema["title"] == "HallucinationConfig"
    assert schema["type"] == "object"
    assert "required" not in schema
    found = {
        name: (field.get("type"), field["default"], field["title"], field.get("x-aip-param-role"))
        for name, field in schema["properties"].items()
    }
    assert found == SPECIFIED
    assert schema["properties"]["model"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert all(field["description"] for field in schema["properties"].values())


def test_every_field_of_the_manifest_form_is_there() -> None:
    manifest = load_metric_manifest("agent.hallucination")
    data = yaml.safe_load(manifest.as_yaml())
    assert sorted(data) == [
        "accepts", "config_schema", "dependencies", "description", "direction", "display_name", "entrypoint",
        "execution", "kind", "manifest_version", "metric_metadata", "metric_type", "name", "partition_types",
        "required_columns", "required_kinds", "scorer_contract", "target_kind", "unsupported_trace_shapes", "version",
    ]  # fmt: skip
    assert (data["manifest_version"], data["kind"], data["version"]) == ("1", "trace_metric", "1.0.0")
    assert (data["metric_type"], data["scorer_contract"]) == ("pointwise", "per_row")
    assert (data["direction"], data["target_kind"]) == ("higher_is_better", "LLM")
    assert data["partition_types"] == ["span", "trace"]
    assert data["required_kinds"] == [{"anyOf": ["TOOL", "LLM"]}]
    assert data["accepts"] == [{"name": "canonical_partition_v1"}]
    assert data["unsupported_trace_shapes"] == ["orchestrator_subagent"]
    assert data["execution"] == {
        "emits_metric_family": False,
        "function_name": None,
        "max_concurrency": 8,
        "processing_kind": "network",
        "timeout_seconds": 900,
    }
    assert sorted(data["metric_metadata"]) == ["methodology", "score_semantics", "summary", "worked_example"]


def test_the_entrypoint_is_one() -> None:
    import importlib

    module, _, name = load_metric_manifest("agent.hallucination").entrypoint.rpartition(".")
    metric = getattr(importlib.import_module(module), name)({}, None)
    assert metric.manifest.name == "agent.hallucination"


def test_an_unknown_metric_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match=", ".join(manifest_names())):
        load_metric_manifest("agent.halucination")
