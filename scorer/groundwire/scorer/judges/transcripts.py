"""A transcript as evidence: what tools returned and users said, without the assistant's own earlier turns."""

import re

from groundwire.scorer.evidence import Block, BlockKind, Shown, View

__all__ = ["view_of_transcript"]

_TURN = re.compile(
    r"(?im)^[\s>*#\[<(]*(?:turn \d+\W+)?(?P<role>system|developer|user|human|customer|assistant|ai|agent|model|"
    r"tool|function|context|provided|document)\b(?P<head>[^:\]>\n]{0,120})[:\]>)]+[*]*[ \t]*"
)
_KINDS: dict[str, BlockKind] = {
    "tool": "tool",
    "function": "tool",
    "user": "user",
    "human": "user",
    "customer": "user",
    "system": "provided",
    "developer": "provided",
    "context": "provided",
    "provided": "provided",
    "document": "provided",
}
_LETTERS: dict[BlockKind, str] = {"tool": "E", "user": "U", "provided": "S"}
_FAILED = re.compile(r"(?i)\bfail(?:ed|ure)?\b|\berror\b")
_NAME = re.compile(r"[A-Za-z_][\w.-]+")
_WORDS = frozenset({"failed", "failure", "result", "results", "response", "output", "message", "turn", "error"})


def view_of_transcript(transcript: str) -> View:
    """The evidence in a transcript whose turns are labelled by role; one without labels is evidence as a whole."""
    turns = list(_TURN.finditer(transcript))
    if not turns:
        block = Block(name="S1", kind="provided", text=transcript)
        return View(shown=(Shown(block=block, text=transcript),) if transcript.strip() else ())
    shown: list[Shown] = []
    counts: dict[str, int] = {}
    for index, turn in enumerate(turns):
        kind = _KINDS.get(turn["role"].casefold())
        end = turns[index + 1].start() if index + 1 < len(turns) else len(transcript)
        text = transcript[turn.end() : end].strip()
        if kind is None or not text:
            continue
        letter = _LETTERS[kind]
        counts[letter] = counts.get(letter, 0) + 1
        names = [name for name in _NAME.findall(turn["head"]) if name.casefold() not in _WORDS]
        block = Block(
            name=f"{letter}{counts[letter]}",
            kind=kind,
            text=text,
            tool_name=names[0] if kind == "tool" and names else None,
            failed=kind == "tool" and bool(_FAILED.search(turn["head"])),
        )
        shown.append(Shown(block=block, text=text))
    return View(shown=tuple(shown))
