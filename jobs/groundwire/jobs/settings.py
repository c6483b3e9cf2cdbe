"""`groundwire.toml` and the environment, read once; nothing else in groundwire looks at either."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from groundwire.jobs.spec import Caps, EvaluatorSpec, GuardSpec, ServiceSpec, SourceSpec, StateSpec
from groundwire.scorer import ConfigError, JudgeConfig, require_tree

__all__ = ["CONFIG_FILE", "Settings", "api_key", "load_settings", "one_line", "platform_defaults"]

CONFIG_FILE = "groundwire.toml"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class LogSpec(BaseModel):
    """How groundwire logs; never trace text, never a key."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    format: Annotated[str, Field(pattern="^(console|json)$")] = "console"
    """`console` or `json` (one object a line)."""
    level: Annotated[str, Field(pattern="^(debug|info|warning|error)$")] = "info"
    """The least level that is written."""


class Settings(BaseSettings):
    """Everything in `groundwire.toml`. `GROUNDWIRE_STATE__URL=…` in the environment overrides `[state] url`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix="GROUNDWIRE_",
        env_nested_delimiter="__",
        protected_namespaces=(),
        use_attribute_docstrings=True,
    )

    judges: dict[str, JudgeConfig] = Field(default_factory=dict)
    """The judges, by name; evaluators use `default` unless they name another."""
    sources: dict[str, SourceSpec] = Field(default_factory=dict)
    """The projects that traces come from and scores go to, by name."""
    evaluators: tuple[EvaluatorSpec, ...] = ()
    """The configured uses of metrics."""
    cap: Caps = ()
    """Caps over all evaluators and backfills together."""
    state: StateSpec = Field(default_factory=StateSpec)
    """Where the state is kept."""
    guard: GuardSpec | None = None
    """The guard, for `POST /v1/guard` and for `open_guard`."""
    service: ServiceSpec = Field(default_factory=ServiceSpec)
    """The web service."""
    log: LogSpec = Field(default_factory=LogSpec)
    """How groundwire logs."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic-settings' signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - as above
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment first, then the file."""
        return env_settings, init_settings

    @model_validator(mode="after")
    def _names_fit(self) -> "Settings":
        names = [evaluator.name for evaluator in self.evaluators]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two evaluators are called {name!r}; a score's name is its evaluator's")
        for evaluator in self.evaluators:
            if evaluator.source not in self.sources:
                raise ValueError(
                    f"evaluator {evaluator.name!r}: no source is called {evaluator.source!r}; "
                    f"there {_list_of(self.sources)}"
                )
            if evaluator.judge not in self.judges and evaluator.judge not in ("default", "offline"):
                known = _list_of(self.judges)
                raise ValueError(f"evaluator {evaluator.name!r}: no judge is called {evaluator.judge!r}; there {known}")
        if self.guard is not None:
            self._guard_fits(self.guard)
        if self.service.judge not in self.judges and self.service.judge not in ("default", "offline"):
            raise ValueError(f"service.judge: no judge is called {self.service.judge!r}; there {_list_of(self.judges)}")
        return self

    def _guard_fits(self, guard: GuardSpec) -> None:
        if any(evaluator.name == guard.name for evaluator in self.evaluators):
            raise ValueError(f"guard.name: an evaluator is called {guard.name!r} as well; a score's name is its own")
        if guard.source is not None and guard.source not in self.sources:
            raise ValueError(f"guard.source: no source is called {guard.source!r}; there {_list_of(self.sources)}")
        signals = guard.read()[0].signals
        deployments = [one.deployment for one in (*signals.fact_check, *signals.hallucination) if one.deployment]
        for name in (guard.judge, *deployments):
            if name not in self.judges and name not in ("default", "offline"):
                raise ValueError(f"guard: no judge is called {name!r}; there {_list_of(self.judges)}")

    def evaluator(self, name: str) -> EvaluatorSpec:
        """The evaluator of that name. Raises `ConfigError`."""
        found = next((evaluator for evaluator in self.evaluators if evaluator.name == name), None)
        if found is None:
            raise ConfigError(f"no evaluator is called {name!r}; there {_list_of(e.name for e in self.evaluators)}")
        return found


def _list_of(names: Iterable[str]) -> str:
    known = sorted(names)
    return f"are: {', '.join(known)}" if known else "are none"


def load_settings(path: Path | None = None, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the configuration. Raises `ConfigError` with one line that names the key and what to change.

    `${NAME}` in a value is replaced from the environment; a name that isn't set is an error. Without a path the file is
    `groundwire.toml` in the working folder.
    """
    file = path or Path(CONFIG_FILE)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{file} isn't there; `groundwire init` writes one, --config names another") from None
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not valid TOML: {error}") from None
    variables = os.environ if environment is None else environment
    filled = _fill(data, variables, where=str(file))
    for judge in filled.get("judges", {}).values():
        if isinstance(judge, dict) and judge.get("kind", "llm") == "llm" and "api_key" not in judge:
            judge |= api_key(variables)
    guard = filled.get("guard")
    if isinstance(guard, dict) and isinstance(guard.get("file"), str):
        router = _router(file.parent / guard["file"])
        require_tree(router)  # YAML can hold itself
        guard["router"] = _fill(router, variables, where=guard["file"])
    try:
        return Settings(**filled)
    except ValidationError as error:
        raise ConfigError(f"{file}: {one_line(error, Settings)}") from None


