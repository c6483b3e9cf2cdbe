"""Scores written to LangSmith as feedback: each at once, without doubles, never through the SDK's background queue."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from groundwire.connectors.base import Finding
from groundwire.connectors.http import Answer, as_error, said
from groundwire.connectors.langsmith.check import findings
from groundwire.connectors.langsmith.configs import FeedbackConfigs
from groundwire.connectors.langsmith.feedback import Unsendable, feedback_of, update_of
from groundwire.connectors.langsmith.server import Server
from groundwire.connectors.langsmith.settings import LangsmithSettings
from groundwire.connectors.langsmith.wire import PLATFORM, Wire
from groundwire.connectors.score import Delivery, Score
from groundwire.scorer import GiveUp, RetryLater

__all__ = ["LangsmithSink"]

_A_LOOK = 50
"""Runs whose feedback is looked up in one request."""
_PAGE = 100
_WAITS = (1.0, 2.0, 4.0)
"""Seconds between tries in place, while a run that was just traced isn't there yet."""
_INGESTED_WITHIN = timedelta(minutes=2)
_SOON, _LATER = 15.0, 300.0
"""Seconds to wait for a run that isn't there: within those two minutes, and after."""
_REFUSED = frozenset({400, 404, 405, 409, 410, 413, 422, 501})


class LangsmithSink:
    """Where scores of a LangSmith project go. Its repr shows the host alone."""

    def __init__(self, settings: LangsmithSettings, *, wire: Wire | None = None) -> None:
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._server = Server(self._wire)
        self._configs = FeedbackConfigs(self._wire)
        self._absent: dict[str, datetime] = {}
        """When a score's run was first found not to be there."""

    def __repr__(self) -> str:
        return f"LangsmithSink(host={self._settings.host!r})"

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """See `Sink.push`. A score whose value is None is cleared; its feedback stays, empty.

        A run that isn't there yet is waited for: a few seconds in place, then by `retry` deliveries, soon for two
        minutes and rarely after.
        """
        last = {score.score_id: score for score in scores}
        done: dict[str, Delivery] = {}
        try:
            project = (await self._server.project()).project_id
            standing = await self._standing([score for score in last.values() if score.value is not None])
            if self._settings.create_config:
                for score in {score.name: score for score in last.values() if score.value is not None}.values():
                    await self._configs.ensure(score)
            await self._write(list(last.values()), project, standing, done)
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
        return await findings(self._wire, self._server, writes=True)

    async def close(self) -> None:
        """See `Sink.close`."""
        await self._wire.close()

    async def _standing(self, scores: Sequence[Score]) -> frozenset[str]:
        """Of these scores, the ids that are there already.

        What a second POST of one id does isn't documented, and might be a double.
        """
        runs = {_run_of(score): None for score in scores}
        keys = sorted({score.name for score in scores})
        found: set[str] = set()
        asked = list(runs)
        for at in range(0, len(asked), _A_LOOK):
            offset = 0
            while True:
                answer = await self._wire.get(
                    "/api/v1/feedback",
                    {"run": asked[at : at + _A_LOOK], "key": keys, "source": "model", "limit": _PAGE, "offset": offset},
                    what="the feedback that is there",
                    accept=_REFUSED,
                )
                records = answer.body if answer.ok and isinstance(answer.body, list) else []
                found |= {str(one.get("id")) for one in records if isinstance(one, Mapping)}
                if len(records) < _PAGE:
                    break
                offset += _PAGE
        return frozenset(found)

    async def _write(
        self, scores: Sequence[Score], project: str, standing: frozenset[str], done: dict[str, Delivery]
    ) -> None:
        left = list(scores)
        for wait in (*_WAITS, None):
            results = await asyncio.gather(
                *(self._one(score, project, standing) for score in left), return_exceptions=True
            )
            absent: list[Score] = []
            stopped: BaseException | None = None
            for score, result in zip(left, results, strict=True):
                if isinstance(result, BaseException):
                    stopped = stopped or result
                elif result is None:
                    absent.append(score)
                else:
                    done[score.score_id] = result
                    self._absent.pop(score.score_id, None)
            if stopped is not None:
                raise stopped
            if not absent:
                return
            left = absent
            if wait is None or all(self._is_long_absent(score) for score in absent):
                break
            await self._wire.sleep(wait)
        done |= {score.score_id: self._later(score) for score in left}

    async def _one(self, score: Score, project: str, standing: frozenset[str]) -> Delivery | None:
        """What became of one score; None where its run isn't there yet."""
        if score.value is None:
            return await self._update(score, missing="delivered")
        try:
            body = feedback_of(
                score,
                project_id=project,
                extend_retention=self._settings.extend_trace_retention,
                mark_errors=self._settings.mark_errors,
            )
        except Unsendable as fault:
            return Delivery(score_id=score.score_id, state="refused", reason=str(fault))
        if score.score_id in standing:
            return await self._update(score, missing=None)
        answer = await self._wire.post("/api/v1/feedback", body, what="a score", bucket="feedback", accept=_REFUSED)
        if answer.ok:
            return Delivery(score_id=score.score_id, state="delivered")
        if answer.status == 409:
            return await self._update(score, missing="delivered")
        return None if answer.status == 404 else self._refused(score, answer)

    async def _update(self, score: Score, *, missing: Any) -> Delivery | None:
        answer = await self._wire.patch(
            f"/api/v1/feedback/{quote(score.score_id, safe='')}", update_of(score), what="a score", accept=_REFUSED
        )
        if answer.ok or (answer.status == 404 and missing == "delivered"):
            return Delivery(score_id=score.score_id, state="delivered")
        return None if answer.status == 404 else self._refused(score, answer)

    def _refused(self, score: Score, answer: Answer) -> Delivery:
        if answer.status in (405, 410, 501):
            heard = str(as_error(answer, platform=PLATFORM, what="a score", now=self._wire.now()))
        else:
            heard = f"LangSmith refuses it: {said(answer.body) or f'HTTP {answer.status}'}"
        return Delivery(score_id=score.score_id, state="refused", reason=heard)

    def _is_long_absent(self, score: Score) -> bool:
        since = self._absent.setdefault(score.score_id, self._wire.now())
        return self._wire.now() - since > _INGESTED_WITHIN

    def _later(self, score: Score) -> Delivery:
        return Delivery(
            score_id=score.score_id,
            state="retry",
            reason="LangSmith doesn't have the run yet",
            after=_LATER if self._is_long_absent(score) else _SOON,
        )


def _run_of(score: Score) -> str:
    target = score.target
    return target.span_id or target.root_span_id or target.trace_id
