"""Connectors are found by name or by dotted path, and their settings are read strictly."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from pydantic import Field, SecretStr, field_validator

from groundwire.connectors import WHERE_FIELDS, Connector, SourceSettings, connector_names, load_connector, registry
from groundwire.connectors.files import FilesSettings, connector
from groundwire.connectors.files.sink import FilesSink
from groundwire.connectors.files.source import FilesSource
from groundwire.connectors.testing import fake
from groundwire.scorer import ConfigError


class PickySettings(SourceSettings):
    host: str
    api_key: SecretStr
    page_size: int = Field(default=10, ge=1)

    @field_validator("host")
    @classmethod
    def _address(cls, value: str) -> str:
        if not value.startswith("https://"):
            raise ValueError("give an address such as https://example.org")
        return value


def unbuilt(settings: SourceSettings) -> Any:
    raise AssertionError("nothing is built in these tests")


HERE = {name: name for name in WHERE_FIELDS if name not in ("release", "environment")}
picky = Connector(
    name="picky",
    settings=PickySettings,
    source=unbuilt,
    sink=unbuilt,
    where_fields=HERE,
    instead={"release": "`metadata.release`", "environment": "`metadata.env`"},
)
not_a_connector = "picky"


def found(monkeypatch: pytest.MonkeyPatch, entries: Mapping[str, str]) -> None:
    """Pretend that these entry points are installed."""
    points = EntryPoints(
        EntryPoint(name=n.partition("#")[0], value=v, group="groundwire.connectors") for n, v in entries.items()
    )
    monkeypatch.setattr(registry, "entry_points", lambda **chosen: points.select(**chosen))


def test_our_own_are_installed() -> None:
    assert "files" in connector_names()
    assert load_connector("files") is connector


def test_a_dotted_path_names_one() -> None:
    assert load_connector("groundwire.connectors.testing:fake") is fake


@pytest.mark.parametrize(
    ("platform", "message"),
    [
        ("langfusee", 'no connector is called "langfusee"; did you mean `langfuse`?'),
        ("zzz", 'no connector is called "zzz"; there are files, langfuse'),
        ("groundwire.connectors.nowhere:fake", "No module named 'groundwire.connectors.nowhere'"),
        ("groundwire.connectors.testing:nothing", "has no attribute 'nothing'"),
        ("groundwire.connectors.testing:", "neither a name nor of the form package.module:attribute"),
        ("groundwire.connectors.testing:FakePlatform", "is no groundwire.connectors.Connector"),
    ],
)
def test_what_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch, platform: str, message: str) -> None:
    found(monkeypatch, {"files": "groundwire.connectors.files:connector", "langfuse": "elsewhere:langfuse"})
    with pytest.raises(ConfigError) as error:
        load_connector(platform)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_name_that_two_claim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, {"files": "groundwire.connectors.files:connector", "files#2": "other:connector"})
    with pytest.raises(
        ConfigError, match=r"several packages .* groundwire.connectors.files:connector, other:connector"
    ):
        load_connector("files")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"host": "https://a", "api_kee": "sk-secret-11"},
            'sources.prod.api_kee: the platform "picky" has no such setting; did you mean `api_key`?',
        ),
        ({"host": "https://a"}, 'sources.prod.api_key is missing; the platform "picky" needs it'),
        (
            {"host": "sk-secret-11", "api_key": "k"},
            "sources.prod.host: give an address such as https://example.org",
        ),
        (
            {"host": "https://a", "api_key": "sk-secret-11", "page_size": 0},
            "sources.prod.page_size: Input should be greater than or equal to 1",
        ),
        (
            {"host": "https://a", "api_key": ["sk-secret-11"]},
            "sources.prod.api_key: Input should be a valid string",
        ),
    ],
)
def test_settings_are_read_strictly_and_no_value_is_repeated(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        picky.build_source(settings, at="sources.prod")
    assert str(error.value) == message
    assert "sk-secret-11" not in str(error.value)


def test_where_fields() -> None:
    picky.check_where(["name", "tags", "metadata.tenant"])
    for field, message in [
        ("release", 'where.release: the platform "picky" has none; use `metadata.release`'),
        ("environmnt", "where.environmnt is no field of a trace; did you mean `environment`?"),
        ("metadta.tenant", "where.metadta.tenant is no field of a trace; did you mean `metadata`?"),
    ]:
        with pytest.raises(ConfigError) as error:
            picky.check_where([field])
        assert str(error.value) == message


def test_each_where_field_is_there_or_has_an_equivalent() -> None:
    with pytest.raises(ConfigError, match="must name each `where` field once"):
        Connector(name="half", settings=PickySettings, source=unbuilt, sink=unbuilt, where_fields={"name": "name"})


def test_a_platform_without_a_hook_says_so() -> None:
    with pytest.raises(ConfigError, match="calls no webhook"):
        picky.build_hook({"host": "https://a", "api_key": "k"})


async def test_files_are_built_from_their_settings(tmp_path: Any) -> None:
    settings = {"path": str(tmp_path / "*.jsonl"), "out": str(tmp_path / "scores.jsonl")}
    source, sink = connector.build_source(settings), connector.build_sink(settings)
    assert isinstance(source, FilesSource)
    assert isinstance(sink, FilesSink)
    await source.close()
    await sink.close()
    with pytest.raises(ConfigError, match=r"sources.local.pth: .* did you mean `path`\?"):
        connector.build_source({"pth": "x"}, at="sources.local")
    assert FilesSettings(path="x").out == "scores.jsonl"
