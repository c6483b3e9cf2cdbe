"""Claims with the passages they cite."""

from dataclasses import dataclass

__all__ = ["CitedClaim", "CitedPassage"]


@dataclass(frozen=True, kw_only=True)
class CitedPassage:
    """What a claim points at."""

    source: str
    """The source's id."""
    quote: str | None
    """The words that are said to stand there; None where the form has none and cites the source as a whole."""
    start: int | None = None
    """Where in the source the quote is said to begin, in characters; None where the form doesn't say."""
    end: int | None = None
    """Where it is said to end."""


@dataclass(frozen=True, kw_only=True)
class CitedClaim:
    """One claim of a draft."""

    text: str
    passages: tuple[CitedPassage, ...]
    """At least one; a claim stands on all of them together."""
