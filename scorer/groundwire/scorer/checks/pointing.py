"""Where a cited quote stands in a block: at its JSON path, else as whole words."""

import re

from groundwire.scorer.claims import Quote, find_quote

from .data import read_leaves

__all__ = ["place_quote"]


def place_quote(quote: str, text: str, *, path: str | None = None) -> Quote | None:
    """Where `quote` stands in `text`; None where it doesn't, or where it isn't known which of several places is meant.

    With a JSON path, the value under that path, the quote inside it, or the quote around it. Without one, the quote as
    whole words (a `4` is not the one in `KC-204`), then as `find_quote` looks it up. A bare value that stands in
    several places has no place: pointing at one of them would be a guess.
    """
    quote = quote.strip()
    if not quote:
        return None
    if path is not None and path != "$":
        for leaf in read_leaves(text)[0]:
            if leaf.kind != "key" and leaf.path == path:
                return _at_value(quote, text, leaf.start, leaf.end)
    before = r"(?<!\w)(?<!\w[.,])" if re.match(r"\w", quote) else ""
    after = r"(?!\w)(?![.,]\w)" if re.search(r"\w\Z", quote) else ""
    whole = [found.span() for found in re.finditer(before + re.escape(quote) + after, text)]
    if len(whole) > 1 and not re.search(r"\s", quote):
        return None
    if whole:
        return Quote(start=whole[0][0], end=whole[0][1], exact=True)
    return find_quote(quote, text)


def _at_value(quote: str, text: str, start: int, end: int) -> Quote:
    """The quote inside a value, or around it (its key quoted too); else the value itself, written otherwise."""
    if (inside := find_quote(quote, text[start:end])) is not None:
        return Quote(start=start + inside.start, end=start + inside.end, exact=inside.exact)
    around = text.find(quote, max(0, end - len(quote)), start + len(quote))
    if around >= 0:
        return Quote(start=around, end=around + len(quote), exact=True)
    return Quote(start=start, end=end, exact=False)
