"""JSON and text cleaned once, where they enter: no lone surrogates, no NaN or infinity, no bytes of media."""

import json
import math
import re
from typing import Any

__all__ = ["MAX_DEPTH", "MEDIA_TOKEN", "as_json", "clean_text", "decode_at", "decoded", "loads", "without_media"]

MAX_DEPTH = 100
"""Deepest nesting that is read, so that JSON inside JSON stays below the 255 levels at which pydantic stops."""
_DATA_URI = re.compile(
    r"data:(?P<mime>[\w.+-]{1,40}\\?/[\w.+-]{1,80})(?:;(?!base64)[\w.+-]+(?:=[^;,\s\"']{0,200})?)*"
    r"(?:;base64,[A-Za-z0-9+/=_%\\-]*|,[^\s\"'<>)\]]*)",
    re.IGNORECASE,
)
MEDIA_TOKEN = re.compile(r"@@@langfuseMedia:(?P<body>[^@]{0,500})@@@")
"""Langfuse's reference to media that was taken out of a message: `type=image/png|id=…|source=…`."""


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)


def clean_text(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 can carry, by U+FFFD; pairs become the character they mean."""
    if _encodes(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def loads(text: str) -> Any:
    """Decode JSON leniently: NaN and infinities become None, lone surrogates U+FFFD.

    Raises `ValueError` (`json.JSONDecodeError` with its position where the syntax is at fault).
    """
    start = len(text) - len(text.lstrip())
    value, end = decode_at(text, start)
    if text[end:].strip():
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def decode_at(text: str, start: int) -> tuple[Any, int]:
    """Decode the JSON value that starts at `start`, as leniently as `loads`; returns it and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        raise ValueError("a number has too many digits") from None
    raw = text[start:end]
    if "\\ud" in raw or "\\uD" in raw or not _encodes(raw):  # else no lone surrogate can be in it
        value = _cleaned(value)
    if raw.count("[") + raw.count("{") > MAX_DEPTH and _depth_exceeds(value):
        raise ValueError("the JSON is nested too deep")
    return value, end


def _encodes(text: str) -> bool:
    """Whether a text has no lone surrogate. Trying is many times faster than looking for one."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _depth_exceeds(value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in value.items()}
    return value


def decoded(value: Any, *, times: int = 2) -> Any:
    """What a string of JSON holds, unpacked up to `times` times; anything that isn't JSON text as it is.

    Only objects, lists and quoted strings are unpacked: the text `42` stays text.
    """
    for _ in range(times):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            break
        try:
            value = loads(value)
        except ValueError:
            break
    return value


def as_json(value: Any) -> str:
    """Compact JSON with raw Unicode."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def without_media(value: Any) -> Any:
    """The same JSON value with the bytes of every data URI, and every media token, replaced by its type in brackets."""
    if isinstance(value, str):
        return _named_only(value)
    if isinstance(value, list):
        return [without_media(item) for item in value]
    if isinstance(value, dict):
        return {_named_only(key): without_media(item) for key, item in value.items()}
    return value


def _named_only(text: str) -> str:
    if "ata:" in text or "ATA:" in text:
        text = _DATA_URI.sub(lambda found: f"[{found['mime'].replace(chr(92), '')}]", text)
    if "@@@langfuseMedia:" in text:
        text = MEDIA_TOKEN.sub(lambda found: f"[{_token_type(found['body'])}]", text)
    return text


def _token_type(body: str) -> str:
    return next((piece[5:] for piece in body.split("|") if piece.startswith("type=")), "media")
