"""How a judge is configured: one table `[judges.NAME]`, told apart by `kind`."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from groundwire.scorer.errors import ConfigError
from groundwire.scorer.redaction import Redact

__all__ = [
    "AzureConfig",
    "DecisionJudgeConfig",
    "JudgeConfig",
    "LLMJudgeConfig",
    "MetricParameters",
    "OfflineJudgeConfig",
    "PriceConfig",
    "from_systems_params",
    "judge_config_of",
    "read_judge_config",
]

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]

OPENAI_URL = "https://api.openai.com/v1"


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)


class PriceConfig(_Config):
    """What the judge's tokens cost, in US dollars per million; for models the price list doesn't know."""

    input: Dollars
    output: Dollars
    cached_input: Dollars | None = None
    """Unset, cached input costs as much as input."""


class AzureConfig(_Config):
    """An Azure OpenAI resource; `base_url` is then its endpoint (`https://NAME.openai.azure.com`)."""

    api_version: Text
    deployment: Text | None = None
    """Unset, the deployment is called as the model is."""


class OfflineJudgeConfig(_Config):
    """The offline rules: no network, no key, free."""

    kind: Literal["offline"] = "offline"
    """The offline rules."""


class _EndpointConfig(_Config):
    """What every judge behind an endpoint has."""

    model: Text
    api_key: SecretStr | None = None
    """The endpoint's key; of an LLM judge `OPENAI_API_KEY` unless given."""
    base_url: Text | None = None
    """The endpoint's address; OpenAI's unless given."""
    headers: Mapping[str, SecretStr] = Field(default_factory=dict)
    """Sent with every call beside the key."""
    ca_bundle: Path | None = None
    """PEM file of the authorities to trust instead of the usual ones."""
    proxy: SecretStr | None = None
    """`http://user:password@host:port`. The environment's proxy settings are not read."""
    timeout_seconds: float = Field(default=60.0, gt=0)
    """For one call with its retries; waiting for a free slot isn't counted."""
    partition_seconds: float = Field(default=900.0, gt=0)
    """For all calls about one partition."""
    concurrency: int = Field(default=10, ge=1)
    """Calls under way at once."""
    provider: Text | None = None
    """Whose price it is (`openai`, `anthropic`, `azure`, …), where `base_url` doesn't say."""
    price: PriceConfig | None = None
    """Instead of the price list."""
    redact: tuple[Redact, ...] = ()
    """What is replaced by stand-ins before text leaves the process."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        address = urlsplit(value)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("must be an address such as https://api.openai.com/v1")
        if address.username or address.password:
            raise ValueError("must not hold a password; use api_key or headers")
        return value.rstrip("/")

    @field_validator("ca_bundle")
    @classmethod
    def _is_a_file(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError("there is no such file")
        return value


class LLMJudgeConfig(_EndpointConfig):
    """A language model behind an OpenAI-compatible endpoint."""

    kind: Literal["llm"] = "llm"
    """A language model."""
    api: Literal["chat", "responses"] = "chat"
    """Chat completions, or OpenAI's Responses API."""
    azure: AzureConfig | None = None
    """An Azure OpenAI resource: `{ api_version = "…", deployment = "…" }`."""
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    """None sends none; models known to refuse one get none."""
    reasoning_effort: Text | None = None
    """`minimal`, `low`, `medium`, … for models that reason."""
    max_output_tokens: int = Field(default=8_192, ge=64)
    """Most tokens of one reply, reasoning included; a reply cut short is asked for once more with this limit."""
    language: Text = "en"
    """Of the prompts."""
    prompts_dir: Path | None = None
    """Its files replace the prompts of the same name."""

    @model_validator(mode="after")
    def _azure_has_an_endpoint(self) -> "LLMJudgeConfig":
        if self.azure is not None and self.base_url is None:
            raise ValueError("azure needs base_url, the resource's endpoint (https://NAME.openai.azure.com)")
        return self

    @property
    def endpoint(self) -> str:
        """The address in use."""
        return self.base_url or OPENAI_URL


