"""A transcript as evidence: what tools returned and users said, without the assistant's own earlier turns."""

from groundwire.scorer.evidence import Block, BlockKind, Shown, View
from groundwire.scorer.transcript import EntryRole, left_out, read_entries

__all__ = ["view_of_transcript"]

_KINDS: dict[EntryRole, BlockKind] = {
    "tool": "tool",
    "user": "user",
    "system": "provided",
    "provided": "provided",
    "retrieved": "provided",
}
_LETTERS: dict[BlockKind, str] = {"tool": "E", "user": "U", "provided": "S"}


def view_of_transcript(transcript: str) -> View:
    """The evidence in a transcript whose turns are labelled by role; one without labels is evidence as a whole.

    What its marks say was cut counts as not shown.
    """
    entries = read_entries(transcript)
    if not entries:
        block = Block(name="S1", kind="provided", text=transcript)
        return View(shown=(Shown(block=block, text=transcript),) if transcript.strip() else ())
    shown: list[Shown] = []
    counts: dict[str, int] = {}
    own = 0
    for entry in entries:
        kind = _KINDS.get(entry.role)
        if kind is None:
            own += left_out(entry.text)
            continue
        letter = _LETTERS[kind]
        counts[letter] = counts.get(letter, 0) + 1
        block = Block(
            name=f"{letter}{counts[letter]}",
            kind=kind,
            text=entry.text,
            tool_name=(entry.name or None) if kind == "tool" else None,
            failed=entry.failed,
        )
        shown.append(Shown(block=block, text=entry.text, cut=left_out(entry.text)))
    unseen = left_out(transcript) - own - sum(item.cut for item in shown)
    if unseen > 0:  # whole turns before the first one
        name = f"S{counts.get('S', 0) + 1}"
        shown.append(Shown(block=Block(name=name, kind="provided", text=""), text="", cut=unseen))
    return View(shown=tuple(shown))
