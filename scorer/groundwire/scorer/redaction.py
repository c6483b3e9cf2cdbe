"""What is taken out of text before it leaves the process: each value for a stand-in, the same one wherever it stands.

Evidence and answer of one partition share their stand-ins, so that a judge still sees that two values are the same.
Offsets and values can be had back: what a row quotes is the original.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from groundwire.scorer.errors import ConfigError

__all__ = ["Hidden", "Pattern", "Redact", "Redaction"]

BuiltIn = Literal["email", "phone", "card", "iban", "ip", "key", "presidio"]

_PHONE_DIGITS = 9
"""Last digits by which two spellings of a phone number, with and without country code, are the same."""
_DATE = re.compile(r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4}")
_CUT = re.compile(r" ?\[…\d+ characters cut\] ?")


class Pattern(BaseModel):
    """A pattern of the user's own: `{name = "order", pattern = "ORD-[0-9]{6}"}`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
    pattern: Annotated[str, Field(min_length=1)]
    """A regular expression; what it matches as a whole is replaced."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            compiled = re.compile(value)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error.msg}") from None
        if compiled.fullmatch(""):
            raise ValueError("must not match the empty text")
        return value


Redact = BuiltIn | Pattern
"""`email`, `phone`, `card` (Luhn), `iban`, `ip`, `key`, `presidio` (where it is installed), or a pattern."""


@dataclass(frozen=True, kw_only=True)
class _Kind:
    name: str
    pattern: re.Pattern[str]
    accept: Callable[[str], bool] = lambda _value: True
    identity: Callable[[str], str] = str.casefold
    """Two spellings with the same identity get the same stand-in."""


def _digits(value: str) -> str:
    return "".join(character for character in value if character.isdigit())


def _luhn(value: str) -> bool:
    digits = [int(character) for character in _digits(value)]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _iban(value: str) -> bool:
    letters = re.sub(r"\s", "", value).upper()
    if not 15 <= len(letters) <= 34:
        return False
    turned = letters[4:] + letters[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1


def _ip(value: str) -> bool:
    import ipaddress

    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _phone(value: str) -> bool:
    digits = _digits(value)
    if not 8 <= len(digits) <= 15 or _DATE.fullmatch(value):
        return False
    return (
        value.startswith(("+", "(")) or (value[0] == "0" and len(digits) >= 9) or len(re.findall(r"[-. ]", value)) >= 2
    )


_KINDS: dict[str, _Kind] = {
    kind.name: kind
    for kind in (  # in this order: a longer kind is taken out before a shorter one can match inside it
        _Kind(
            name="key",
            pattern=re.compile(
                r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----"
                r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z]+[-_])*[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
                r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bxox[abprs]-[\w-]{10,}|\blsv2_\w{20,}"
                r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|(?<=Bearer )[\w.~+/-]{16,}=*",
                re.DOTALL,
            ),
            identity=str,
        ),
        _Kind(name="email", pattern=re.compile(r"[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}\.[^\W\d_]{2,24}")),
        _Kind(
            name="iban",
            pattern=re.compile(r"\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,4})?\b"),
            accept=_iban,
            identity=lambda value: re.sub(r"\s", "", value).upper(),
        ),
        _Kind(
            name="card", pattern=re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])"), accept=_luhn, identity=_digits
        ),
        _Kind(
            name="ip",
            pattern=re.compile(
                r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})(?![\w:])"
            ),
            accept=_ip,
        ),
        _Kind(
            name="phone",
            pattern=re.compile(
                r"(?<![\w.,+-])(?:\+\d{1,3}[ .-]?)?(?:\(\d{1,5}\)[ .-]?)?\d{2,12}(?:[ ./-]\d{2,8}){0,5}(?![\w-]|[.,]\d)"
            ),
            accept=_phone,
            identity=lambda value: _digits(value)[-_PHONE_DIGITS:],
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """A text with its values replaced."""

    text: str
    original: str
    edits: tuple[tuple[int, int, int, int], ...] = ()
    """(start, end) in the hidden text and (start, end) in the original, of every stand-in, ascending."""

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the hidden text stands in the original; a stand-in counts whole."""
        return self._back(start, 0), self._back(end, 1)

    def _back(self, offset: int, side: int) -> int:
        index = bisect_right(self.edits, offset, key=lambda edit: edit[0]) - 1
        if index < 0:
            return offset
        begin, end, original_begin, original_end = self.edits[index]
        if offset >= end:
            return original_end + offset - end
        return original_begin if side == 0 or offset == begin else original_end


