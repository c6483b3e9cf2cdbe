"""An OpenAI-compatible endpoint: one shared client, and what it has been learnt to take."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from groundwire.scorer.errors import ConfigError, GiveUp
from groundwire.scorer.judge import Failure
from groundwire.scorer.judges.calls import Bill, Calls, Deadline, Sent
from groundwire.scorer.judges.config import OPENAI_URL, DecisionJudgeConfig, LLMJudgeConfig
from groundwire.scorer.judges.dialect import REASONING_ROOM, Dialect, reasons
from groundwire.scorer.judges.faults import Fault, fault_of, fault_of_status
from groundwire.scorer.judges.wire import Answer, Question, body_of, read_answer
from groundwire.scorer.prices import token_bound
from groundwire.scorer.spend import Account

__all__ = ["Endpoint", "bill_of", "failure_of", "gives_up", "http_client"]

MOST_LESSONS = 8
"""Requests that one call may have turned down before it is given up."""
CONNECT_SECONDS = 10.0
CEILING_MARGIN = 0.9
"""A prompt nearly as long as one that was too long isn't tried: other words may take more tokens."""


def bill_of(question: Question) -> Bill:
    """The most that a call with that question can use."""
    return Bill(
        input_tokens=question.size + token_bound((), messages=len(question.turns) + 1), output_tokens=question.limit
    )


def http_client(config: LLMJudgeConfig | DecisionJudgeConfig) -> Any:
    """An `httpx2.AsyncClient` as the configuration has it; it reads nothing from the environment.

    Raises `ConfigError` for a CA bundle that can't be used. Only connecting has a timeout here: `Calls` has the rest.
    """
    import ssl

    import httpx2

    verify: ssl.SSLContext | bool = True
    if config.ca_bundle is not None:
        try:
            verify = ssl.create_default_context(cafile=str(config.ca_bundle))
        except (OSError, ssl.SSLError):
            raise ConfigError(f"ca_bundle: {config.ca_bundle} holds no PEM certificates") from None
    return httpx2.AsyncClient(
        verify=verify,
        proxy=config.proxy.get_secret_value() if config.proxy else None,
        trust_env=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=config.concurrency),
        follow_redirects=False,
    )


@dataclass(kw_only=True)
class Endpoint:
    """Where an `llm` judge's questions go."""

    config: LLMJudgeConfig
    calls: Calls
    dialect: Dialect = field(default_factory=Dialect)
    _client: Any = None

    def __post_init__(self) -> None:
        if reasons(self.config.model):
            self.dialect.room = REASONING_ROOM
        if self.config.azure is None and self.config.endpoint == OPENAI_URL:
            self.dialect.limit_name = "max_completion_tokens"

    async def ask(
        self,
        question: Question,
        account: Account,
        deadline: Deadline,
        keep: Callable[[Answer], Mapping[str, str] | None],
    ) -> Answer:
        """The answer to one question; `keep` names the cache entries it is worth.

        Raises `Fault` and `OverBudget` as `Calls.make`, and `GiveUp` where no later call can succeed.
        """
        size = question.size
        if size >= self.dialect.prompt_ceiling:
            raise Fault("overflow")
        for _ in range(MOST_LESSONS):
            async with self.dialect.learning():
                mode = self.dialect.output
                body = body_of(question, self.config, self.dialect, mode)

                async def send(body: dict[str, Any] = body) -> Sent[Answer]:
                    answer = await self._send(body)
                    return Sent(value=answer, usage=answer.usage, keep=keep(answer))

                try:
                    sent = await self.calls.make(send, bill_of(question), account, deadline)
                except Fault as fault:
                    if self.dialect.learn(fault, mode, body):
                        continue
                    if fault.kind == "overflow":
                        self.dialect.prompt_ceiling = min(self.dialect.prompt_ceiling, size * CEILING_MARGIN)
                    if (line := gives_up(fault, self.config)) is not None:
                        raise GiveUp(line) from None
                    raise
                self.dialect.succeeded()
            if sent.value.model and sent.value.model != self.config.model:
                self.dialect.snapshot = sent.value.model[:100]
            return sent.value
        raise Fault("rejected")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _send(self, body: dict[str, Any]) -> Answer:
        import httpx2

        client = self._client = self._client or self._connect()
        path = "/responses" if self.config.api == "responses" else "/chat/completions"
        try:
            # The SDK's typed methods walk the body and the reply once more; both are ours to write and to check.
            response = await client.post(path, body=body, cast_to=httpx2.Response)
        except Exception as error:
            fault = fault_of(error, datetime.now(UTC))
            if fault is None:
                raise
            raise fault from None
        answer = read_answer(response.content, self.config.api)
        if answer is None:
            raise _fault_within(response.content)
        return answer

    def _connect(self) -> Any:
        import openai

        config = self.config
        key = config.api_key.get_secret_value() if config.api_key else "none"
        headers: dict[str, Any] = {name: value.get_secret_value() for name, value in config.headers.items()}
        # The SDK would otherwise take an organisation and a project from the environment.
        unset = {
            name: openai.Omit() for name in ("OpenAI-Organization", "OpenAI-Project") if name not in config.headers
        }
        shared: dict[str, Any] = {
            "api_key": key,
            "organization": "",
            "project": "",
            "max_retries": 0,
            "default_headers": {**unset, **headers},
            "http_client": http_client(config),
        }
        if config.azure is not None:
            return openai.AsyncAzureOpenAI(
                azure_endpoint=cast("str", config.base_url),
                azure_deployment=config.azure.deployment,
                api_version=config.azure.api_version,
                **shared,
            )
        return openai.AsyncOpenAI(base_url=config.endpoint, **shared)


