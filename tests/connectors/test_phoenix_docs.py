"""Every setting and every block of docs/phoenix.md that needs no server is true."""

import re
import tomllib
from pathlib import Path

import pytest

from groundwire.connectors import WHERE_FIELDS, load_connector
from groundwire.connectors.phoenix import PhoenixSettings

TEXT = (Path(__file__).parents[2] / "docs" / "phoenix.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_settings() -> None:
    section = TEXT.partition("## Settings")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE))
    fields = PhoenixSettings.model_fields
    assert set(table) == set(fields)
    for name, field in fields.items():
        assert table[name].strip().strip("`") == ("–" if field.default is None else str(field.default))
    for variable in load_connector("phoenix").variables.values():
        assert f"`{variable}`" in section


@pytest.mark.parametrize("block", re.findall(r"^```toml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))
def test_a_configuration_is_valid(block: str) -> None:
    for name, source in tomllib.loads(block)["sources"].items():
        load_connector(source.pop("platform")).read_settings(source, at=f"sources.{name}")


def test_every_where_field_is_named() -> None:
    section = TEXT.partition("## Which traces")[2].partition("\n## ")[0]
    connector = load_connector("phoenix")
    assert {name for name in WHERE_FIELDS if f"`{name}`" in section} == set(connector.where_fields)
    for instead in connector.instead.values():
        assert f"`{instead.partition(',')[0]}`" in section
