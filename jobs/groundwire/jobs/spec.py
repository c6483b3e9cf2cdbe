"""What a user writes: judges, sources, evaluators, caps, as pydantic models of `groundwire.toml`."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SecretStr,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from groundwire.scorer import (
    ConfigError,
    EvidencePolicy,
    Given,
    GuardRule,
    GuardRules,
    KindRule,
    MetricConfig,
    MetricName,
    MetricSettings,
    RootRule,
    Signals,
    metric_kind,
    micro_dollars,
    read_guard,
)

__all__ = [
    "Cap",
    "EvaluatorSpec",
    "GuardSpec",
    "Per",
    "ServiceSpec",
    "SourceSpec",
    "SpanWhere",
    "StateSpec",
    "Stratum",
    "Where",
]

WEIGHED = frozenset({"agent.hallucination"})
"""The metrics that score a span by its dimensions and give it no label."""
NAME = r"^[A-Za-z0-9_.() -]{1,35}$"
"""What a score can be called on every platform."""
SETTINGS = (
    "given",
    "evidence_policy",
    "recheck",
    "min_coverage",
    "kinds",
    "root",
    "prompts_dir",
    "max_prompt_chars",
)
"""The fields of an evaluator that are its metric's settings, of the metrics that have them."""
Per = Literal["trace", "run", "hour", "day", "week", "month"]
"""What a cap holds for. Windows are UTC; a week begins on Monday."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _seconds(value: Any) -> Any:
    """`90`, `"90s"`, `"1m"`, `"1h 30m"` or `"7d"` as seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if not isinstance(value, str):
        return value
    text = value.strip()
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        raise ValueError('a duration is a number of seconds or text like "90s", "1m", "2h" or "7d"')
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _list(value: Any) -> Any:
    return (value,) if isinstance(value, str | dict) else value


Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]
Strings = Annotated[tuple[str, ...], BeforeValidator(_list)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)


class Cap(_Strict):
    """Money that is never passed: `{ usd = 5.00, per = "day" }`."""

    usd: float = Field(ge=0, allow_inf_nan=False)
    """US dollars."""
    per: Per
    """trace, run, hour, day, week or month."""

    @property
    def micro_dollars(self) -> int:
        """The cap in micro-dollars, rounded down so that the cap is never passed."""
        return micro_dollars(self.usd)


Caps = Annotated[tuple[Cap, ...], BeforeValidator(_list)]


class SpanWhere(_Strict):
    """Which model calls of a trace, at span level."""

    name: Strings = ()
    """The span's name."""
    model: Strings = ()
    """The model that was called."""
    has_error: bool | None = None
    """Whether the call failed."""


class Where(_Strict):
    """Which traces: every field that is set must hold. Text fields take one value or a list, `*` is a wildcard."""

    environment: Strings = ()
    """The deployment environment of the root."""
    tags: Strings = ()
    """Tags that must all be there."""
    name: Strings = ()
    """The trace's name."""
    user: Strings = ()
    """The user's id."""
    session: Strings = ()
    """The session's or thread's id."""
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Metadata keys with the value they must have."""
    release: Strings = ()
    """The application's release."""
    model: Strings = ()
    """A model that any span called."""
    level: Annotated[tuple[Literal["DEBUG", "DEFAULT", "WARNING", "ERROR"], ...], BeforeValidator(_list)] = ()
    """The highest level of the trace's spans (Langfuse)."""
    min_duration: Seconds | None = None
    """Least duration of the trace."""
    max_duration: Seconds | None = None
    """Most duration of the trace."""
    has_error: bool | None = None
    """Whether any span failed."""
    span: SpanWhere | None = None
    """At span level, which of the trace's model calls."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the trace that are set, metadata keys by name."""
        names = [name for name in sorted(self.model_fields_set) if getattr(self, name) not in ((), None, {})]
        plain = [name for name in names if name not in ("metadata", "span")]
        return (*plain, *(f"metadata.{key}" for key in sorted(self.metadata)))


class Stratum(_Strict):
    """Traces that are sampled at a rate of their own; where several hold, the highest rate counts."""

    sample: float = Field(ge=0, le=1)
    """Rate, 0 to 1."""
    errors: bool = False
    """Traces with a failed span."""
    negative_feedback: Strings = ()
    """Names of feedback, as people's votes are called; traces where the mean of one was 0 or less when they were read
    (LangSmith)."""
    tags: Strings = ()
    """Traces with any of these tags."""
    where: Where | None = None
    """Any other filter."""

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if not (self.errors or self.negative_feedback or self.tags or self.where):
            raise ValueError("a stratum needs errors, negative_feedback, tags or where")
        return self


