"""Scores written to Phoenix as annotations: each batch at once, answered for, without doubles."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from groundwire.connectors.base import Finding
from groundwire.connectors.http import Answer, said
from groundwire.connectors.phoenix.annotation import Place, Unsendable, annotation_of, identifier_of, place_of
from groundwire.connectors.phoenix.check import findings
from groundwire.connectors.phoenix.settings import PhoenixSettings
from groundwire.connectors.phoenix.wire import Wire
from groundwire.connectors.score import Delivery, Score
from groundwire.scorer import GiveUp, RetryLater

__all__ = ["PhoenixSink"]

_CHUNK = 100
"""Annotations in one request."""
_CHUNK_BYTES = 900_000
_REFUSED = frozenset({400, 404, 405, 413, 415, 422})
_ABSENT_FOR = timedelta(minutes=10)
"""A target that isn't there may not have been stored yet; after that it is gone."""
_SOON = 15.0
"""Seconds to wait for one that isn't there."""


class PhoenixSink:
    """Where scores of a Phoenix project go. Its repr shows the host alone."""

    def __init__(self, settings: PhoenixSettings, *, wire: Wire | None = None) -> None:
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._absent: dict[str, datetime] = {}
        """When a score's target was first found not to be there."""

    def __repr__(self) -> str:
        return f"PhoenixSink(host={self._settings.host!r})"

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """See `Sink.push`. A score whose value is None is deleted.

        An annotation whose target isn't there is tried again for ten minutes, and refused after that.
        """
        last = {score.score_id: score for score in scores}
        done: dict[str, Delivery] = {}
        try:
            await self._write([score for score in last.values() if score.value is not None], done)
            for score in last.values():
                if score.value is None:
                    done[score.score_id] = await self._withdraw(score)
        except (RetryLater, GiveUp) as stopped:
            if not done:
                raise
            after = stopped.after if isinstance(stopped, RetryLater) else 0.0
            done |= {
                key: Delivery(score_id=key, state="retry", reason=str(stopped), after=after)
                for key in last
                if key not in done
            }
        return [done[score.score_id] for score in scores]

    async def check(self) -> Sequence[Finding]:
        """See `Sink.check`. Nothing is written."""
        return await findings(self._wire, writes=True)

    async def close(self) -> None:
        """See `Sink.close`."""
        await self._wire.close()

    async def _withdraw(self, score: Score) -> Delivery:
        path = await self._wire.project_path(place_of(score).route)
        which = {"identifier": identifier_of(score), "name": score.name, "delete_all": "true"}
        answer = await self._wire.delete(path, which, what="a score to delete", accept=_REFUSED)
        if answer.status == 404:
            self._wire.forget_project()
        if answer.ok or answer.status == 404:
            return Delivery(score_id=score.score_id, state="delivered")
        return _refused(score, answer)

    async def _write(self, scores: Sequence[Score], done: dict[str, Delivery]) -> None:
        by_route: dict[str, list[tuple[Score, dict[str, Any]]]] = {}
        for score in scores:
            try:
                by_route.setdefault(place_of(score).route, []).append((score, annotation_of(score)))
            except Unsendable as fault:
                done[score.score_id] = Delivery(score_id=score.score_id, state="refused", reason=str(fault))
        for route, annotations in by_route.items():
            for chunk in _chunks(annotations):
                await self._send(route, chunk, done)

    async def _send(self, route: str, chunk: Sequence[tuple[Score, dict[str, Any]]], done: dict[str, Delivery]) -> None:
        """Write a chunk, which the server takes as a whole or not at all; what it refuses is found and left out."""
        if not chunk:
            return
        answer = await self._wire.post(
            f"/v1/{route}",
            {"data": [annotation for _, annotation in chunk]},
            params={"sync": "true"},  # otherwise what became of it is never told
            what="scores",
            accept=_REFUSED,
        )
        if answer.ok:
            for score, _ in chunk:
                self._absent.pop(score.score_id, None)
                done[score.score_id] = Delivery(score_id=score.score_id, state="delivered")
        elif answer.status == 404 and (absent := _named(answer, chunk)):
            done |= {score.score_id: self._not_there(score) for score, _ in chunk if place_of(score) in absent}
            await self._send(route, [one for one in chunk if place_of(one[0]) not in absent], done)
        elif len(chunk) == 1:
            done[chunk[0][0].score_id] = _refused(chunk[0][0], answer)
        else:
            middle = len(chunk) // 2
            await self._send(route, chunk[:middle], done)
            await self._send(route, chunk[middle:], done)

    def _not_there(self, score: Score) -> Delivery:
        place = place_of(score)
        since = self._absent.setdefault(score.score_id, self._wire.now())
        if self._wire.now() - since <= _ABSENT_FOR:
            return Delivery(
                score_id=score.score_id,
                state="retry",
                reason=f"Phoenix doesn't have the {place.kind} yet",
                after=_SOON,
            )
        del self._absent[score.score_id]
        return Delivery(
            score_id=score.score_id, state="refused", reason=f"Phoenix doesn't have the {place.kind} {place.target}"
        )


def _named(answer: Answer, chunk: Sequence[tuple[Score, Mapping[str, Any]]]) -> frozenset[Place]:
    """The targets that a refusal says aren't there."""
    text = answer.body if isinstance(answer.body, str) else said(answer.body)
    return frozenset(place for score, _ in chunk if (place := place_of(score)).target in text)


def _refused(score: Score, answer: Answer) -> Delivery:
    heard = said(answer.body) or f"HTTP {answer.status}"
    return Delivery(score_id=score.score_id, state="refused", reason=f"Phoenix refuses it: {heard}")


def _chunks(
    annotations: Sequence[tuple[Score, dict[str, Any]]],
) -> Iterator[list[tuple[Score, dict[str, Any]]]]:
    chunk: list[tuple[Score, dict[str, Any]]] = []
    size = 0
    for score, annotation in annotations:
        more = len(str(annotation).encode())
        if chunk and (len(chunk) == _CHUNK or size + more > _CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((score, annotation))
        size += more
    if chunk:
        yield chunk
