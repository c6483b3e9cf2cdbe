"""Whether the scores that a server accepted can be read there: an accepting answer says nothing of being stored."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from urllib.parse import quote

from groundwire.connectors.formats.spans import moment
from groundwire.connectors.langfuse.generation import Server
from groundwire.connectors.langfuse.wire import Wire
from groundwire.connectors.score import Score

__all__ = ["ReadBack", "Seen"]

logger = logging.getLogger(__name__)

_LOOK_AFTER = timedelta(seconds=60)
"""A score can be read 6 seconds after it is sent, around midnight UTC 16, under load later."""
_PAGE = 100
"""Ids in one request; more is refused."""
_SAME = 1e-6
"""Numbers closer than this are one value."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a look found."""

    visible: tuple[str, ...] = ()
    """Ids of scores that stand there with the value that was sent."""
    missing: tuple[Score, ...] = ()
    """Scores that don't, and are to be sent once more."""
    lost: tuple[str, ...] = ()
    """Ids of scores that don't, after they were sent twice."""
    misdated: tuple[str, ...] = ()
    """Ids of scores that stand there under another UTC day than was sent: a later write would double them."""


@dataclass(kw_only=True)
class _Expected:
    score: Score
    sent_at: datetime
    again: bool


class ReadBack:
    """Remembers what was delivered until it is seen. What it remembers is gone with the process."""

    def __init__(self, wire: Wire, server: Server) -> None:
        self._wire = wire
        self._server = server
        self._expected: dict[str, _Expected] = {}
        self._twice: set[str] = set()

    def expect(self, scores: Iterable[Score]) -> None:
        """These were accepted now; a withdrawn one is no longer waited for."""
        now = self._wire.now()
        for score in scores:
            if score.value is None:
                self._expected.pop(score.score_id, None)
                self._twice.discard(score.score_id)
            else:
                self._expected[score.score_id] = _Expected(
                    score=score, sent_at=now, again=score.score_id in self._twice
                )

    def due(self) -> list[Score]:
        """What was sent long enough ago to be seen."""
        before = self._wire.now() - _LOOK_AFTER
        return [expected.score for expected in self._expected.values() if expected.sent_at <= before]

    async def look(self, scores: Sequence[Score]) -> Seen:
        """Look these up; what `missing` names must be sent again by the caller."""
        standing = await self._standing([score.score_id for score in scores])
        visible, missing, lost, misdated = [], [], [], []
        for score in scores:
            record = standing.get(score.score_id)
            if record is not None and _holds(record, score.value):
                visible.append(score.score_id)
                day = _day(record)
                if day is not None and day != score.target.start_time.astimezone(UTC).date():
                    misdated.append(score.score_id)
            elif self._expected[score.score_id].again:
                lost.append(score.score_id)
            else:
                missing.append(score)
                self._twice.add(score.score_id)
        for score_id in (*visible, *lost):
            self._expected.pop(score_id, None)
            self._twice.discard(score_id)
        if lost or misdated:
            logger.error(
                "Langfuse accepted scores that don't show as they were sent; look at its worker",
                extra={"action": "scores_not_visible", "lost": len(lost), "misdated": len(misdated)},
            )
        return Seen(visible=tuple(visible), missing=tuple(missing), lost=tuple(lost), misdated=tuple(misdated))

    async def days(self, score_ids: Sequence[str]) -> dict[str, date]:
        """The UTC day under which each of these stands; those that don't are left out."""
        standing = await self._standing(score_ids)
        return {score_id: day for score_id, record in standing.items() if (day := _day(record)) is not None}

    async def _standing(self, score_ids: Sequence[str]) -> dict[str, Mapping[str, object]]:
        found: dict[str, Mapping[str, object]] = {}
        if (await self._server.generation()).scores == "v2":
            for score_id in score_ids:
                answer = await self._wire.get(
                    f"/v2/scores/{quote(score_id, safe='')}",
                    what="a score",
                    bucket="legacy",
                    accept=frozenset({404}),
                )
                if answer.ok and isinstance(answer.body, Mapping):
                    found[score_id] = answer.body
            return found
        for start in range(0, len(score_ids), _PAGE):
            some = score_ids[start : start + _PAGE]
            answer = await self._wire.get(
                "/v3/scores", {"id": ",".join(some), "limit": _PAGE}, what="the scores that were sent"
            )
            records = answer.body.get("data") if isinstance(answer.body, Mapping) else None
            for record in records or []:
                if isinstance(record, Mapping) and isinstance(record.get("id"), str):
                    found[record["id"]] = record
        return found


def _holds(record: Mapping[str, object], value: float | str | None) -> bool:
    if isinstance(value, str):
        return value in (record.get("value"), record.get("stringValue"))
    stands = record.get("value")
    return value is not None and isinstance(stands, (int, float)) and abs(stands - value) < _SAME


def _day(record: Mapping[str, object]) -> date | None:
    stands = moment(record.get("timestamp"))
    return None if stands is None else stands.astimezone(UTC).date()