class EvaluatorSpec(_Strict):
    """A configured use of a metric."""

    name: str = Field(pattern=NAME)
    """The score's name on the platform: at most 35 letters, digits, `_ . ( ) -` and spaces."""
    source: str
    """The source that its traces come from and its scores go to."""
    metric: MetricName = "agent.hallucination"
    """The metric; `groundwire manifest` lists them."""
    level: Literal["span", "trace", "session"] = "trace"
    """What is scored: model calls, traces, or sessions (threads) as they stand after their last turn."""
    where: Where = Field(default_factory=Where)
    """Which traces."""
    when: Literal["needs_fact_check"] | None = None
    """Judge only where the request needs facts: its words tell, else the evaluator's judge is asked. What needs none
    is counted and gets no row; what nobody can tell is judged."""
    sample: float = Field(default=1.0, ge=0, le=1)
    """Share of the traces that is judged; stable and nested."""
    strata: tuple[Stratum, ...] = ()
    """Rates of their own for some traces."""
    cap: Caps = ()
    """One cap or several."""
    on_cap: Literal["skip", "wait"] = "skip"
    """At the cap: `skip` records what was skipped, `wait` judges it when the window rolls."""
    every: Seconds = 60.0
    """How often the source is polled; the shortest of a source's evaluators counts."""
    attach: Literal["webhook", "decision"] | None = None
    """How the platform calls it, beside or in place of polling: `webhook` (a rule's deliveries, and a slow poll for
    what was never delivered) or `decision` (the platform asks it as a decision model and keeps the score itself)."""
    judge: str = "default"
    """A judge of `[judges]`; `offline` is always there, and is the default where no `[judges.default]` is."""
    settle: Seconds = 60.0
    """Quiet time after the last change before a trace is judged."""
    idle: Seconds = 600.0
    """At session level, quiet time after the last turn before a session is judged; a later turn has it judged again."""
    max_wait: Seconds = 3600.0
    """A trace that hasn't completed by then is `unknown: incomplete`."""
    max_attempts: int = Field(default=5, ge=1)
    """How often a retryable error is tried before it is final."""
    config: SerializeAsAny[MetricConfig] = Field(default_factory=lambda data: metric_kind(data["metric"]).config())
    """The metric's own configuration."""
    given: Annotated[tuple[Given, ...] | None, BeforeValidator(_list)] = None
    """Which of the user's words and the provided content is citable; `[]` is the strict reading. Unset,
    `agent.hallucination` takes both and `unsupported_spans` neither."""
    evidence_policy: EvidencePolicy = "head"
    """`head` or `relevant`; not of `conversation.hallucination`."""
    recheck: bool = False
    """Ask again about claims found wanting while evidence was cut (`agent.hallucination`)."""
    min_coverage: float = Field(default=0.0, ge=0, le=1)
    """Least share of the evidence the judge must see."""
    kinds: tuple[KindRule, ...] = ()
    """Rules that re-kind spans."""
    root: RootRule | None = None
    """The subtree to judge."""
    prompts_dir: Path | None = None
    """A folder of prompts that replace the package's own."""
    max_prompt_chars: int = Field(default=32_000, ge=4_000)
    """Most characters of one prompt."""
    write_status: bool = False
    """Also write `<name>.status` for what was unknown or invalid."""
    write_label: bool = False
    """Also write `<name>.label`, a category: `hallucinated` or `grounded`, or what a code grader calls it."""
    write_dimensions: bool = False
    """At span level, also write each dimension as a number: `<name>.numeric`, `<name>.categorical`,
    `<name>.no_fabrication`, `<name>.completeness`."""

    @model_validator(mode="after")
    def _writes_what_there_is(self) -> Self:
        weighed = self.metric in WEIGHED and self.level == "span"
        if self.write_dimensions and not weighed:
            raise ValueError("write_dimensions needs agent.hallucination at span level; nothing else has dimensions")
        if self.write_label and weighed:
            raise ValueError("write_label: agent.hallucination has no label at span level; use write_dimensions")
        return self

    @field_validator("config", mode="before")
    @classmethod
    def _of_the_metric(cls, value: Any, info: ValidationInfo) -> Any:
        """The configuration that the metric has."""
        model = None if "metric" not in info.data else metric_kind(info.data["metric"]).config
        if model is None or not isinstance(value, dict):
            return value
        try:
            return model.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                raise ValueError(f"{where}: no such key; there are {', '.join(model.model_fields)}") from None
            raise ValueError(f"{where}: {first['msg']}") from None

    @model_validator(mode="after")
    def _sets_what_there_is(self) -> Self:
        """Settings of other metrics are refused: they would do nothing."""
        kind = metric_kind(self.metric)
        for name in SETTINGS:
            if name in self.model_fields_set and name not in kind.settings.model_fields:
                raise ValueError(f"{name}: {self.metric} has no such setting")
        if "idle" in self.model_fields_set and self.level != "session":
            raise ValueError("idle: only sessions wait for it; set settle, or level to session")
        if self.where.span is not None and self.level != "span":
            raise ValueError('where.span chooses model calls; it needs level = "span"')
        return self

    @property
    def settings(self) -> MetricSettings:
        """The settings beside the metric's configuration."""
        model = metric_kind(self.metric).settings
        own = {name: getattr(self, name) for name in SETTINGS if name in model.model_fields}
        return model(**{name: value for name, value in own.items() if value is not None})


