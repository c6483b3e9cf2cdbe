"""Every setting and every block of docs/langsmith.md is true."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from groundwire.connectors import WHERE_FIELDS, load_connector
from groundwire.connectors.langsmith import LangsmithSettings

TEXT = (Path(__file__).parents[2] / "docs" / "langsmith.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


def test_the_table_of_settings_is_the_settings() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", TEXT, re.MULTILINE))
    fields = LangsmithSettings.model_fields
    assert set(table) == set(fields)
    for name, field in fields.items():
        shown = table[name].strip().strip("`")
        if field.is_required() or (field.default is None and name != "api"):
            assert shown == "–"
        elif name == "api":
            assert shown == "by server"
        else:
            assert shown == (str(field.default).lower() if isinstance(field.default, bool) else str(field.default))


@pytest.mark.parametrize("block", [block for block in blocks("toml") if "[sources" in block])
def test_a_configuration_is_valid(block: str) -> None:
    for name, source in tomllib.loads(block)["sources"].items():
        platform = source.pop("platform")
        load_connector(platform).read_settings(source, at=f"sources.{name}")


def test_every_where_field_is_named() -> None:
    section = TEXT.partition("## Which traces")[2].partition("## ")[0]
    connector = load_connector("langsmith")
    assert {name for name in WHERE_FIELDS if f"`{name}`" in section} >= set(connector.where_fields)
    for instead in connector.instead.values():
        assert f"`{instead.partition(',')[0]}`" in section


def test_the_evaluator_judges_as_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr("langsmith.evaluate", lambda target, **more: calls.append((target, more)))
    namespace: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, namespace)  # noqa: S102 - the page's own examples
    assert namespace["result"]["score"] == 0.0
    [(target, more), (experiment, _)] = calls
    assert experiment == "my-experiment-1234"
    outputs = target({"question": "How long do refunds take?"})
    result = more["evaluators"][0](inputs={"question": "How long do refunds take?"}, outputs=outputs)
    assert result["score"] == 0.0
