"""A System One endpoint: typed questions about a state, answered with probabilities in one call."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.scorer.cache import Cache, Flights
from groundwire.scorer.errors import GiveUp
from groundwire.scorer.judge import Failure
from groundwire.scorer.judges.asking import Tally, TooLong
from groundwire.scorer.judges.calls import Bill, Calls, OverBudget, Sent
from groundwire.scorer.judges.config import DecisionJudgeConfig
from groundwire.scorer.judges.endpoint import failure_of, gives_up, http_client
from groundwire.scorer.judges.faults import Fault, fault_of, fault_of_status
from groundwire.scorer.prices import token_bound
from groundwire.scorer.spend import Usage

__all__ = ["DecisionAnswer", "DecisionEndpoint"]

ANSWER_TOKENS = 64
"""Most output tokens that one question is charged for, where a server charges them."""


class DecisionAnswer(BaseModel):
    """Any of the answers; a server may leave out what it likes, and answers a bad question with another type."""

    model_config = ConfigDict(extra="ignore")

    noul: float | None = None
    choice: str | None = None
    score: float | None = None
    probabilities: Any = None


class _Usage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    input_tokens: int
    output_tokens: int = 0


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str = ""
    answers: dict[str, Any]
    usage: Any = None


@dataclass(kw_only=True)
class DecisionEndpoint:
    """Where a `decision` judge's questions go."""

    config: DecisionJudgeConfig
    calls: Calls
    cache: Cache
    identity: str
    """Of the judge: part of every cache key."""
    _flights: "Flights[tuple[dict[str, DecisionAnswer] | Failure, str]]" = field(default_factory=Flights)
    _client: Any = None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def ask(
        self, state: Mapping[str, Any], questions: Mapping[str, Any], tally: Tally
    ) -> dict[str, DecisionAnswer] | Failure:
        """The answers by question; one that can't be read is left out.

        Raises `TooLong`, and `GiveUp` where the judge is lost. A reply from the cache costs nothing.
        """
        body = json.dumps({"model": self.config.model, "state": state, "questions": questions}, ensure_ascii=False)
        key = hashlib.sha256(f"{self.identity}\0{body}".encode("utf-8", "replace")).hexdigest()
        kept = await self.cache.get(key)
        answers = _read(kept.encode()) if kept is not None else None
        if answers is not None:
            tally.hits += 1
            return answers.value

        async def make() -> tuple[dict[str, DecisionAnswer] | Failure, str]:
            return await self._call(body, len(questions), tally, key)

        (outcome, text), shared = await self._flights.once(key, make, shared=_is_shared)
        if shared:
            tally.hits += 1
        elif not isinstance(outcome, Failure):
            await self.cache.put({key: text})
        return outcome

    async def _call(
        self, body: str, questions: int, tally: Tally, key: str
    ) -> tuple[dict[str, DecisionAnswer] | Failure, str]:
        content = body.encode("utf-8", "replace")

        async def send() -> Sent[tuple[dict[str, DecisionAnswer], str]]:
            return await self._send(content, key, tally)

        bill = Bill(input_tokens=token_bound([body], messages=1), output_tokens=ANSWER_TOKENS * questions)
        try:
            return (await self.calls.make(send, bill, tally.account, tally.deadline)).value
        except OverBudget:
            return Failure(status="skipped", reason="over_budget", message="the cap leaves no room for it"), ""
        except Fault as fault:
            if fault.kind == "overflow":
                raise TooLong from None
            if (line := gives_up(fault, self.config)) is not None:
                raise GiveUp(line) from None
            return failure_of(fault, self.config), ""

    async def _send(self, content: bytes, key: str, tally: Tally) -> Sent[tuple[dict[str, DecisionAnswer], str]]:
        client = self._client = self._client or http_client(self.config)
        headers = {name: value.get_secret_value() for name, value in self.config.headers.items()}
        headers["content-type"] = "application/json"
        if self.config.api_key is not None:
            headers["authorization"] = f"Bearer {self.config.api_key.get_secret_value()}"
        url = f"{self.config.endpoint.removesuffix('/v1')}/v1/systemone"
        now = datetime.now(UTC)
        try:
            response = await client.post(url, content=content, headers=headers)
        except Exception as error:
            fault = fault_of(error, now)
            if fault is None:
                raise
            raise fault from None
        if response.status_code != 200:
            raise fault_of_status(response.status_code, _json(response.content), response.headers, now)
        read = _read(response.content)
        if read is None:
            html = response.content.lstrip()[:1] == b"<"
            raise Fault("alien", status=200) if html else Fault("broken", status=200, billed=True, retried=True)
        if read.model and read.model != self.config.model:
            tally.notes["snapshot"] = read.model[:100]
        return Sent(value=(read.value, response.text), usage=read.usage, keep={key: response.text})


@dataclass(frozen=True, kw_only=True)
class _Read:
    value: dict[str, DecisionAnswer]
    usage: Usage | None
    model: str


def _read(content: bytes) -> _Read | None:
    """The answers of a reply; None where it is no reply of that API. An answer that can't be read is left out."""
    try:
        reply = _Reply.model_validate(_json(content))
    except ValidationError:
        return None
    answers: dict[str, DecisionAnswer] = {}
    for name, raw in reply.answers.items():
        try:
            answers[name] = DecisionAnswer.model_validate(raw)
        except ValidationError:
            continue
    try:
        used = _Usage.model_validate(reply.usage)
    except ValidationError:
        used = None
    usage = None
    if used is not None and used.input_tokens > 0 and used.output_tokens >= 0:
        usage = Usage(input_tokens=used.input_tokens, output_tokens=used.output_tokens)
    return _Read(value=answers, usage=usage, model=reply.model)


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _is_shared(outcome: tuple[Any, str]) -> bool:
    return not isinstance(outcome[0], Failure)
