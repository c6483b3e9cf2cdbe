"""One entry of the report: a row with the texts it speaks of, and how the template sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from groundwire.jobs.report.marking import Segment, mark
from groundwire.scorer import Check, Citation, Claim, Row, Shown, place_quote

__all__ = ["ANSWER_LIMIT", "BlockView", "ClaimView", "EntryView", "ReportEntry", "State", "state_of", "view_entry"]

ANSWER_LIMIT = 50_000
"""Most characters of an answer, and of a question, that the report shows; what is left out is counted in place."""
SEARCHED = 500_000
"""Longest block, in characters, that is searched for a quote beyond what is shown of it."""
AROUND = 240
"""Characters shown before and after such a quote."""
TITLE_LIMIT = 160
"""Most characters of a question that stand in an entry's heading."""

State = Literal["hallucinated", "undecided", "inferred", "model_knowledge", "supported"]

_SEVERITY: tuple[State, ...] = ("hallucinated", "undecided", "inferred", "model_knowledge", "supported")
_GLYPHS: dict[State, str] = {
    "hallucinated": "✕",
    "undecided": "?",
    "inferred": "≈",
    "model_knowledge": "○",
    "supported": "✓",
}
_KINDS = {"tool": "tool result", "user": "what the user said", "provided": "provided context"}
_OUTCOMES = {
    "found": ("✓", "in the evidence"),
    "derived": ("=", "follows by arithmetic from the evidence"),
    "contradicted": ("✕", "the evidence says otherwise"),
    "not_found": ("?", "not in the evidence"),
}


@dataclass(frozen=True, kw_only=True)
class ReportEntry:
    """A row and the texts that were judged. Rows hold no texts of their own beyond the claims."""

    row: Row
    question: str = ""
    answer: str = ""
    """The answer that the claims' offsets point into."""
    blocks: tuple[Shown, ...] = ()
    """The evidence as the judge saw it (`View.shown`)."""


@dataclass(frozen=True, kw_only=True)
class CheckView:
    """What a code check found, in words."""

    glyph: str
    name: str
    text: str
    outcome: str
    where: str
    quote: str


@dataclass(frozen=True, kw_only=True)
class ClaimView:
    """A claim as the template shows it."""

    ident: str
    number: int
    state: State
    glyph: str
    word: str
    """The label in words."""
    kind: str
    """What is wrong with it, in words: its type, and what kind of thing is wrong where that is known."""
    claim: Claim
    anchor: str | None
    """Id of the claim's first segment in the answer; None where the claim isn't marked there."""
    source: str
    """The cited block in words."""
    source_anchor: str | None
    """Id of the quote in its block, or of the block where the quote isn't found in what is shown."""
    checks: tuple[CheckView, ...]


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A stretch of a block: what is shown of it first, or what stands around a quote further on."""

    ident: str
    segments: tuple[Segment, ...]
    start: int = 0
    """Offset in the block's whole text."""


@dataclass(frozen=True, kw_only=True)
class BlockView:
    """A block of evidence as the template shows it."""

    ident: str
    name: str
    kind: str
    tool_name: str
    failed: bool
    arguments: str
    passages: tuple[Passage, ...]
    cited_by: tuple[int, ...]
    """Numbers of the claims that cite it."""
    shown: int
    total: int


