"""One question to a language model: asked, repaired once if its reply can't be read, and remembered."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, JsonValue

from groundwire.scorer.cache import Cache, Flights
from groundwire.scorer.evidence import View
from groundwire.scorer.fence import Fence, Section
from groundwire.scorer.judge import Exchange, Failure, Reply
from groundwire.scorer.judges.calls import Deadline, OverBudget
from groundwire.scorer.judges.endpoint import Endpoint, failure_of
from groundwire.scorer.judges.faults import Fault
from groundwire.scorer.judges.forms import Form
from groundwire.scorer.judges.reading import Unreadable, is_refusal, read_reply
from groundwire.scorer.judges.wire import Answer, Question
from groundwire.scorer.prompts import PromptName, Prompts
from groundwire.scorer.selection import shrink
from groundwire.scorer.spend import Account, Usage

__all__ = ["MARK_ROOM", "MAX_PROMPT_CHARS", "MOST_SHRINKS", "Asking", "Tally", "TooLong", "fitted"]

log = logging.getLogger("groundwire.judge")

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

MOST_SHRINKS = 6
"""Times that a view is halved for a model whose context is too small."""
ECHOED = 8_000
"""Characters of an unreadable reply that the model is shown again."""
MAX_PROMPT_CHARS = 32_000
"""Characters of one prompt, where nothing else is set."""
COMPLAINT = 400
"""Characters of what is said about an unreadable reply; every prompt keeps them free."""
MARK_ROOM = 200
"""Characters that the marks of what is cut may take."""


class TooLong(Exception):  # noqa: N818 - said of the prompt
    """The prompt is longer than the model's context, or than a prompt may be: show less."""

    def __init__(self, over: int = 0) -> None:
        super().__init__(f"{over} characters too long" if over else "longer than the model's context")
        self.over = over
        """Characters that must go; 0 where nobody knows."""


@dataclass(kw_only=True)
class Tally:
    """What the calls for one reply add up to."""

    account: Account = field(default_factory=Account)
    deadline: Deadline = field(default_factory=Deadline)
    hits: int = 0
    flags: set[str] = field(default_factory=set)
    notes: dict[str, JsonValue] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """Everything used so far."""
        return self.deadline.spent + Usage(cache_hits=self.hits)

    def count(self, note: str, more: int) -> None:
        """Add to a note that counts."""
        before = self.notes.get(note, 0)
        self.notes[note] = more + (before if isinstance(before, int) else 0)

    def reply(self, value: T | Failure, view: View | None = None) -> Reply[T]:
        """The reply with that outcome."""
        return Reply(
            value=None if isinstance(value, Failure) else value,
            failure=value if isinstance(value, Failure) else None,
            usage=self.usage,
            flags=frozenset(self.flags),
            notes=dict(self.notes),
            exchanges=tuple(self.exchanges),
            view=view,
        )


async def fitted(
    view: View, ask: Callable[[View], Awaitable[T | Failure]], tally: Tally, too_long: Callable[[TooLong], Failure]
) -> Reply[T]:
    """The reply to `ask` with the view, or with as much of it as fits the prompt and the model's context."""
    shown = view
    found = TooLong()
    for _ in range(MOST_SHRINKS):
        try:
            outcome = await ask(shown)
        except TooLong as error:
            found = error
            if not error.over:
                tally.flags.add("context_too_small")
            size = sum(len(item.text) + len(item.arguments) for item in shown.shown)
            if size <= error.over:
                break  # without any evidence it would still be too long
            shown = shrink(shown, max(1 - (error.over + MARK_ROOM) / size, 0.0) if error.over else 0.5)
        else:
            return tally.reply(outcome, view=None if shown is view else shown)
    return tally.reply(too_long(found), view=shown)