class DecisionJudgeConfig(_EndpointConfig):
    """A System One decision model: it answers typed questions with probabilities and writes no text."""

    kind: Literal["decision"] = "decision"
    """A decision model."""
    base_url: Text
    timeout_seconds: float = Field(default=10.0, gt=0)

    @property
    def endpoint(self) -> str:
        """The address in use."""
        return self.base_url


def _kind_of(value: Any) -> str:
    kind = value.get("kind", "llm") if isinstance(value, Mapping) else getattr(value, "kind", "llm")
    return str(kind)


JudgeConfig = Annotated[
    Annotated[LLMJudgeConfig, Tag("llm")]
    | Annotated[OfflineJudgeConfig, Tag("offline")]
    | Annotated[DecisionJudgeConfig, Tag("decision")],
    Discriminator(
        _kind_of,
        custom_error_type="judge_kind",
        custom_error_message="kind must be llm, offline or decision",
    ),
]
"""`kind` is `llm` unless said otherwise."""


class MetricParameters(Protocol):
    """The fields of a metric's configuration that concern its judge; what isn't set there is the judge's own."""

    @property
    def model_fields_set(self) -> set[str]: ...

    @property
    def model(self) -> str | None: ...
    @property
    def judge_temperature(self) -> float: ...
    @property
    def language(self) -> str: ...
    @property
    def timeout_seconds(self) -> float: ...
    @property
    def concurrency_limit(self) -> int: ...


_ADAPTER: TypeAdapter[LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig] = TypeAdapter(JudgeConfig)


def read_judge_config(
    data: Mapping[str, Any], *, where: str = "judge"
) -> LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig:
    """A judge's configuration from data. Raises `ConfigError` with one line, without the values."""
    try:
        return _ADAPTER.validate_python(dict(data))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"] if part not in ("llm", "offline", "decision"))
        raise ConfigError(f"{where}: {f'{path}: ' if path else ''}{first['msg']}") from None


def from_systems_params(
    systems_params: Mapping[str, Any] | None,
) -> LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig:
    """The judge that `systems_params["evaluator_system"]["params"]` names; without a model there, the offline one.

    `judge_model`, `judge_api_key` go before `model`, `api_key`; `base_url` and every other field of the judge's
    configuration are read as they are.
    """
    system = (systems_params or {}).get("evaluator_system") or {}
    params = dict((system.get("params") if isinstance(system, Mapping) else None) or {})
    for plain, own in (("model", "judge_model"), ("api_key", "judge_api_key")):
        value = params.pop(own, None)
        if value is not None:
            params[plain] = value
    if not params.get("model") and params.get("kind") in (None, "offline"):
        return OfflineJudgeConfig()
    return read_judge_config(params, where="systems_params.evaluator_system.params")


def judge_config_of(
    metric: MetricParameters, systems_params: Mapping[str, Any] | None
) -> LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig:
    """The judge of `systems_params` with what the metric's configuration says about it."""
    system = dict((systems_params or {}).get("evaluator_system") or {})
    if metric.model is not None and system.get("params") is not None:
        system["params"] = {**system["params"], "model": metric.model}
        system["params"].pop("judge_model", None)
    return for_metric(from_systems_params({"evaluator_system": system}), metric)


def for_metric(
    config: LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig,
    metric: MetricParameters,
    prompts_dir: Path | None = None,
) -> LLMJudgeConfig | OfflineJudgeConfig | DecisionJudgeConfig:
    """The configuration with what the metric sets of model, temperature, language, timeout and concurrency."""
    if isinstance(config, OfflineJudgeConfig):
        return config
    said = {
        "model": ("model", metric.model),
        "timeout_seconds": ("timeout_seconds", metric.timeout_seconds),
        "concurrency_limit": ("concurrency", metric.concurrency_limit),
    }
    if isinstance(config, LLMJudgeConfig):
        said["language"] = ("language", metric.language)
        if config.temperature is not None:
            said["judge_temperature"] = ("temperature", metric.judge_temperature)
    set_there = metric.model_fields_set
    changes: dict[str, Any] = {
        own: value for name, (own, value) in said.items() if name in set_there and value is not None
    }
    if isinstance(config, LLMJudgeConfig) and prompts_dir is not None:
        changes["prompts_dir"] = prompts_dir
    return config.model_copy(update=changes)
