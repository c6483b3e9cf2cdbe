"""Scores written to Langfuse: in lists where the server takes them, without doubles, refusals found one by one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from groundwire.connectors.base import Finding
from groundwire.connectors.http import Answer, as_error, said
from groundwire.connectors.langfuse.check import findings
from groundwire.connectors.langfuse.configs import ScoreConfigs
from groundwire.connectors.langfuse.generation import Server, Writes, is_missing_route
from groundwire.connectors.langfuse.payload import Unsendable, event_id, payload_of, size_of
from groundwire.connectors.langfuse.readback import ReadBack, Seen
from groundwire.connectors.langfuse.settings import LangfuseSettings
from groundwire.connectors.langfuse.wire import PLATFORM, Wire
from groundwire.connectors.score import Delivery, Score
from groundwire.scorer import GiveUp, RetryLater, SkipThis

if TYPE_CHECKING:
    from langfuse.api import AsyncLangfuseAPI

__all__ = ["LangfuseSink"]

_CHUNK = 100
"""Scores in one request."""
_CHUNK_BYTES = 900_000
"""Bytes in one request; the server takes 1 MiB."""
_REFUSALS = frozenset({400, 404, 410, 413, 422})

Payload = dict[str, Any]
Send = Callable[[list[Payload]], Awaitable[dict[str, Delivery]]]


class LangfuseSink:
    """Where scores of a Langfuse project go. Its repr shows the host alone."""

    def __init__(self, settings: LangfuseSettings, *, wire: Wire | None = None) -> None:
        self._settings = settings
        self._wire = wire or Wire(settings)
        self._server = Server(self._wire)
        self._configs = ScoreConfigs(self._wire)
        self._read_back = ReadBack(self._wire, self._server)

    def __repr__(self) -> str:
        return f"LangfuseSink(host={self._settings.host!r})"

    async def push(self, scores: Sequence[Score]) -> list[Delivery]:
        """See `Sink.push`. A score whose value is None is deleted.

        Scores that were pushed a minute ago or longer are looked up first, and once more sent where they don't show.
        """
        await self.read_back()
        return await self._push(scores)

    async def read_back(self) -> Seen:
        """Look up what was pushed and not yet seen, and push once more what doesn't show. See `ReadBack`."""
        due = self._read_back.due()
        if not due:
            return Seen()
        seen = await self._read_back.look(due)
        if seen.missing:
            await self._push(seen.missing)
        return seen

    async def check(self) -> Sequence[Finding]:
        """See `Sink.check`. Nothing is written."""
        return await findings(self._wire, self._server, writes=True)

    async def close(self) -> None:
        """See `Sink.close`."""
        await self._wire.close()

    async def _push(self, scores: Sequence[Score]) -> list[Delivery]:
        done: dict[str, Delivery] = {}
        try:
            await self._withdraw([score for score in scores if score.value is None], done)
            await self._write([score for score in scores if score.value is not None], done)
        except (RetryLater, GiveUp) as stopped:
            if not done:
                raise
            after = stopped.after if isinstance(stopped, RetryLater) else 0.0
            rest = {score.score_id for score in scores} - set(done)
            done |= {
                score_id: Delivery(score_id=score_id, state="retry", reason=str(stopped), after=after)
                for score_id in rest
            }
        self._read_back.expect([score for score in scores if done[score.score_id].state == "delivered"])
        return [done[score.score_id] for score in scores]

    async def _withdraw(self, scores: Sequence[Score], done: dict[str, Delivery]) -> None:
        for score in scores:
            try:
                # 202 also for a score that was never there
                await self._wire.delete(
                    f"/scores/{quote(score.score_id, safe='')}", what="a score to delete", accept=frozenset({404})
                )
            except SkipThis as refusal:
                done[score.score_id] = Delivery(score_id=score.score_id, state="refused", reason=str(refusal))
            else:
                done[score.score_id] = Delivery(score_id=score.score_id, state="delivered")

    async def _write(self, scores: Sequence[Score], done: dict[str, Delivery]) -> None:
        payloads: list[Payload] = []
        for score in scores:
            try:
                config_id = await self._configs.config_id(score) if self._settings.create_config else None
                payloads.append(payload_of(score, attach=self._settings.attach, config_id=config_id))
            except Unsendable as fault:
                done[score.score_id] = Delivery(score_id=score.score_id, state="refused", reason=str(fault))
        for chunk in _chunks(payloads):
            done |= await self._send(chunk)

    async def _send(self, chunk: list[Payload]) -> dict[str, Delivery]:
        """Write a chunk by the form that the server takes, learning it on the way."""
        writes = (await self._server.generation()).writes
        forms: dict[Writes, Send] = {"array": self._as_list, "ingestion": self._as_events, "single": self._one_by_one}
        try:
            return await forms[writes](chunk)
        except _NotTaken:
            self._server.writes_by("ingestion" if writes == "array" else "single")
            return await self._send(chunk)

    async def _as_list(self, chunk: list[Payload]) -> dict[str, Delivery]:
        answer = await self._wire.through_sdk(lambda sdk: _create(sdk, chunk), what="scores", accept=_REFUSALS)
        match answer.status:
            case 207:
                if len(chunk) == 1:
                    return _refused(chunk, answer)
                return await self._halved(chunk, self._as_list)
            case 400 if _wants_one(answer):
                raise _NotTaken
            case 404 | 410 if is_missing_route(answer):
                raise _NotTaken
            case 422:
                raise RetryLater(
                    str(as_error(answer, platform=PLATFORM, what="scores", now=self._wire.now())), after=30
                )
            case status if status >= 400:
                return _refused(chunk, answer) if len(chunk) == 1 else await self._halved(chunk, self._as_list)
            case _:  # 202; a 200 says no more
                return _delivered(chunk)

    async def _as_events(self, chunk: list[Payload]) -> dict[str, Delivery]:
        """Through `/ingestion`, where the envelope's timestamp becomes the score's on servers that ignore its own."""
        now = self._wire.now()
        events = {event_id(payload["id"], now): payload for payload in chunk}
        batch = [
            {
                "id": key,
                "type": "score-create",
                "timestamp": payload["timestamp"],
                "body": _undated(payload),
            }
            for key, payload in events.items()
        ]
        answer = await self._wire.post(
            "/ingestion", {"batch": batch}, what="scores", bucket="ingestion", accept=_REFUSALS
        )
        if is_missing_route(answer):
            raise _NotTaken
        if answer.status >= 400:
            return _refused(chunk, answer) if len(chunk) == 1 else await self._halved(chunk, self._as_events)
        body = answer.body if isinstance(answer.body, Mapping) else {}
        faults = {item.get("id"): item for item in body.get("errors") or [] if isinstance(item, Mapping)}
        done: dict[str, Delivery] = {}
        for key, payload in events.items():
            fault = faults.get(key)
            if fault is None:
                done |= _delivered([payload])
                continue
            status = int(fault.get("status") or 400)
            error = as_error(
                Answer(status=status, headers={}, body=fault), platform=PLATFORM, what="a score", now=self._wire.now()
            )
            state: Any = "retry" if isinstance(error, RetryLater) else "refused"
            done[payload["id"]] = Delivery(score_id=payload["id"], state=state, reason=str(error))
        return done

    async def _one_by_one(self, chunk: list[Payload]) -> dict[str, Delivery]:
        """One request a score, to a server that dates scores by their arrival.

        A score that stands there under another day would be doubled and not replaced, so it is refused.
        """
        standing = await self._read_back.days([payload["id"] for payload in chunk])
        today = self._wire.now().date()

        async def post(payload: Payload) -> dict[str, Delivery]:
            if standing.get(payload["id"], today) != today:
                return {
                    payload["id"]: Delivery(
                        score_id=payload["id"],
                        state="refused",
                        reason="this Langfuse dates scores by their arrival and has this one under another day; "
                        "upgrade the server to 4.59 or newer",
                    )
                }
            answer = await self._wire.post("/scores", _undated(payload), what="a score", accept=_REFUSALS)
            return _delivered([payload]) if answer.ok else _refused([payload], answer)

        done: dict[str, Delivery] = {}
        for result in await asyncio.gather(*(post(payload) for payload in chunk)):
            done |= result
        return done

    async def _halved(self, chunk: list[Payload], send: Send) -> dict[str, Delivery]:
        """Send both halves again, which under the same ids changes nothing, until the refused ones stand alone."""
        middle = len(chunk) // 2
        first = await send(chunk[:middle])
        try:
            return first | await send(chunk[middle:])
        except RetryLater as later:
            rest = chunk[middle:]
            return first | {
                payload["id"]: Delivery(score_id=payload["id"], state="retry", reason=str(later), after=later.after)
                for payload in rest
            }