@dataclass(kw_only=True)
class Redaction:
    """The stand-ins of one partition."""

    kinds: Sequence[Redact] = ()
    counts: "Counter[str]" = field(default_factory=Counter)
    """Values replaced so far, by kind; a value that stands in several texts counts once."""
    _stand_ins: dict[tuple[str, str], str] = field(default_factory=dict)
    _values: dict[str, str] = field(default_factory=dict)

    def hide(self, text: str, *, whole: str | None = None) -> Hidden:
        """The text with every value replaced.

        `whole` is the text that `text` shows a part of: a value that a cut went through is replaced too.
        """
        if not self.kinds or not text:
            return Hidden(text=text, original=text)
        found = self._find(text)
        if whole is not None and whole != text:
            found += self._halves(text, whole)
        found.sort()
        pieces: list[str] = []
        edits: list[tuple[int, int, int, int]] = []
        size = position = 0
        for start, end, stand_in in found:
            if start < position:
                continue
            pieces += [text[position:start], stand_in]
            size += start - position
            edits.append((size, size + len(stand_in), start, end))
            size += len(stand_in)
            position = end
        pieces.append(text[position:])
        return Hidden(text="".join(pieces), original=text, edits=tuple(edits))

    def show(self, text: str) -> str:
        """The text with the values back in the place of their stand-ins."""
        if not self._values:
            return text
        return re.sub(r"\[[A-Z][A-Z0-9_]*_\d+\]", lambda found: self._values.get(found.group(), found.group()), text)

    def _find(self, text: str) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        for name, start, end, identity in _values(text, tuple(self.kinds)):
            if all(end <= begin or start >= stop for begin, stop, _ in found):
                found.append((start, end, self._stand_in(name, identity, text[start:end])))
        return found

    def _halves(self, text: str, whole: str) -> list[tuple[int, int, str]]:
        """What is left at a cut of values that the cut went through."""
        edges = [(match.start(), match.end()) for match in _CUT.finditer(text)]
        edges.append((len(text), len(text)))
        found: list[tuple[int, int, str]] = []
        for name, start, end, identity in _values(whole, tuple(self.kinds)):
            value = whole[start:end]
            for before, after in edges:
                for length in range(len(value) - 1, 2, -1):
                    if text.endswith(value[:length], 0, before):
                        found.append((before - length, before, self._stand_in(name, identity, value)))
                        break
                for length in range(len(value) - 1, 2, -1):
                    if text.startswith(value[-length:], after):
                        found.append((after, after + length, self._stand_in(name, identity, value)))
                        break
        return found

    def _stand_in(self, name: str, identity: str, value: str) -> str:
        known = self._stand_ins.get((name, identity))
        if known is None:
            self.counts[name] += 1
            known = f"[{name.upper()}_{self.counts[name]}]"
            self._stand_ins[name, identity] = known
            self._values[known] = value
        return known


def _values(text: str, kinds: tuple[Redact, ...]) -> Iterable[tuple[str, int, int, str]]:
    """(kind, start, end, identity) of every value in the text, kind by kind."""
    for kind in _ordered(kinds):
        if kind is None:
            yield from _presidio(text)
            continue
        for match in kind.pattern.finditer(text):
            if match.group() and kind.accept(match.group()):
                yield kind.name, match.start(), match.end(), kind.identity(match.group())


@lru_cache(maxsize=64)
def _ordered(kinds: tuple[Redact, ...]) -> tuple[_Kind | None, ...]:
    """The user's own first, then ours, then Presidio (None)."""
    own = [
        _Kind(name=kind.name, pattern=re.compile(kind.pattern), identity=str)
        for kind in kinds
        if isinstance(kind, Pattern)
    ]
    built_in = [kind for name, kind in _KINDS.items() if name in kinds]
    return (*own, *built_in, *((None,) if "presidio" in kinds else ()))


def _presidio(text: str) -> Iterable[tuple[str, int, int, str]]:
    for result in _analyzer().analyze(text=text, language="en"):
        value = text[result.start : result.end]
        yield str(result.entity_type).lower(), result.start, result.end, value.casefold()


@lru_cache(maxsize=1)
def _analyzer() -> Any:
    try:
        presidio = import_module("presidio_analyzer")
    except ImportError:
        raise ConfigError("redact: presidio is not installed; pip install presidio-analyzer, or drop it") from None
    return presidio.AnalyzerEngine()


def require(kinds: Sequence[Redact]) -> None:
    """Raise `ConfigError` where a kind needs what isn't installed."""
    if "presidio" in kinds:
        _analyzer()