def _router(file: Path) -> Any:
    """A router's configuration file; JSON and TOML by their endings, anything else as YAML. Raises `ConfigError`."""
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)  # JSON is YAML as well
    except OSError as error:
        raise ConfigError(f"guard.file: {file}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        place = getattr(error, "problem_mark", None)
        where = f" (line {place.line + 1})" if place is not None else ""
        raise ConfigError(f"guard.file: {file}: it can't be read as {file.suffix[1:] or 'yaml'}{where}") from None


def api_key(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """`{"api_key": …}` where `OPENAI_API_KEY` is set: an LLM judge's key by default."""
    key = platform_defaults(["OPENAI_API_KEY"], environment).get("OPENAI_API_KEY")
    return {"api_key": key} if key else {}


def platform_defaults(names: Iterable[str], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Those of the platforms' own variables (`LANGFUSE_HOST`, `LANGSMITH_API_KEY`, …) that are set."""
    variables = os.environ if environment is None else environment
    return {name: variables[name] for name in names if variables.get(name)}


def _fill(value: Any, variables: Mapping[str, str], *, where: str) -> Any:
    if isinstance(value, str):

        def replaced(found: re.Match[str]) -> str:
            name = found[1]
            if name not in variables:
                raise ConfigError(f"{where}: ${{{name}}} isn't set in the environment; export it or write the value")
            return variables[name]

        return _VARIABLE.sub(replaced, value)
    if isinstance(value, dict):
        return {key: _fill(item, variables, where=f"{where}: {key}") for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, variables, where=where) for item in value]
    return value


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """The first fault of a configuration as one line; an unknown key names its nearest neighbour."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        near = _nearest(key, _keys(model))
        return f"{where}: no such key" + (f"; did you mean {near!r}?" if near else "")
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _keys(model: type[BaseModel]) -> set[str]:
    """Every key of a model and of the models inside it."""
    names: set[str] = set()
    waiting: list[Any] = [model]
    seen: set[Any] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if isinstance(current, type) and issubclass(current, BaseModel):
            for name, field in current.model_fields.items():
                names.add(field.alias or name)
                waiting.append(field.annotation)
        else:
            waiting.extend(getattr(current, "__args__", ()))
    return names


def _nearest(key: str, known: Iterable[str]) -> str | None:
    from rapidfuzz import process

    found = process.extractOne(key, sorted(known), score_cutoff=60)
    return found[0] if found else None