class _NotTaken(Exception):  # noqa: N818 - never leaves this module
    """The server doesn't take scores in this form."""


async def _create(sdk: "AsyncLangfuseAPI", chunk: list[Payload]) -> Answer:
    from langfuse.api import CreateScoreRequest
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.scores.types.create_score_batch_results import CreateScoreBatchResults
    from pydantic import ValidationError

    request = [parse_obj_as(CreateScoreRequest, payload) for payload in chunk]
    try:
        raw = await sdk.scores.with_raw_response.create(request=request, request_options={"max_retries": 0})
    except ValidationError:
        return Answer(status=200, headers={}, body=None)  # a success in words that the SDK doesn't know
    if isinstance(raw.data, CreateScoreBatchResults):
        errors = [{"message": error.message} for error in raw.data.errors]
        return Answer(status=207, headers=_lowered(raw.headers), body={"error": errors})
    return Answer(status=202, headers=_lowered(raw.headers), body=None)


def _undated(payload: Payload) -> Payload:
    return {key: value for key, value in payload.items() if key != "timestamp"}


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _wants_one(answer: Answer) -> bool:
    """Whether a 400 says that the server takes one score and no list (Langfuse up to 4.16)."""
    faults = answer.body.get("error") if isinstance(answer.body, Mapping) else None
    return isinstance(faults, list) and any(
        isinstance(fault, Mapping) and fault.get("expected") == "object" and fault.get("path") == [] for fault in faults
    )


def _chunks(payloads: Sequence[Payload]) -> Iterator[list[Payload]]:
    chunk: list[Payload] = []
    size = 0
    for payload in payloads:
        more = size_of(payload) + 1
        if chunk and (len(chunk) == _CHUNK or size + more > _CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(payload)
        size += more
    if chunk:
        yield chunk


def _delivered(chunk: Sequence[Payload]) -> dict[str, Delivery]:
    return {payload["id"]: Delivery(score_id=payload["id"], state="delivered") for payload in chunk}


def _refused(chunk: Sequence[Payload], answer: Answer) -> dict[str, Delivery]:
    heard = said(answer.body) or f"HTTP {answer.status}"
    return {
        payload["id"]: Delivery(score_id=payload["id"], state="refused", reason=f"Langfuse refuses it: {heard}")
        for payload in chunk
    }
