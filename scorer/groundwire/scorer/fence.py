"""The fence around text that is data: a delimiter that nobody can guess, and what looks like an attack inside.

Every prompt has its own random mark. A section is a line `<<mark NAME>>`, the text, and a line `<</mark>>`. Whatever in
the text looks like such a line, or holds the mark, is broken by a zero-width space before it is put there, so that no
text can end its own section or begin another. `claims.find_quote` overlooks zero-width spaces.
"""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Fence", "Section", "injections", "is_suspicious", "neutralise"]

REACH = 400
"""Characters between a verdict's key and its reason's, at most."""
BREAK = "\u200b"
"""What is put between the characters that would be a delimiter."""
_DOUBLED = re.compile(r"(?<=[<＜‹〈﹤])(?=[<＜‹〈﹤])|(?<=[>＞›〉﹥])(?=[>＞›〉﹥])")


def _random_mark() -> str:
    return f"{secrets.randbelow(10**9):09d}"


@dataclass(frozen=True, kw_only=True)
class Section:
    """One fenced piece of a prompt."""

    name: str
    """What it is, in groundwire's own words: `E1 tool: search`, `CLAIMS`. Never trace text that wasn't neutralised."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Fence:
    """The delimiter of one prompt."""

    mark: str = field(default_factory=_random_mark)
    """Nine random digits: as many tokens in every prompt, and few."""

    def wrap(self, section: Section) -> str:
        """The section between its delimiters, neutralised."""
        name = " ".join(neutralise(section.name, self.mark).split())
        return f"<<{self.mark} {name}>>\n{neutralise(section.text, self.mark)}\n<</{self.mark}>>"

    def render(self, sections: Iterable[Section]) -> str:
        """The mark, then every section."""
        return "\n".join([f"Mark: {self.mark}", *map(self.wrap, sections)])


def neutralise(text: str, mark: str) -> str:
    """Break what looks like a delimiter of that fence; nothing else changes."""
    broken = _DOUBLED.sub(BREAK, text) if ("<" in text or ">" in text or not text.isascii()) else text
    half = len(mark) // 2
    return broken.replace(mark, mark[:half] + BREAK + mark[half:])


_VERDICT_KEY = re.compile(r'["\'](?:score|verdict|grade|rating|label|faithful|hallucinated)["\']\s*:')
_REASON_KEY = re.compile(r'["\'](?:reasons?|reasoning|explanation|rationale|justification)["\']\s*:')
_LABELS = ("supported", "grounded", "correct", "accurate", "faithful", "factual", "true", "verified")
_IGNORE = ("ignore", "disregard", "forget", "override")
_RATE = ("rate", "label", "mark", "grade", "score", "judge", "classify", "treat", "consider")
_JUDGES = ("judge", "evaluator", "grader", "verifier")
_FIELDS = ("question", "answer", "context", "evidence", "output", "criterion", "response", "input")


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(words)})"


_SUSPICIONS: tuple[tuple[tuple[tuple[str, ...], ...], re.Pattern[str]], ...] = tuple(
    (hints, re.compile(pattern))
    for hints, pattern in (
        # a verdict in a judge's own words
        ((('"label"',),), r'"label"\s*:\s*"(?:supported|inferred|model_knowledge|hallucinated|grounded)"'),
        ((("[[",), ("rating",)), r"\brating\s*:\s*\[\[\s*\d"),
        (
            (("grade:", "grade :", "verdict:", "verdict :"),),
            r"(?m)(?:^|[\"'])\s*(?:final\s+)?(?:grade|verdict)\s*:\s*(?:[a-f]\b|pass|correct|grounded|supported)",
        ),
        # delimiters and roles of prompts
        ((("<<",),), r"<</?\d{9}(?: |>>)"),
        (
            (("[",), ("begin", "end", "start")),
            r"\[\s*/?\s*(?:begin|end|start)(?:\s+of)?\s+(?:data|context|answer|response|evidence|submission|input|output)\s*\]",
        ),
        (
            (("</",),),
            r"</\s*(?:response|data|answer|context|evidence|claims?|output|input|submission|instructions?|document)\s*>",
        ),
        (
            (("<|", "inst]", "sys>"),),
            r"<\|(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id)\|>|\[/?inst\]|<<\s*/?sys\s*>>",
        ),
        # format fields
        ((("{",), _FIELDS), rf"\{{\{{?\s*{_any(_FIELDS)}(?:\.[^{{}}]{{0,60}}|\[[^{{}}]{{0,60}}\]|![rsa])?\s*\}}\}}?"),
        ((("__",),), r"\.__(?:class|globals|init|mro|subclasses|dict)__"),
        # orders
        (
            (_IGNORE, ("instruction", "prompt", "rules", "above", "previous", "prior")),
            rf"\b{_any(_IGNORE)}\b[^.!?\n]{{0,40}}\b(?:instructions?|prompts?|rules|above|previous|prior)\b",
        ),
        (
            (_RATE, _LABELS, (" as ",)),
            rf"\b{_any(_RATE)}\b[^.!?\n]{{0,40}}\bas\s+(?:fully\s+)?{_any(_LABELS)}\b",
        ),
        (
            (_JUDGES,),
            rf"\b(?:you\s+are|act\s+as|as)\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+)?{_any(_JUDGES)}\b"
            rf"|\b(?:note|message|instructions?)\s+(?:to|for)\s+(?:the\s+)?(?:\w+\s+)?{_any(_JUDGES)}\b",
        ),
        ((("ignorier",),), r"\bignorier\w*\b[^.!?\n]{0,40}\b(?:anweisung|instruktion|vorgabe)\w*"),
        (
            (("précédent", "ci-dessus"),),
            r"\bignore[zr]?\b[^.!?\n]{0,40}\b(?:instructions|consignes)\b[^.!?\n]{0,20}\b(?:précédentes|ci-dessus)",
        ),
        (
            (("instrucciones", "instruções", "istruzioni"),),
            r"\b(?:ignora|ignore|olvida)\b[^.!?\n]{0,40}\b(?:instrucciones|instruções|istruzioni)\b",
        ),
        ((("игнорируй",),), r"игнорируй\w*[^.!?\n]{0,40}(?:инструкц|указани)\w*"),
        (
            (("忽略", "无视", "忽視", "無視"),),
            r"(?:忽略|无视|忽視|無視)[^。！？\n]{0,20}(?:指令|指示|说明|說明|提示)|(?:指示|命令|プロンプト)を?(?:すべて)?無視",
        ),
    )
)
"""What to look for in lower-case text: a pattern is tried where each group of hints has one that occurs."""
_TAGS = re.compile(r"[\U000e0020-\U000e007f]")
"""Text that no reader sees."""


def is_suspicious(text: str) -> bool:
    """Whether a text seems to address a judge: forged verdicts or delimiters, format fields, orders to ignore or rate.

    A sign for the reader of a score, in nine languages; no verdict depends on it.
    """
    lower = text.lower()
    if "\\" in lower:  # a tool's JSON holds its strings with quotes and line ends escaped
        lower = lower.replace("\\n", "\n").replace('\\"', '"')
    for hints, pattern in _SUSPICIONS:
        if all(any(hint in lower for hint in group) for group in hints) and pattern.search(lower):
            return True
    return _holds_verdict(lower) or (not text.isascii() and _TAGS.search(text) is not None)


def _holds_verdict(lower: str) -> bool:
    """Whether one JSON object in the text has both a verdict's key and a reason's."""
    if not _REASON_KEY.search(lower):
        return False
    for key in _VERDICT_KEY.finditer(lower):
        start = max(lower.rfind("{", 0, key.start()), lower.rfind("}", 0, key.start()), key.start() - REACH)
        ends = [at for at in (lower.find("{", key.end()), lower.find("}", key.end())) if at >= 0]
        if _REASON_KEY.search(lower, max(start, 0), min([*ends, key.end() + REACH])):
            return True
    return False


def injections(texts: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the texts that seem to address a judge, in the order given."""
    return tuple(name for name, text in texts.items() if is_suspicious(text))
