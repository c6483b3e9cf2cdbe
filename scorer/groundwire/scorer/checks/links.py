"""Links: e-mail addresses and URLs, in a form that ignores how they are dressed."""

import re
from urllib.parse import unquote

from .items import Item

__all__ = ["read_emails", "read_urls"]

_URL = re.compile(
    r"(?<![A-Za-z0-9@])(?:(?:https?|ftp|wss?)://|www\.)[^\s<>\"'`|{}\\^\ue000\x00]{2,2000}",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"(?<![\w@./-])(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,4}"
    r"(?:com|org|net|edu|gov|io|ai|dev|app|co|info|de|fr|es|it|nl|eu|uk|us|ru|cn|jp|in|br|ch|at|be|pl|ca|au)"
    r"(?:\.[a-z]{2})?(?:/[^\s<>\"'`|{}\\^\ue000\x00]{0,2000})?(?![\w@-])",
    re.IGNORECASE,
)
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+\-@])[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}"
    r"[A-Za-z]{2,24}(?![A-Za-z0-9@])"
)
_CLOSERS = {")": "(", "]": "[", "）": "（", "」": "「"}
_TRAILING = ".,;:!?'\"*_~…。，；：！？、）」』】》*"


def read_emails(text: str, original: str, _language: str) -> list[Item]:
    """The e-mail addresses of a folded text, in order."""
    if "@" not in text:
        return []
    return [
        Item(
            kind="email",
            text=original[found.start() : found.end()],
            start=found.start(),
            end=found.end(),
            value=found.group().lower(),
        )
        for found in _EMAIL.finditer(text)
    ]


def read_urls(original: str) -> list[Item]:
    """The URLs of a text (not folded: a path may hold any mark), without the punctuation that ends a sentence.

    A bare domain name counts where it ends in a well-known top level domain.
    """
    items: list[Item] = []
    if "." not in original:
        return items
    at = 0
    for found in sorted([*_URL.finditer(original), *_BARE.finditer(original)], key=lambda match: match.start()):
        if found.start() < at:
            continue
        end = _trimmed(original, found.start(), found.end())
        text = original[found.start() : end]
        items.append(Item(kind="url", text=text, start=found.start(), end=end, value=_normal(text)))
        at = end
    return items


def _trimmed(text: str, start: int, end: int) -> int:
    cut = text.find("](", start, end)  # the label of a Markdown link may itself be an address
    end = cut if cut > start else end
    while end > start + 1:
        last = text[end - 1]
        if last in _TRAILING or (
            last in _CLOSERS and text.count(_CLOSERS[last], start, end) < text.count(last, start, end)
        ):
            end -= 1
        else:
            break
    return end


def _normal(url: str) -> str:
    """Lower-case scheme and host, no `www.`, no default port, no trailing slash, percent escapes decoded; `http` is
    `https` and a missing scheme too, for people write addresses either way."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "https", url
    scheme = scheme.lower()
    host, slash, path = rest.partition("/")
    if not slash:
        for separator in "?#":
            if separator in host:
                host, _, query = host.partition(separator)
                path = separator + query
                break
    host = host.lower().removeprefix("www.").removesuffix(":443").removesuffix(":80")
    path = unquote(path, errors="replace").rstrip("/")
    joined = "" if not path or path[0] in "?#" else "/"
    return f"{'https' if scheme == 'http' else scheme}://{host}{joined}{path}"
