"""The two APIs on the wire: what is sent for a question, and what is read from the answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.scorer.judges.config import LLMJudgeConfig
from groundwire.scorer.judges.dialect import Dialect, OutputMode, takes_no_temperature
from groundwire.scorer.judges.forms import Form
from groundwire.scorer.spend import Usage

__all__ = ["Answer", "Question", "body_of", "read_answer"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One call's content."""

    system: str
    turns: tuple[tuple[Literal["user", "assistant"], str], ...]
    form: Form[Any]
    limit: int
    """Most tokens of the reply, reasoning included."""

    @cached_property
    def size(self) -> int:
        """UTF-8 bytes of everything that costs prompt tokens."""
        texts = (self.system, *(text for _, text in self.turns), self.form.text)
        return sum(len(text.encode("utf-8", "replace")) for text in texts)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came back."""

    text: str
    finish: Literal["stop", "length", "refusal"]
    usage: Usage | None = None
    """Tokens only; None where the endpoint didn't say, or said what can't be."""
    model: str = ""


def body_of(question: Question, config: LLMJudgeConfig, dialect: Dialect, mode: OutputMode) -> dict[str, Any]:
    """The request's body, without what the endpoint is known to refuse."""
    model = config.azure.deployment if config.azure and config.azure.deployment else config.model
    body: dict[str, Any] = {"model": model}
    if config.temperature is not None and not takes_no_temperature(config.model):
        body["temperature"] = config.temperature
    if config.api == "responses":
        body |= _responses_body(question, config, mode)
    else:
        body |= _chat_body(question, config, dialect, mode)
    return {name: value for name, value in body.items() if name not in dialect.dropped}


def _chat_body(question: Question, config: LLMJudgeConfig, dialect: Dialect, mode: OutputMode) -> dict[str, Any]:
    form = question.form
    body: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": question.system},
            *({"role": role, "content": text} for role, text in question.turns),
        ],
        dialect.limit_name: question.limit,
    }
    if config.reasoning_effort is not None:
        body["reasoning_effort"] = config.reasoning_effort
    if mode == "schema":
        schema = {"name": form.name, "strict": True, "schema": form.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif mode == "tool":
        body["tools"] = [{"type": "function", "function": {"name": form.name, "parameters": form.schema}}]
        body["tool_choice"] = {"type": "function", "function": {"name": form.name}}
    return body


def _responses_body(question: Question, config: LLMJudgeConfig, mode: OutputMode) -> dict[str, Any]:
    form = question.form
    body: dict[str, Any] = {
        "instructions": question.system,
        "input": [{"role": role, "content": text} for role, text in question.turns],
        "max_output_tokens": question.limit,
        "store": False,
    }
    if config.reasoning_effort is not None:
        body["reasoning"] = {"effort": config.reasoning_effort}
    if mode == "schema":
        body["text"] = {"format": {"type": "json_schema", "name": form.name, "strict": True, "schema": form.schema}}
    elif mode == "tool":
        body["tools"] = [{"type": "function", "name": form.name, "parameters": form.schema, "strict": False}]
        body["tool_choice"] = {"type": "function", "name": form.name}
    return body


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Function(_Loose):
    arguments: str | dict[str, Any] | None = None


class _ToolCall(_Loose):
    function: _Function = _Function()


class _Message(_Loose):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(_Loose):
    finish_reason: str | None = None
    message: _Message = _Message()


class _Details(_Loose):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(_Loose):
    """Both APIs' names."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Chat(_Loose):
    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: Any = None


class _Item(_Loose):
    type: str = ""
    content: list[dict[str, Any]] | None = None
    arguments: str | None = None


class _Incomplete(_Loose):
    reason: str | None = None


class _Response(_Loose):
    model: str | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    output: list[_Item]
    usage: Any = None


def read_answer(content: bytes, api: Literal["chat", "responses"]) -> Answer | None:
    """The answer in a successful reply's body; None where it isn't one of that API (HTML, another service)."""
    try:
        data = json.loads(content)
        return _of_chat(_Chat.model_validate(data)) if api == "chat" else _of_response(_Response.model_validate(data))
    except (ValueError, RecursionError, ValidationError):
        return None


def _of_chat(reply: _Chat) -> Answer:
    choice = reply.choices[0]
    usage = _usage(reply.usage)
    text = _arguments(choice.message) or _content(choice.message.content)
    finish: Literal["stop", "length", "refusal"] = "stop"
    if choice.finish_reason == "length":
        finish = "length"
    elif choice.finish_reason in ("content_filter", "safety") or (choice.message.refusal and not text.strip()):
        finish = "refusal"
    elif not text.strip() and usage is not None and usage.reasoning_tokens:
        finish = "length"  # all of it went into reasoning
    return Answer(text=text, finish=finish, usage=_believed(usage, text), model=reply.model or "")


def _of_response(reply: _Response) -> Answer:
    usage = _usage(reply.usage)
    parts = [part for item in reply.output for part in item.content or () if item.type == "message"]
    text = next((item.arguments for item in reply.output if item.type == "function_call" and item.arguments), "")
    text = text or "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")
    why = reply.incomplete_details.reason if reply.incomplete_details else None
    finish: Literal["stop", "length", "refusal"] = "stop"
    if why == "content_filter" or (not text.strip() and any(part.get("type") == "refusal" for part in parts)):
        finish = "refusal"
    elif reply.status == "incomplete" or (not text.strip() and usage is not None and usage.reasoning_tokens):
        finish = "length"
    return Answer(text=text, finish=finish, usage=_believed(usage, text), model=reply.model or "")


def _arguments(message: _Message) -> str:
    for call in message.tool_calls or ():
        arguments = call.function.arguments
        if arguments:
            return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ""


def _content(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content or ""


def _usage(data: object) -> Usage | None:
    """Disjoint buckets of the reported usage; None where a part is missing or negative."""
    if not isinstance(data, Mapping):
        return None
    try:
        used = _Usage.model_validate(data)
    except ValidationError:
        return None
    prompt = used.prompt_tokens if used.prompt_tokens is not None else used.input_tokens
    completion = used.completion_tokens if used.completion_tokens is not None else used.output_tokens
    if prompt is None or completion is None or prompt <= 0 or completion < 0:
        return None
    read = used.prompt_tokens_details or used.input_tokens_details or _Details()
    written = used.completion_tokens_details or used.output_tokens_details or _Details()
    cached = min(max(read.cached_tokens or 0, 0), prompt)
    reasoning = max(written.reasoning_tokens or 0, 0)
    if reasoning > completion:  # some endpoints count reasoning beside the completion instead of within it
        completion += reasoning
    elif used.total_tokens is not None and used.total_tokens > prompt + completion:
        reasoning += used.total_tokens - prompt - completion
        completion = used.total_tokens - prompt
    return Usage(
        input_tokens=prompt - cached,
        cached_tokens=cached,
        output_tokens=completion - reasoning,
        reasoning_tokens=reasoning,
    )


def _believed(usage: Usage | None, text: str) -> Usage | None:
    """A usage that counts no output for a reply that has some is none."""
    if usage is not None and text.strip() and usage.output_tokens + usage.reasoning_tokens == 0:
        return None
    return usage
