"""What a user writes for a suite: `suite.toml`, its cases and its sources."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from groundwire.jobs.settings import one_line
from groundwire.jobs.spec import Seconds
from groundwire.scorer import Case, CaseKind, ConfigError, PriceConfig

__all__ = ["GraderSpec", "Suite", "SuiteSpec", "json_lines", "load_suite", "read_json"]

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class GraderSpec(BaseModel):
    """One `[[graders]]`; its further keys are the grader's parameters."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    use: Text
    """A grader's name, or the dotted path of a function of your own (`package.module:function`)."""
    name: Text | None = None
    """What the results call it; by default as in `use`."""
    kinds: tuple[CaseKind, ...] = ("normal", "hard", "must_refuse")
    """The kinds of case that it grades."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The grader's own keys."""
        return dict(self.model_extra or {})


class SuiteSpec(_Strict):
    """The whole of `suite.toml`."""

    name: Text
    """What the results call it."""
    version: Annotated[str, BeforeValidator(_text), StringConstraints(min_length=1)] = "1"
    """Of the set of cases; results of different versions are never compared."""
    cases: Path = Path("cases.jsonl")
    """One case a line."""
    sources: Path | Mapping[str, str] = Field(default_factory=dict)
    """Texts by id that answers may rest on, here or in a JSON file."""
    target: Text | None = None
    """The dotted path of the function under test (`package.module:function`), sync or async."""
    recorded: Path | None = None
    """Outputs that were recorded, one a line, instead of a target."""
    trials: int = Field(default=1, ge=1)
    """Runs of every case."""
    k: int | None = Field(default=None, ge=1)
    """Of pass@k and pass^k; the number of trials unless given."""
    concurrency: int = Field(default=4, ge=1)
    """Trials under way at once."""
    timeout: Seconds = 60.0
    """Of one trial: `90`, `"90s"`, `"2m"`."""
    model: Text | None = None
    """The target's model, for the price list, where an output names none."""
    price: PriceConfig | None = None
    """Instead of the price list, in US dollars per million tokens: `{ input = …, output = …, cached_input = … }`."""
    graders: tuple[GraderSpec, ...] = ()
    """What grades a trial: it passes where all that apply pass. Unset: the answer, its citations, and refusals."""
    judge: Mapping[str, Any] | None = None
    """`use = "package.module:function"`, or `kind = "llm"` and the keys of a `[judges]` table."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A suite that was read and found whole."""

    spec: SuiteSpec
    folder: Path
    """Where its file stands: its paths and modules are looked for there."""
    cases: tuple[Case, ...]
    sources: Mapping[str, str]

    @property
    def cases_path(self) -> Path:
        """The file of the cases."""
        return self.folder / self.spec.cases


def load_suite(path: Path) -> Suite:
    """Read a suite. Raises `ConfigError` with one line that names the file, the line and the case."""
    try:
        spec = SuiteSpec.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}; name a suite.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except ValidationError as error:
        raise ConfigError(f"{path}: {one_line(error, SuiteSpec)}") from None
    sources = _sources(spec.sources, path.parent)
    cases = tuple(_cases(path.parent / spec.cases, sources))
    if not cases:
        raise ConfigError(f"{path.parent / spec.cases}: there are no cases; write one a line")
    return Suite(spec=spec, folder=path.parent, cases=cases, sources=sources)


def _sources(given: Path | Mapping[str, str], folder: Path) -> Mapping[str, str]:
    if not isinstance(given, Path):
        return given
    path = folder / given
    data = read_json(path)
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise ConfigError(f"{path}: expected {{id: text}}")
    return data


def read_json(path: Path) -> Any:
    """The JSON value in a file. Raises `ConfigError`, which shows none of it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: not valid JSON") from None


def _cases(path: Path, sources: Mapping[str, str]) -> Iterator[Case]:
    seen: dict[str, int] = {}
    for number, data in json_lines(path):
        try:
            case = Case.model_validate(data)
        except ValidationError as error:
            raise ConfigError(f"{path} line {number}: {one_line(error, Case)}") from None
        if case.id in seen:
            raise ConfigError(f"{path} line {number}: {case.id!r} stands on line {seen[case.id]} already")
        seen[case.id] = number
        known = {**sources, **(case.sources if isinstance(case.sources, Mapping) else {})}
        named = (*case.cite, *(case.sources if isinstance(case.sources, tuple) else ()))
        missing = next((name for name in named if name not in known), None)
        if missing is not None:
            raise ConfigError(f"{path} line {number} ({case.id}): there is no source {missing!r}")
        yield case


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The objects of a JSON Lines file, each with its line number. Raises `ConfigError`, which shows no text."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path} line {number}: not valid JSON: {_why(error)}") from None
        if not isinstance(data, dict):
            raise ConfigError(f"{path} line {number}: expected an object")
        yield number, data


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _why(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error) or type(error).__name__
