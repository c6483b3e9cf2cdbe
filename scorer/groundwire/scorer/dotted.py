"""A user's own function by its dotted path, `package.module:name`."""

import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundwire.scorer.errors import ConfigError

__all__ = ["load_callable", "source_digest"]


def load_callable(path: str, *, folder: Path | None = None) -> Callable[..., Any]:
    """The function of that path; `folder` (the working folder unless given) is looked in first.

    Raises `ConfigError` where there is none, and where importing its module fails.
    """
    module, separator, name = path.partition(":")
    if not (module and separator and name):
        raise ConfigError(f"{path!r} names no function; write package.module:function")
    place = str((folder or Path.cwd()).resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise ConfigError(f"{path!r}: the module has no {name}") from None
    except Exception as error:  # noqa: BLE001 - a module of the user's may fail in any way while it is imported
        raise ConfigError(f"{path!r} can't be imported: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise ConfigError(f"{path!r} is no function")
    return found  # type: ignore[no-any-return]


def source_digest(function: Callable[..., Any]) -> str:
    """12 hex digits over a function's source; empty where it can't be had."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:12]
