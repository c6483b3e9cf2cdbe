"""Labels for claims: every claim by its id, missing ones asked for again, every quote looked up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire.scorer.claims import Citation, Claim, DraftClaim
from groundwire.scorer.evidence import View
from groundwire.scorer.fence import Section
from groundwire.scorer.judge import Failure
from groundwire.scorer.judges.asking import Asking, Tally
from groundwire.scorer.judges.forms import LABELS, QUOTES, LabelItem, QuoteItem
from groundwire.scorer.judges.quotations import find_passage
from groundwire.scorer.judges.reading import read_items
from groundwire.scorer.judges.rendering import RenderedView, asked_section, claims_section, render_view
from groundwire.scorer.redaction import Redaction

__all__ = ["CLAIMS_PER_CALL", "CLAIMS_SHARE", "LABEL_TOKENS", "QUOTE_TOKENS", "Labelling"]

CLAIMS_PER_CALL = 30
"""More claims are labelled in several calls: a long list loses entries."""
LABEL_TOKENS = 160
"""Room in the reply for one claim's label, reason and quote."""
QUOTE_TOKENS = 100
"""Room in the reply for one claim's quote."""
FRAME_TOKENS = 128
CLAIMS_SHARE = 4
"""Claims take at most this part of a prompt, one in four of its characters."""

Named = tuple[str, DraftClaim]


@dataclass(kw_only=True)
class Labelling:
    """One round of labels against one view."""

    asking: Asking
    redaction: Redaction
    question: str
    tally: Tally

    async def label(self, claims: Sequence[DraftClaim], view: View) -> tuple[Claim, ...] | Failure:
        """A claim for each draft, in order. Raises `TooLong` where the view doesn't fit the model."""
        rendered = render_view(view, self.redaction)
        room = self.asking.max_chars // CLAIMS_SHARE
        labelled: list[Claim] = []
        for named in _batches([(f"C{index + 1}", claim) for index, claim in enumerate(claims)], room):
            if len(named[0][1].text) > room:  # alone in its batch: too long for a statement
                self.tally.flags.add("claims_too_long")
                self.tally.count("claims_too_long", 1)
                labelled.append(self._claim(named[0][1], None, None))
                continue
            found = await self._labels(named, rendered)
            if isinstance(found, Failure):
                return found
            labelled += await self._cited(named, found, rendered)
        return tuple(labelled)

    async def _labels(self, named: Sequence[Named], rendered: RenderedView) -> dict[str, LabelItem] | Failure:
        found = await self._ask(named, rendered)
        if isinstance(found, Failure):
            return found
        missing = [(name, claim) for name, claim in named if name not in found]
        if missing:
            self.tally.count("asked_again", len(missing))
            more = await self._ask(missing, rendered)
            if isinstance(more, Failure):
                if more.status != "unknown":  # it may go better later, and the labels had so far are cached
                    return more
            else:
                found |= more
        return found

    async def _ask(self, named: Sequence[Named], rendered: RenderedView) -> dict[str, LabelItem] | Failure:
        limit = FRAME_TOKENS + LABEL_TOKENS * len(named)
        form = await self.asking.ask("labels", LABELS, self._sections(named, rendered), limit, self.tally)
        if isinstance(form, Failure):
            return form
        items, _ = read_items(form.labels, LabelItem)
        asked = {name for name, _ in named}
        found = {item.id: item for item in items if item.id in asked}  # of an id's entries the last one binds
        unknown = sum(item.id not in asked for item in items)
        if unknown:
            self.tally.flags.add("ids_dropped")
            self.tally.count("ids_dropped", unknown)
        return found

    def _sections(self, named: Sequence[Named], rendered: RenderedView) -> list[Section]:
        return [
            *rendered.sections,
            *asked_section(self.question, rendered, self.redaction),
            claims_section(named, self.redaction),
        ]

    async def _cited(
        self, named: Sequence[Named], found: Mapping[str, LabelItem], rendered: RenderedView
    ) -> list[Claim]:
        """The claims with their labels and the evidence that code has found; what isn't there is asked for once."""
        proofs = {name: _look_up(item.block, item.quote, rendered) for name, item in found.items()}
        doubtful = [
            (name, claim)
            for name, claim in named
            if name in found and _needs_proof(found[name]) and proofs[name] is None
        ]
        if doubtful and rendered.texts:
            proofs |= await self._quotes(doubtful, rendered)
        return [self._claim(claim, found.get(name), proofs.get(name)) for name, claim in named]

    async def _quotes(self, named: Sequence[Named], rendered: RenderedView) -> dict[str, Citation | None]:
        limit = FRAME_TOKENS + QUOTE_TOKENS * len(named)
        form = await self.asking.ask("quotes", QUOTES, self._sections(named, rendered), limit, self.tally)
        if isinstance(form, Failure):  # the labels stand; that nothing proves them is flagged below
            return {}
        items, _ = read_items(form.quotes, QuoteItem)
        asked = {name for name, _ in named}
        return {item.id: _look_up(item.block, item.quote, rendered) for item in items if item.id in asked}

    def _claim(self, draft: DraftClaim, item: LabelItem | None, proof: Citation | None) -> Claim:
        base = Claim(text=draft.text, start=draft.start, end=draft.end)
        if item is None:
            return base.model_copy(update={"reason": "not_labelled"})
        evidence = proof if _needs_proof(item) else None
        if _needs_proof(item) and proof is None:
            self.tally.flags.add("quote_unverified")
            if item.block or item.quote:
                evidence = Citation(block=item.block or "", quote=self.redaction.show(item.quote or ""), verified=False)
        return base.model_copy(
            update={
                "label": item.label,
                "type": item.type if item.label == "hallucinated" else None,
                "reason": self.redaction.show(item.reason),
                "evidence": evidence,
            }
        )


def _batches(named: Sequence[Named], room: int) -> Iterator[Sequence[Named]]:
    """The claims of one call each: not too many, and not too long together."""
    batch: list[Named] = []
    size = 0
    for name, claim in named:
        length = len(name) + len(claim.text)
        if batch and (len(batch) == CLAIMS_PER_CALL or size + length > room):
            yield batch
            batch, size = [], 0
        batch.append((name, claim))
        size += length
    if batch:
        yield batch


def _needs_proof(item: LabelItem) -> bool:
    return item.label in ("supported", "inferred")


def _look_up(block: str | None, quote: str | None, rendered: RenderedView) -> Citation | None:
    """The passage in the named block, else in another; None where it is in none that the judge was shown."""
    if not quote or not quote.strip():
        return None
    names = [name for name in (block, *rendered.texts) if name in rendered.texts]
    for name in dict.fromkeys(names):
        shown, hidden = rendered.texts[name]
        place = find_passage(quote, hidden.text)
        if place is not None:
            start, end = hidden.origin(*place)
            return Citation(block=name, span_id=shown.block.span_id, quote=hidden.original[start:end], verified=True)
    return None