@dataclass(frozen=True, kw_only=True)
class EntryView:
    """An entry as the template shows it."""

    ident: str
    row: Row
    title: str
    question: str
    """The whole question where the heading doesn't hold it; else empty."""
    segments: tuple[Segment, ...]
    claims: tuple[ClaimView, ...]
    blocks: tuple[BlockView, ...]
    answer_cut: int
    """Characters of the answer that the report leaves out."""
    lexical: bool
    judge: str
    parameters: str
    cost: str

    def strongest(self, segment: Segment) -> ClaimView:
        """Of the claims on a segment, the one whose style it takes: the worst, then the shortest."""
        claims = [self.claims[index] for index in segment.marks]
        return min(claims, key=lambda view: (_SEVERITY.index(view.state), len(view.claim.text)))

    def badge(self, segment: Segment) -> str:
        """What stands behind a segment for the claims that end there."""
        return " ".join(f"{self.claims[index].glyph}{self.claims[index].number}" for index in segment.closes)

    @property
    def listed(self) -> str:
        """What stands in the list beside the answer."""
        return "Unsupported spans" if self.row.metric == "unsupported_spans" else "Claims"

    @property
    def filters(self) -> str:
        """The words that the report's filters look for."""
        has = {view.state for view in self.claims} & {"hallucinated", "undecided"}
        return " ".join((self.row.status, *sorted(has)))


def state_of(claim: Claim) -> State:
    """The claim's label, or `undecided` where it has none."""
    return claim.label or "undecided"


def view_entry(entry: ReportEntry, number: int) -> EntryView:
    """Prepare an entry for the template; `number` counts from 1 and makes its ids."""
    ident = f"t{number}"
    answer = entry.answer[:ANSWER_LIMIT]
    places = [_place(claim, answer) for claim in entry.row.claims]
    segments = mark(answer, places)
    anchors: dict[int, str] = {}
    for index, segment in enumerate(segments):
        for opened in segment.opens:
            anchors[opened] = f"{ident}a{index}"
    claims = tuple(
        ClaimView(
            ident=f"{ident}c{index + 1}",
            number=index + 1,
            state=state_of(claim),
            glyph=_GLYPHS[state_of(claim)],
            word=_word(claim, entry.row),
            kind=_kind(claim),
            claim=claim,
            anchor=anchors.get(index),
            source="",
            source_anchor=None,
            checks=tuple(_check(check) for check in claim.checks),
        )
        for index, claim in enumerate(entry.row.claims)
    )
    blocks, claims = _view_blocks(ident, entry.blocks, claims)
    title, question = _title(entry.question)
    judge = entry.row.judge
    parameters = judge.get("parameters")
    return EntryView(
        ident=ident,
        row=entry.row,
        title=title,
        question=question,
        segments=segments,
        claims=claims,
        blocks=blocks,
        answer_cut=len(entry.answer) - len(answer),
        lexical=judge.get("kind") == "offline",
        judge=_judge(entry.row),
        parameters=", ".join(f"{k} {v}" for k, v in parameters.items()) if isinstance(parameters, dict) else "",
        cost=_cost(entry.row),
    )


def _place(claim: Claim, answer: str) -> tuple[int, int] | None:
    """The claim's place, if its words stand there: a mark on other words would say something untrue."""
    if claim.start is None or claim.end is None or not 0 <= claim.start < claim.end <= len(answer):
        return None
    return (claim.start, claim.end) if answer[claim.start : claim.end] == claim.text else None


def _kind(claim: Claim) -> str:
    parts = [part for part in (claim.type, claim.subtype) if part]
    return " · ".join(parts).replace("_", " ")


def _word(claim: Claim, row: Row) -> str:
    if row.metric == "unsupported_spans" and claim.label == "hallucinated":
        return "unsupported"
    if claim.label is None and claim.reason == "not_labelled":
        return "not labelled"
    return state_of(claim).replace("_", " ")


def _check(check: Check) -> CheckView:
    glyph, outcome = _OUTCOMES[check.outcome]
    where = " ".join(part for part in (check.block, check.path) if part)
    return CheckView(
        glyph=glyph, name=check.check, text=check.text, outcome=outcome, where=where, quote=check.quote or ""
    )


