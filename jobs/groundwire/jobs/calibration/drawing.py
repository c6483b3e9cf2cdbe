"""Which answers people are asked about: spread over scores and statuses, the same for the same seed."""

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Candidate", "Drawn", "draw", "stratum_of"]

_BANDS = ((0.0, "0"), (0.5, "under 0.5"), (0.8, "0.5 to 0.8"), (1.0, "0.8 to 1"))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A row that could be labelled."""

    row_id: str
    status: str
    score: float | None
    inclusion: float = 1.0
    """Probability with which sampling let it be judged."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A row to be labelled."""

    row_id: str
    stratum: str
    inclusion: float
    """Probability with which its answer came here, through sampling and this draw, in (0, 1]."""


def stratum_of(status: str, score: float | None) -> str:
    """`scored 0`, `scored under 0.5`, `scored 0.5 to 0.8`, `scored 0.8 to 1`, `scored 1`, or the other statuses."""
    if status != "scored" or score is None:
        return status
    if score <= 0:
        return "scored 0"
    return f"scored {next((word for edge, word in _BANDS[1:] if score < edge), '1')}"


def draw(candidates: Iterable[Candidate], n: int, *, seed: int, done: Sequence[str] = ()) -> list[Drawn]:
    """At most `n` rows, as many from each stratum as there can be, in an order that mixes them.

    Within a stratum rows come in the order of a digest of seed and id: more of them never change which came first, and
    what is `done` stays in, so that a draw can be taken up again. `invalid`, `skipped` and `error` rows have no answer
    that was judged and are never drawn. Memory grows with `n`, not with the candidates.
    """
    finished = set(done)
    sizes: dict[str, int] = {}
    heaps: dict[str, list[tuple[float, str, float]]] = {}
    for one in candidates:
        if one.status not in ("scored", "unknown"):
            continue
        stratum = stratum_of(one.status, one.score)
        sizes[stratum] = sizes.get(stratum, 0) + 1
        place = -1.0 if one.row_id in finished else _place(one.row_id, seed)
        heap = heaps.setdefault(stratum, [])
        entry = (-place, one.row_id, one.inclusion)
        if len(heap) < n:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    ranked = {stratum: sorted(heap, reverse=True) for stratum, heap in heaps.items()}
    shares = _shares({stratum: len(entries) for stratum, entries in ranked.items()}, n)
    chosen = [
        (
            -entry[0],
            Drawn(row_id=entry[1], stratum=stratum, inclusion=entry[2] * shares[stratum] / sizes[stratum]),
        )
        for stratum, entries in ranked.items()
        for entry in entries[: shares[stratum]]
    ]
    return [drawn for _, drawn in sorted(chosen, key=lambda pair: (pair[0], pair[1].row_id))]


def _place(row_id: str, seed: int) -> float:
    digest = hashlib.sha256(f"groundwire:label:{seed}:{row_id}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def _shares(sizes: dict[str, int], n: int) -> dict[str, int]:
    """As even as the sizes let it be."""
    given = dict.fromkeys(sizes, 0)
    left = min(n, sum(sizes.values()))
    while left:
        for stratum in sorted(sizes):
            if left and given[stratum] < sizes[stratum]:
                given[stratum] += 1
                left -= 1
    return given
