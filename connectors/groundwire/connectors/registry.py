"""Finds a connector by the name that `platform = "…"` gives it."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from groundwire.connectors.connector import Connector, nearest
from groundwire.scorer import ConfigError

__all__ = ["ENTRY_POINTS", "connector_names", "load_connector"]

ENTRY_POINTS = "groundwire.connectors"
"""The entry-point group in which a distribution announces its connectors."""


def connector_names() -> tuple[str, ...]:
    """The connectors that are installed, sorted; none of them is imported."""
    return tuple(sorted({entry.name for entry in entry_points(group=ENTRY_POINTS)}))


def load_connector(platform: str) -> Connector[Any]:
    """The connector of that name, or the one that `package.module:attribute` names.

    Raises `ConfigError` where there is none, where it can't be imported, and where two distributions claim the name.
    """
    if ":" in platform:
        module, _, attribute = platform.partition(":")
        if not module or not attribute:
            raise ConfigError(f'platform = "{platform}" is neither a name nor of the form package.module:attribute')
        return _checked(EntryPoint(name=platform, value=platform, group=ENTRY_POINTS))
    found = {entry.value: entry for entry in entry_points(group=ENTRY_POINTS, name=platform)}
    if not found:
        raise ConfigError(f'no connector is called "{platform}"{nearest(platform, connector_names())}')
    if len(found) > 1:
        raise ConfigError(
            f'several packages call their connector "{platform}"; name one of them: {", ".join(sorted(found))}'
        )
    return _checked(next(iter(found.values())))


def _checked(entry: EntryPoint) -> Connector[Any]:
    try:
        value = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f'the connector "{entry.name}" can\'t be imported: {error}') from error
    if not isinstance(value, Connector):
        raise ConfigError(f'the connector "{entry.name}" is no groundwire.connectors.Connector')
    return value
