"""What of a partition goes into a prompt: fenced sections, redacted, and the way back to the original text."""

from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.scorer.claims import DraftClaim
from groundwire.scorer.evidence import Shown, View
from groundwire.scorer.fence import Section
from groundwire.scorer.redaction import Hidden, Redaction

__all__ = ["RenderedView", "asked_section", "claims_section", "render_view", "section"]

TOOL_NAME = 80
"""Characters shown of a tool's name."""


@dataclass(frozen=True, kw_only=True)
class RenderedView:
    """A view's sections, and its texts as the judge reads them."""

    sections: tuple[Section, ...]
    texts: dict[str, tuple[Shown, Hidden]]
    """By block name."""


def section(name: str, text: str, redaction: Redaction) -> Section:
    """A section of one text."""
    return Section(name=name, text=redaction.hide(text).text)


def render_view(view: View, redaction: Redaction) -> RenderedView:
    """The view's blocks as sections: each under its name, a failed one as FAILED, arguments apart from the result.

    A block of which nothing is shown has no section, unless it failed: that is worth knowing by itself.
    """
    sections: list[Section] = []
    texts: dict[str, tuple[Shown, Hidden]] = {}
    for shown in view.shown:
        block = shown.block
        if not shown.text and not block.failed:
            continue
        title = block.name
        if block.failed:
            title += " FAILED"
        if block.tool_name:
            title += f" tool: {redaction.hide(block.tool_name[:TOOL_NAME]).text}"
        if shown.arguments:
            arguments = redaction.hide(shown.arguments, whole=block.arguments).text
            sections.append(Section(name=f"{block.name} arguments", text=arguments))
        hidden = redaction.hide(shown.text, whole=block.text)
        sections.append(Section(name=title, text=hidden.text))
        texts[block.name] = (shown, hidden)
    return RenderedView(sections=tuple(sections), texts=texts)


def asked_section(question: str, rendered: RenderedView, redaction: Redaction) -> tuple[Section, ...]:
    """What was asked, unless a block of what the user said already says just that."""
    if any(shown.text.strip() == question.strip() for shown, _ in rendered.texts.values()):
        return ()
    return (section("QUESTION", question, redaction),)


def claims_section(claims: Sequence[tuple[str, DraftClaim]], redaction: Redaction) -> Section:
    """The claims, one a line under its id; a claim can't begin a line of its own."""
    lines = [f"{name}: {' '.join(redaction.hide(claim.text).text.split())}" for name, claim in claims]
    return Section(name="CLAIMS", text="\n".join(lines))
