"""A draft: claims, each with the passages it cites, whatever form they were returned in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, field_validator

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.verification.forms import read_anthropic, read_openai
from groundwire.scorer.verification.passages import CitedClaim, CitedPassage

__all__ = ["Draft", "read_draft", "read_sources"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What is to be verified."""

    claims: tuple[CitedClaim, ...]
    uncited: tuple[str, ...] = ()
    """Passages of an API's answer that cite nothing: no claim of them is verified."""


class _Item(BaseModel):
    """One entry of `[{claim, quote, source}]`; further keys are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    claim: str
    quote: str = ""
    source: str

    @field_validator("claim")
    @classmethod
    def _says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        return value


_ITEMS = TypeAdapter(list[_Item])
_SOURCES = TypeAdapter(dict[str, str])


def read_draft(data: Any, sources: Mapping[str, str]) -> Draft:
    """The draft in a decoded JSON value.

    Takes `[{claim, quote, source}]`, a message of Anthropic's API whose text blocks bear citations, and a response,
    chat completion or message of OpenAI's whose text bears annotations. Documents that a citation names by number are
    those of `sources` in their order. Raises `ConfigError` for anything else, and for a draft without claims.
    """
    draft = _read(data, sources)
    if not draft.claims:
        raise ConfigError("draft: there is no claim with a citation in it")
    return draft


def _read(data: Any, sources: Mapping[str, str]) -> Draft:
    if isinstance(data, Mapping):
        for read in (read_anthropic, read_openai):
            found = read(data, sources)
            if found is not None:
                return Draft(claims=found[0], uncited=found[1])
    if isinstance(data, Sequence) and not isinstance(data, str):
        try:
            items = _ITEMS.validate_python(data)
        except ValidationError as error:
            raise ConfigError(f"draft: {_first(error)}") from None
        return Draft(
            claims=tuple(
                CitedClaim(text=item.claim, passages=(CitedPassage(source=item.source, quote=item.quote),))
                for item in items
            )
        )
    raise ConfigError(
        "draft: expected [{claim, quote, source}], or a response of Anthropic's or OpenAI's API with its citations"
    )


def read_sources(data: Any) -> dict[str, str]:
    """The texts by id in a decoded JSON value, `{id: text}`. Raises `ConfigError`."""
    try:
        sources = _SOURCES.validate_python(data)
    except ValidationError as error:
        raise ConfigError(f"sources: expected {{id: text}}; {_first(error)}") from None
    if not sources:
        raise ConfigError("sources: there is none; give {id: text}")
    return sources


def _first(error: ValidationError) -> str:
    """The first fault, without the value that has it."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message
