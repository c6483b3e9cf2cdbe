"""Gates on files: the two results, the rules, and the record of who shipped past a block."""

import json
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.jobs.settings import one_line
from groundwire.scorer import ConfigError, GateConfig, GateReport, SuiteResults

__all__ = ["Override", "load_gate", "load_results", "record_override"]


class Override(BaseModel):
    """Who shipped past the gate, why, and past what."""

    model_config = ConfigDict(frozen=True)

    by: str
    why: str
    at: datetime
    suite: str
    version: str
    baseline: str
    candidate: str
    blocked: tuple[str, ...]
    """What the gate said, one line a rule."""

    @classmethod
    def of(cls, report: GateReport, *, by: str | None, why: str | None, now: datetime) -> "Override":
        """The override of a report that blocks. Raises `ConfigError` unless it names who and why."""
        if not (by or "").strip() or not (why or "").strip():
            raise ConfigError("an override names who and why: --override REASON --by NAME")
        return cls(
            by=str(by).strip(),
            why=str(why).strip(),
            at=now,
            suite=report.suite,
            version=report.version,
            baseline=report.baseline,
            candidate=report.candidate,
            blocked=tuple(check.message for check in report.blocking),
        )


def record_override(override: Override, path: Path) -> None:
    """Add it to the record, one JSON object a line. Raises `ConfigError`: what can't be recorded doesn't override."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(override.model_dump_json() + "\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be written'}; nothing was overridden") from None


def load_results(path: Path) -> SuiteResults:
    """What `groundwire suite --out` wrote, whole. Raises `ConfigError`."""
    data = _decoded(path)
    if not isinstance(data, Mapping) or data.get("schema") != "groundwire_suite_v1":
        raise ConfigError(f"{path}: no results of `groundwire suite --out`")
    try:
        results = SuiteResults.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {one_line(error, SuiteResults)}") from None
    found = {(row.case, row.trial) for row in results.rows}
    wanted = {(case, trial) for case in results.cases for trial in range(results.trials)}
    if found != wanted or len(results.rows) != len(wanted):
        raise ConfigError(f"{path}: has {len(results.rows)} rows, not one for every trial of every case; run it again")
    return results


def load_gate(path: Path | None) -> GateConfig:
    """The rules in `gate.toml`; the defaults without one. Raises `ConfigError`."""
    if path is None:
        return GateConfig()
    try:
        return GateConfig.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {one_line(error, GateConfig)}") from None


def _decoded(path: Path) -> Any:
    def refuse(name: str) -> Any:
        raise ConfigError(f"{path}: holds {name} where a number belongs; run the suite again")

    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: not valid JSON") from None
