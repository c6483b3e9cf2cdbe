"""Reading what a judge wrote: accepts what is unmistakable, refuses the rest with a line that says what is wrong.

Accepted: code fences, text around one object, reasoning before it, raw newlines in strings, a bare list where the form
holds one list. Refused: no object, several that differ, not-a-number, whatever the form refuses. Of an object's
repeated keys, and of entries with the same id, the last one binds.
"""

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

__all__ = ["Unreadable", "is_refusal", "read_items", "read_reply"]

M = TypeVar("M", bound=BaseModel)

MOST_CHARACTERS = 400_000
"""Of a reply; a longer one is none."""
MOST_STARTS = 2_000
"""Places in a reply where an object is looked for."""


class Unreadable(ValueError):  # noqa: N818 - said of the reply
    """The reply isn't the form. The message names places and rules, never a value, so it can be logged."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def read_reply(text: str, form: type[M]) -> M:
    """The one filled-in form in the text. Raises `Unreadable`."""
    if len(text) > MOST_CHARACTERS:
        raise Unreadable("the reply is far too long")
    text = text.rpartition("</think>")[2]
    candidates = _candidates(text, form)
    if not candidates:
        raise Unreadable("there is no complete JSON object in it")
    forms: list[M] = []
    complaint = ""
    for candidate in candidates:
        try:
            filled = form.model_validate(candidate)
        except ValidationError as error:
            complaint = complaint or _line(error)
        except RecursionError:
            complaint = complaint or "it is nested too deeply"
        else:
            if filled not in forms:
                forms.append(filled)
    if not forms:
        raise Unreadable(complaint)
    if len(forms) > 1:
        raise Unreadable("there are several different objects in it")
    return forms[0]


def read_items(entries: list[dict[str, Any]], item: type[M]) -> tuple[list[M], int]:
    """The entries that can be read, in order, and how many can't.

    Raises `Unreadable` where there are entries and none can be read.
    """
    items: list[M] = []
    complaint = ""
    for entry in entries:
        try:
            items.append(item.model_validate(entry))
        except ValidationError as error:
            complaint = complaint or _line(error)
    if entries and not items:
        raise Unreadable(complaint)
    return items, len(entries) - len(items)


def _candidates(text: str, form: type[BaseModel]) -> list[dict[str, Any]]:
    bare = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", text)
    only = next(iter(form.model_fields)) if len(form.model_fields) == 1 else None
    try:
        whole = _DECODER.decode(bare.strip())
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return [whole]
    if isinstance(whole, list) and only is not None and all(isinstance(item, dict) for item in whole):
        return [{only: whole}]
    found: list[dict[str, Any]] = []
    position = 0
    for _ in range(MOST_STARTS):
        start = text.find("{", position)
        if start < 0:
            break
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
        else:
            found.append(value)
    return found


def _line(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


_REFUSAL = re.compile(
    r"^\W*(?:i(?:'|’)?m (?:very |really )?sorry\b|(?:i am|i'm|i’m) (?:unable|not able)\b|sorry,? (?:but )?i\b"
    r"|i (?:can(?:'|’)?t|cannot|can not|won(?:'|’)t|must decline to)\b|as an ai\b"
    r"|es tut mir leid|lo siento|je suis désolé|mi dispiace|извините|对不起|很抱歉|抱歉|申し訳)",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a reply without any object declines to answer."""
    return "{" not in text and _REFUSAL.match(text) is not None
