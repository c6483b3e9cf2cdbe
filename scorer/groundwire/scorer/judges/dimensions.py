"""The four dimensions of the SPAN path from labelled claims: numbers, categories, nothing made up, nothing left out."""

from collections.abc import Sequence

from groundwire.scorer.claims import Check, Claim
from groundwire.scorer.judge import Dimensions, Faithfulness
from groundwire.scorer.judges.bench import Bench
from groundwire.scorer.judges.windows import content_words, words

__all__ = ["weigh_dimensions"]

_FIGURES = frozenset({"number", "date", "unit"})


def weigh_dimensions(question: str, answer: str, claims: Sequence[Claim], bench: Bench) -> Faithfulness:
    """The dimensions, each 0.0 or 1.0 but for completeness, and the claims that cost something.

    A figure that the responses don't have is a contradiction where they hold a figure of that kind which the answer
    gives nowhere, and made up where they hold none.
    """
    costly = [claim for claim in claims if claim.label == "hallucinated"]
    numeric = categorical = invented = False
    spare = _spare(claims, bench)
    for claim in costly:
        kind = _dimension(claim, spare)
        numeric |= kind == "numeric"
        categorical |= kind == "categorical"
        invented |= kind == "no_fabrication"
    complete = _completeness(question, answer, bench)
    dimensions = Dimensions(
        numeric=0.0 if numeric else 1.0,
        categorical=0.0 if categorical else 1.0,
        no_fabrication=0.0 if invented else 1.0,
        completeness=complete,
    )
    return Faithfulness(dimensions=dimensions, claims=tuple(costly), explanation=_explanation(dimensions))


def _dimension(claim: Claim, spare: frozenset[str]) -> str:
    wrong = next((check for check in claim.checks if check.outcome == "contradicted"), None)
    if wrong is not None:
        return "numeric" if wrong.check in _FIGURES else "categorical"
    if claim.type == "contradiction":
        return "categorical"
    absent = [check for check in claim.checks if check.outcome == "not_found" and check.check != "name"]
    if absent and all(check.check in _FIGURES and _sort(check) in spare for check in absent):
        return "numeric"
    return "no_fabrication"


def _sort(check: Check) -> str:
    return "date" if check.check == "date" else "number"


def _spare(claims: Sequence[Claim], bench: Bench) -> frozenset[str]:
    """The sorts of figures of which the responses hold one that no claim gives: what a wrong figure stands for."""
    given = {
        (check.block, check.path) if check.path else (check.block, check.quote)
        for claim in claims
        for check in claim.checks
        if check.outcome in {"found", "derived"}
    }
    return frozenset(
        "date" if item.kind == "date" else "number"
        for item in bench.index.items
        if item.kind in _FIGURES and (item.block, item.path) not in given and (item.block, item.text) not in given
    )


def _completeness(question: str, answer: str, bench: Bench) -> float:
    """Share of the members that the question names, and the responses have, of which the answer speaks, in [0, 1].

    1.0 where the question names none. A member is spoken of where the answer has its value or its name.
    """
    asked = frozenset(content_words(question))
    said = frozenset(words(answer))
    low = answer.casefold()
    members: dict[tuple[str, ...], bool] = {}
    for leaf in bench.leaves:
        key = leaf.key_words
        if not key or not frozenset(key) <= asked:
            continue
        spoken = frozenset(key) <= said or bool(leaf.text and leaf.text.casefold() in low)
        members[key] = members.get(key, False) or spoken
    return sum(members.values()) / len(members) if members else 1.0


def _explanation(dimensions: Dimensions) -> str:
    lost = [name.replace("_", " ") for name, value in dimensions.model_dump().items() if value < 1]
    return f"Lexical check: {', '.join(lost)} lost." if lost else "Lexical check: nothing lost."