def _fault_within(content: bytes) -> Fault:
    """The fault in a body that came with success and holds no answer: an error object, a web page, or a piece."""
    if content.lstrip()[:1] == b"<":
        return Fault("alien", status=200)
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        code = error.get("code")
        return fault_of_status(code if isinstance(code, int) and code >= 400 else 502, data, {}, datetime.now(UTC))
    return Fault("broken", status=200, billed=True, retried=True)


def _host(config: LLMJudgeConfig | DecisionJudgeConfig) -> str:
    return urlsplit(config.endpoint).netloc


def gives_up(fault: Fault, config: LLMJudgeConfig | DecisionJudgeConfig) -> str | None:
    """The line for a fault that no later call escapes; None for the others."""
    host = _host(config)
    match fault.kind:
        case "key":
            named: SecretStr | None = config.api_key
            what = "refused the key" if named else "wants a key"
            return f"judge: {host} {what} ({fault.status}); set api_key in its [judges] table, or OPENAI_API_KEY"
        case "model":
            return (
                f"judge: {host} has no model {config.model!r} for this ({fault.status}); set model to one that it lists"
            )
        case "quota":
            return f"judge: the quota at {host} is used up ({fault.status}); add credit there, or name another judge"
        case "tls":
            return (
                f"judge: no secure connection to {host}; set ca_bundle if its certificate is your own, or mend base_url"
            )
        case "alien":
            seen = f"answers {fault.status} with something else" if fault.status else "can't be called"
            return f"judge: {host} is no such endpoint ({seen}); set base_url to the API's root, often ending in /v1"
        case _:
            return None


def failure_of(fault: Fault, config: LLMJudgeConfig | DecisionJudgeConfig) -> Failure:
    """The outcome for a partition whose call gave no answer in the end."""
    host = _host(config)
    match fault.kind:
        case "refused":
            return Failure(status="unknown", reason="judge_refused", message=f"{host} declined to judge this text")
        case "busy":
            return Failure(
                status="error",
                reason="judge_rate_limited",
                message=f"{host} was busy ({fault.status}) until the deadline",
                retry_after=fault.after,
            )
        case "timeout":
            return Failure(
                status="error",
                reason="judge_timeout",
                message=f"{host} gave no answer in {config.timeout_seconds:g} s; raise timeout_seconds if it is slow",
            )
        case "unreachable":
            return Failure(status="error", reason="judge_unreachable", message=f"{host} can't be reached")
        case "overflow":
            return Failure(
                status="unknown", reason="low_coverage", message=f"{config.model}'s context is too small for this text"
            )
        case _:
            return Failure(
                status="error",
                reason="judge_failed",
                message=f"{host} failed{f' ({fault.status})' if fault.status else ''}",
                retry_after=fault.after,
            )
