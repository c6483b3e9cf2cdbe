"""What a platform's package offers: its settings, what it builds from them, and what can be filtered on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.connectors.base import Annotations, Hook, Sink, Source
from groundwire.scorer import ConfigError

__all__ = ["WHERE_FIELDS", "Attachment", "Connector", "Instructions", "SourceSettings", "nearest"]

WHERE_FIELDS = (
    "environment",
    "has_error",
    "level",
    "max_duration",
    "metadata",
    "min_duration",
    "model",
    "name",
    "release",
    "session",
    "tags",
    "user",
)
"""What `where` can ask of a trace's root. Durations are seconds."""


class SourceSettings(BaseModel):
    """What stands in a `[sources.NAME]` table beside `platform`. An unknown key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True)


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """How a platform is to call an evaluator."""

    evaluator: str
    path: str
    """The evaluator's name as a part of a URL."""
    kind: Literal["webhook", "decision"]
    url: str
    """The service's address as the platform reaches it, without a slash at its end."""
    secret: str
    """What the platform sends as `Authorization: Bearer …`, or a word that stands for it."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """The evaluator's `where`, the fields that are set."""
    sample: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """What to do on a platform, twice: by hand, and as one request to its API."""

    steps: tuple[str, ...]
    request: str
    """Method and path."""
    body: Mapping[str, Any]
    """JSON."""
    notes: tuple[str, ...] = ()


SettingsT = TypeVar("SettingsT", bound=SourceSettings)


@dataclass(frozen=True, kw_only=True)
class Connector(Generic[SettingsT]):
    """One platform. An entry point of the group `groundwire.connectors` names an object of this kind.

    The platform's SDK is imported by what builds, not where this object stands.
    """

    name: str
    """What `platform = "…"` says."""
    settings: type[SettingsT]
    source: Callable[[SettingsT], Source]
    sink: Callable[[SettingsT], Sink]
    starts: Literal["now", "beginning"] = "now"
    """Where a source that was never read begins: with what ends from now on, or with all that is there."""
    hook: Callable[[SettingsT], Hook] | None = None
    """None where the platform calls nobody."""
    attach: Callable[[SettingsT, Attachment], Instructions] | None = None
    """How the platform is told to call us; None where it can't be."""
    annotations: Callable[[SettingsT], Annotations] | None = None
    """None where people's labels can't be read from the platform."""
    feedback: bool = False
    """Whether traces come with what people said of them (`Trace.feedback`)."""
    where_fields: Mapping[str, str]
    """Of `WHERE_FIELDS`, those the platform has: what each stands for there, in a few words."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """For each of `WHERE_FIELDS` that it lacks: what to write in its place (`metadata.environment`, say)."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The platform's own names of environment variables, by the setting whose default each is."""

    def __post_init__(self) -> None:
        if sorted([*self.where_fields, *self.instead]) != sorted(WHERE_FIELDS):
            raise ConfigError(
                f'the connector "{self.name}" must name each `where` field once, in where_fields or in instead'
            )

    def read_settings(self, settings: Mapping[str, Any], *, at: str = "") -> SettingsT:
        """Check a source's settings (without `platform`; `${…}` already replaced).

        `at` says where they stand (`sources.prod`), for the message. Raises `ConfigError`, one line: an unknown key
        with its nearest neighbour, a missing one, a value that doesn't fit. No value is repeated in it.
        """
        try:
            return self.settings.model_validate(dict(settings))
        except ValidationError as error:
            errors = error.errors(include_input=False, include_context=False, include_url=False)
            first = min(errors, key=lambda found: found["type"] != "extra_forbidden")  # it explains what is missing
            key = ".".join(str(part) for part in first["loc"])
            place = f"{at}.{key}".strip(".")
            if first["type"] == "extra_forbidden":
                raise ConfigError(
                    f'{place}: the platform "{self.name}" has no such setting{nearest(key, self.settings.model_fields)}'
                ) from None
            if first["type"] == "missing":
                raise ConfigError(f'{place} is missing; the platform "{self.name}" needs it') from None
            raise ConfigError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None

    def build_source(self, settings: Mapping[str, Any], *, at: str = "") -> Source:
        """The source these settings describe; nothing is contacted yet. Raises `ConfigError`."""
        return self.source(self.read_settings(settings, at=at))

    def build_sink(self, settings: Mapping[str, Any], *, at: str = "") -> Sink:
        """The sink these settings describe; nothing is contacted yet. Raises `ConfigError`."""
        return self.sink(self.read_settings(settings, at=at))

    def build_hook(self, settings: Mapping[str, Any], *, at: str = "") -> Hook:
        """The hook these settings describe. Raises `ConfigError`, also where the platform calls nobody."""
        checked = self.read_settings(settings, at=at)
        if self.hook is None:
            raise ConfigError(f'the platform "{self.name}" calls no webhook; its traces come by `groundwire run`')
        return self.hook(checked)

    def build_annotations(self, settings: Mapping[str, Any], *, at: str = "") -> Annotations:
        """What people said, as these settings describe it. Raises `ConfigError`, also where it can't be read there."""
        checked = self.read_settings(settings, at=at)
        if self.annotations is None:
            raise ConfigError(f'the platform "{self.name}" gives no labels of people; write them to a file')
        return self.annotations(checked)

    def check_where(self, fields: Iterable[str], *, at: str = "where") -> None:
        """See that the platform has every one of these `where` fields.

        `metadata.KEY` asks for one key. Raises `ConfigError` that names the nearest field, or the platform's
        equivalent.
        """
        for name in fields:
            known = name.partition(".")[0] if name.startswith("metadata.") else name
            if known in self.instead:
                raise ConfigError(f'{at}.{name}: the platform "{self.name}" has none; use {self.instead[known]}')
            if known not in self.where_fields:
                raise ConfigError(f"{at}.{name} is no field of a trace{nearest(name, WHERE_FIELDS)}")


def nearest(word: str, words: Iterable[str]) -> str:
    """The end of a message about an unknown word: the one that was probably meant, or all there are."""
    known = sorted(words)
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known)}" if known else ""