@dataclass(kw_only=True)
class Asking:
    """Asks an endpoint, with the prompts in use."""

    endpoint: Endpoint
    prompts: Prompts
    cache: Cache
    identity: str
    """Of the judge: part of every cache key."""
    max_chars: int = MAX_PROMPT_CHARS
    """Most characters of one prompt."""
    fence: Callable[[], Fence] = Fence
    """A new fence for every prompt."""
    _flights: "Flights[tuple[Any, str]]" = field(default_factory=Flights)

    async def ask(
        self, prompt: PromptName, form: Form[M], sections: Sequence[Section], limit: int, tally: Tally
    ) -> M | Failure:
        """The filled-in form, or why there is none.

        `limit` is the most tokens of the reply without reasoning. Raises `TooLong`, and `GiveUp` where the judge is
        lost. A reply from the cache, or from an identical call under way, is counted as a hit and costs nothing.
        """
        key = self._key(prompt, sections)
        kept = await self.cache.get(key)
        if kept is not None:
            try:
                value = read_reply(kept, form.model)
            except Unreadable:  # kept by a version that read it otherwise
                log.info("cached reply can't be read any more")
            else:
                return self._hit(prompt, value, kept, tally)

        async def make() -> tuple[M | Failure, str]:
            return await self._converse(prompt, form, sections, limit, tally, key)

        landed, shared = await self._flights.once(key, make, shared=_is_shared)
        outcome = cast("M | Failure", landed[0])  # the key holds the prompt's name, and with it the form
        if shared:
            return self._hit(prompt, outcome, landed[1], tally)
        if not isinstance(outcome, Failure):
            await self.cache.put({key: landed[1]})
        return outcome

    def _hit(self, prompt: PromptName, outcome: T, text: str, tally: Tally) -> T:
        tally.hits += 1
        tally.exchanges.append(Exchange(question=prompt, prompt="", reply=text))
        return outcome

    async def _converse(
        self,
        prompt: PromptName,
        form: Form[M],
        sections: Sequence[Section],
        limit: int,
        tally: Tally,
        key: str,
    ) -> tuple[M | Failure, str]:
        """Ask; once more with the largest limit if the reply was cut, once more with the complaint if unreadable."""
        cap = self.endpoint.config.max_output_tokens
        rendered = self.fence().render(sections)
        room_left = self.max_chars - len(self.prompts[prompt]) - len(rendered) - len(self.prompts["repair"]) - COMPLAINT
        if room_left < 0:
            raise TooLong(-room_left)
        turns: list[tuple[Literal["user", "assistant"], str]] = [("user", rendered)]
        longest, repaired, text = False, False, ""
        while True:
            room = cap if longest else min(limit + self.endpoint.dialect.room, cap)
            question = Question(system=self.prompts[prompt], turns=tuple(turns), form=form, limit=room)
            reading = _Reading(form=form, key=key)
            try:
                answer = await self.endpoint.ask(question, tally.account, tally.deadline, reading.read)
            except OverBudget:
                return Failure(status="skipped", reason="over_budget", message="the cap leaves no room for it"), text
            except Fault as fault:
                if fault.kind == "overflow" and not repaired:
                    raise TooLong from None
                return failure_of(fault, self.endpoint.config), text
            text = answer.text
            tally.notes.update(self.endpoint.dialect.notes())
            if self.endpoint.calls.price is None:
                tally.flags.add("price_unknown")
            if self.endpoint.dialect.dropped:
                tally.flags.add("parameters_dropped")
            tally.exchanges.append(Exchange(question=prompt, prompt=turns[-1][1], reply=text))
            if reading.value is not None:
                return reading.value, text
            if answer.finish == "refusal" or is_refusal(text):
                return Failure(status="unknown", reason="judge_refused", message="the judge declined to answer"), text
            if answer.finish == "length":
                if longest or room >= cap:
                    return _unparsable(f"its reply was cut off at {cap} tokens; raise max_output_tokens"), text
                longest = True
                if answer.usage is not None and answer.usage.reasoning_tokens:
                    self.endpoint.dialect.room = cap  # it reasons: the next question starts with the room it needs
                continue
            if repaired:
                return _unparsable(f"its reply could not be read: {reading.complaint}"), text
            repaired = True
            complaint = self.prompts["repair"].replace("{error}", reading.complaint[:COMPLAINT])
            turns += [("assistant", text[: min(ECHOED, room_left)] or "…"), ("user", complaint)]

    def _key(self, prompt: PromptName, sections: Sequence[Section]) -> str:
        """The digest of the judge and of everything asked, without the fence, which is different every time."""
        asked = [self.identity, prompt, [[section.name, section.text] for section in sections]]
        return hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(kw_only=True)
class _Reading:
    """Reads an answer before it is settled, so that its cache entry is stored with the settlement."""

    form: Form[Any]
    key: str
    value: Any = None
    complaint: str = ""

    def read(self, answer: Answer) -> Mapping[str, str] | None:
        if answer.finish != "stop":
            return None
        try:
            self.value = read_reply(answer.text, self.form.model)
        except Unreadable as error:
            self.complaint = str(error)
            return None
        return {self.key: answer.text}


def _is_shared(outcome: tuple[Any, str]) -> bool:
    """Whether an outcome holds for everyone who asks the same; a lack of money or time is one's own."""
    return not isinstance(outcome[0], Failure) or outcome[0].status == "unknown"


def _unparsable(message: str) -> Failure:
    return Failure(status="unknown", reason="judge_unparsable", message=message)