class GuardSpec(_Strict):
    """The guard: what is done about an answer that its grounding context doesn't support."""

    name: str = Field(default="guard", pattern=NAME)
    """The evaluator that checks are kept under, and the name of their score."""
    signals: Signals = Field(default_factory=Signals)
    """`fact_check` and `hallucination`, each a list of tables."""
    rules: tuple[GuardRule, ...] = ()
    """What is done, and when."""
    file: Path | None = None
    """A semantic router's configuration (YAML, JSON or TOML) in place of `signals` and `rules`: its signals and its
    guard's rules are read."""
    router: dict[str, Any] | None = None
    """That configuration itself."""
    recipe: str | None = None
    """The router's recipe, where there are several."""
    decision: str | None = None
    """The recipe's decision, where several have a guard."""
    judge: str = "default"
    """The judge of signals that name no `deployment`."""
    cap: Caps = ()
    """Caps over all checks; beyond, what is asked is unknown."""
    record: bool = True
    """Keep every check as a row."""
    source: str | None = None
    """Where the scores of checks go whose trace is known; none are written without it."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.router is not None and (self.rules or self.signals != Signals()):
            raise ValueError("signals and rules stand in the router's configuration, or here; not in both")
        if self.source is not None and not self.record:
            raise ValueError("source: scores are made of records; leave record out")
        try:
            self.read()
        except ConfigError as error:
            raise ValueError(str(error).removeprefix("guard: ")) from None
        return self

    def read(self) -> tuple[GuardRules, tuple[str, ...]]:
        """The rules, and a line for each key that is a router's own. Raises `ConfigError`."""
        if self.router is not None:
            return read_guard(self.router, recipe=self.recipe, decision=self.decision)
        data = self.model_dump(include={"signals", "rules"})
        return read_guard(data)


class ServiceSpec(_Strict):
    """The web service that `groundwire serve` starts, and `groundwire run` where an evaluator is attached."""

    host: str = "127.0.0.1"
    """The address that it listens on; anything but a loopback address is open to the network."""
    port: int = Field(default=8700, ge=0, le=65_535)
    """The port; 0 takes a free one."""
    token: SecretStr | None = Field(default=None, min_length=16)
    """What callers of `/v1/…` and `/metrics` send as `Authorization: Bearer …`; the service needs one."""
    hook_secret: SecretStr | None = Field(default=None, min_length=16)
    """What webhooks send as `Authorization: Bearer …`; needed where an evaluator is attached by webhook."""
    judge: str = "default"
    """The judge of requests that name no evaluator."""
    cap: Caps = ()
    """Caps over all requests that name no evaluator."""
    body_limit: int = Field(default=20_000_000, ge=1_000, le=200_000_000)
    """Bytes of a request's body; a longer one is answered with 413."""
    queue: int = Field(default=10_000, ge=1)
    """Webhook deliveries that wait at most; beyond, the answer is 503 and the platform tries again."""
    deadline: Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=600)] = 8.0
    """Time in which a decision is answered, whatever the judge does; callers give up after ten seconds or so."""
    reconcile: Annotated[float, BeforeValidator(_seconds), Field(ge=1)] = 900.0
    """How often the source of an attached evaluator is polled for what was never delivered."""


class SourceSpec(BaseModel):
    """A project on a platform; beside `platform` stand the connector's own settings."""

    model_config = ConfigDict(frozen=True, extra="allow", use_attribute_docstrings=True)

    platform: str
    """langfuse, files, … or the dotted path of a connector (`package.module:name`)."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the connector reads."""
        return dict(self.model_extra or {})


class StateSpec(_Strict):
    """Where the state is kept, and for how long."""

    url: str = "sqlite:///.groundwire/state.db"
    """An SQLAlchemy URL: SQLite (one machine) or PostgreSQL (`postgresql://…`)."""
    keep: Annotated[float, BeforeValidator(_seconds), Field(gt=0), PlainSerializer(float)] = 30 * 86_400.0
    """How long text is kept before it is pruned; hashes, labels and offsets stay."""
    store_text: bool = True
    """False keeps no text at all."""