def _view_blocks(
    ident: str, blocks: Sequence[Shown], claims: tuple[ClaimView, ...]
) -> tuple[tuple[BlockView, ...], tuple[ClaimView, ...]]:
    """The blocks with the claims' quotes marked, and the claims with links to them."""
    views: list[BlockView] = []
    linked = list(claims)
    for shown in blocks:
        block = shown.block
        block_ident = f"{ident}-{block.name}"
        cited = {
            index: citation
            for index, view in enumerate(claims)
            if (citation := view.claim.evidence) is not None and citation.block == block.name
        }
        places = [_quoted(cited[index], shown.text) if index in cited else None for index in range(len(claims))]
        passages = [Passage(ident=block_ident, segments=mark(shown.text, places))]
        if shown.cut and len(block.text) <= SEARCHED:
            passages += _further_on(block_ident, block.text, {i: c for i, c in cited.items() if places[i] is None})
        for index in cited:
            linked[index] = replace(
                linked[index],
                source=f"{block.name} · {block.tool_name or _KINDS[block.kind]}",
                source_anchor=_anchor(passages, index) or block_ident,
            )
        views.append(
            BlockView(
                ident=block_ident,
                name=block.name,
                kind=_KINDS[block.kind],
                tool_name=block.tool_name or "",
                failed=block.failed,
                arguments=shown.arguments,
                passages=tuple(passages),
                cited_by=tuple(index + 1 for index in cited),
                shown=len(block.text) - shown.cut,
                total=len(block.text),
            )
        )
    return tuple(views), tuple(linked)


def _anchor(passages: Sequence[Passage], index: int) -> str | None:
    for passage in passages:
        for number, segment in enumerate(passage.segments):
            if index in segment.opens:
                return f"{passage.ident}-{number}"
    return None


def _quoted(citation: Citation, text: str) -> tuple[int, int] | None:
    found = place_quote(citation.quote, text, path=citation.path)
    return (found.start, found.end) if found else None


def _further_on(ident: str, text: str, citations: Mapping[int, Citation]) -> list[Passage]:
    """What stands around the quotes that lie beyond what is shown first: a judge may have looked at another part."""
    found = {index: place for index, citation in citations.items() if (place := _quoted(citation, text)) is not None}
    groups: list[list[int]] = []
    for index in sorted(found, key=lambda index: found[index]):
        if groups and found[index][0] <= max(found[other][1] for other in groups[-1]) + AROUND:
            groups[-1].append(index)
        else:
            groups.append([index])
    passages = []
    for group in groups:
        begin = max(0, min(found[index][0] for index in group) - AROUND)
        stop = max(found[index][1] for index in group) + AROUND
        places = [
            (found[index][0] - begin, found[index][1] - begin) if index in group else None
            for index in range(max(group) + 1)
        ]
        passages.append(Passage(ident=f"{ident}p{group[0]}", segments=mark(text[begin:stop], places), start=begin))
    return passages


def _title(question: str) -> tuple[str, str]:
    """What stands in the heading, and the whole question where the heading doesn't hold it."""
    line = " ".join(question.split())
    if not line:
        return "No question", ""
    if len(line) <= TITLE_LIMIT:
        return line, ""
    whole = question[:ANSWER_LIMIT]
    if len(question) > ANSWER_LIMIT:
        whole += f" […{len(question) - ANSWER_LIMIT:,} more characters]"
    return line[: TITLE_LIMIT - 1].rsplit(" ", 1)[0] + "…", whole


def _judge(row: Row) -> str:
    kind, model = (str(row.judge.get(key) or "") for key in ("kind", "model"))
    return model if kind and model.startswith(kind) else f"{kind} {model}".strip()


def _cost(row: Row) -> str:
    usage = row.usage
    tokens = usage.input_tokens + usage.cached_tokens + usage.output_tokens + usage.reasoning_tokens
    if not (usage.calls or usage.micro_dollars or usage.cache_hits):
        return "no cost"
    parts = [f"${usage.micro_dollars / 1_000_000:.6f}"]
    if usage.calls:
        parts.append(f"{usage.calls} call{'' if usage.calls == 1 else 's'}, {tokens:,} tokens")
    if usage.cache_hits:
        parts.append(f"{usage.cache_hits} from groundwire's cache")
    if usage.estimated:
        parts.append("partly charged at its worst case")
    return ", ".join(parts)
