"""The comment that stands beside a score on the platform: plain text that also reads well as Markdown."""

from collections.abc import Sequence

from groundwire.scorer.claims import Claim
from groundwire.scorer.row import Row
from groundwire.scorer.spend import MICRO

__all__ = ["LIMIT", "headline", "write_comment"]

LIMIT = 4_000
"""Most characters of a comment."""

LEXICAL = "Lexical check (offline rules): words, figures and names were compared; meaning was not judged."
_DIMENSIONS = {
    "numeric": "numeric",
    "categorical": "categorical",
    "no_fabrication": "no fabrication",
    "completeness": "completeness",
}
_DOUBTFUL_CHECKS = ("contradicted", "not_found")


def headline(row: Row) -> str:
    """The first line: the score and what it stands on, or why there is none."""
    if row.status != "scored" or row.score is None:
        return f"{row.status}: {row.reason}" if row.reason else row.status
    if row.dimensions is not None:
        return " · ".join(
            [
                f"{row.score:.2f}",
                *(f"{_DIMENSIONS.get(name, name)} {value:.2f}" for name, value in row.dimensions.items()),
            ]
        )
    match row.metric:
        case "conversation.hallucination":
            return _verdict_line(row)
        case "unsupported_spans":
            return _spans_line(row)
        case "code.grader":
            return f"{row.score:.2f} · {row.label}"
    labelled = [claim for claim in row.claims if claim.label is not None]
    grounded = sum(claim.label != "hallucinated" for claim in labelled)
    line = f"{row.score:.2f} · {grounded} of {len(labelled)} claims grounded"
    if len(labelled) < len(row.claims):
        line += f" ({len(labelled)} of {len(row.claims)} decided)"
    return line


def _verdict_line(row: Row) -> str:
    """`hallucinated · <the claim>`; a verdict without a claim stands alone."""
    claim = next((claim.text for claim in row.claims if claim.label == "hallucinated"), "")
    label = row.label or ""
    return f"{label} · {_shortened(_one_line(claim), 160)}" if label == "hallucinated" and claim else label


def _spans_line(row: Row) -> str:
    """`2 unsupported spans, p ≥ 0.93`."""
    n = len(row.claims)
    if not n:
        return "no unsupported spans"
    least = min((claim.probability for claim in row.claims if claim.probability is not None), default=None)
    sure = "" if least is None else f", p ≥ {least:.2f}"
    return f"{n} unsupported {'span' if n == 1 else 'spans'}{sure}"


def write_comment(row: Row, *, note: str = "") -> str:
    """The whole comment: headline, the claims that matter, what was not seen, then judge, cost and version.

    `note` is a line of the caller's after the headline. At most `LIMIT` characters, cut between lines; the closing
    lines always stay.
    """
    closing = [line for line in (_unseen(row), _flags(row), _signature(row)) if line]
    opening = [line for line in (headline(row), note) if line]
    if row.explanation:
        opening.append(_shortened(_one_line(row.explanation), 600))
    claims = [_claim(claim, row) for claim in _in_doubt(row.claims)]
    room = LIMIT - sum(len(line) + 1 for line in (*opening, *closing))
    kept: list[str] = []
    for index, text in enumerate(claims):
        last = index == len(claims) - 1
        if len(text) + 1 > room - (0 if last else 40):
            kept.append(f"… and {len(claims) - index} more claims in doubt")
            break
        kept.append(text)
        room -= len(text) + 1
    return "\n".join([*opening, *kept, *closing])


def _in_doubt(claims: Sequence[Claim]) -> list[Claim]:
    """Hallucinated first, then undecided, then those whose quote or checks are in doubt."""

    def rank(claim: Claim) -> int:
        if claim.label == "hallucinated":
            return 0
        if claim.label is None:
            return 1
        unverified = claim.evidence is not None and not claim.evidence.verified
        disputed = any(check.outcome in _DOUBTFUL_CHECKS for check in claim.checks)
        if unverified or disputed or claim.label != "supported":
            return 2
        return 3

    ranked = [(rank(claim), index, claim) for index, claim in enumerate(claims)]
    return [claim for order, _, claim in sorted(ranked, key=lambda entry: entry[:2]) if order < 3]


def _claim(claim: Claim, row: Row) -> str:
    name = claim.label or claim.reason or "undecided"
    if row.metric == "unsupported_spans" and claim.type:
        name = claim.type.replace("_", " ")
    parts = [f"- {name}: “{_shortened(_one_line(claim.text), 300)}”"]
    if claim.label is not None and claim.reason:
        parts.append(_shortened(_one_line(claim.reason), 300))
    if claim.evidence is not None:
        state = "" if claim.evidence.verified else ", quote not found there"
        parts.append(f"{claim.evidence.block}: “{_shortened(_one_line(claim.evidence.quote), 200)}”{state}")
    return " · ".join(parts)


def _unseen(row: Row) -> str:
    notes = []
    cut = [block for block in row.coverage.blocks if block.shown < block.total]
    if cut:
        shown = ", ".join(f"{block.block} {block.shown:,} of {block.total:,}" for block in cut[:6])
        more = f" and {len(cut) - 6} more blocks" if len(cut) > 6 else ""
        notes.append(f"Not all evidence was seen: {shown}{more} characters.")
    if row.coverage.media_not_checked:
        notes.append(f"{row.coverage.media_not_checked} images or files not checked.")
    return " ".join(notes)


def _flags(row: Row) -> str:
    return f"Flags: {', '.join(row.flags)}" if row.flags else ""


def _signature(row: Row) -> str:
    kind, model = row.judge.get("kind", ""), row.judge.get("model", "")
    cost = f"${row.usage.micro_dollars / MICRO:.6f}" if row.usage.micro_dollars else "no cost"
    judged = row.metric != "code.grader"
    by = f"judge {kind} {model}" if judged else "by code"
    about = f"{row.metric} {row.metric_version} · {row.partition_type} · {by} · {cost}"
    lexical = f"{LEXICAL}\n" if judged and kind == "offline" else ""
    return f"{lexical}{about} · groundwire {row.groundwire_version} · {row.row_id}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
