"""The long-lived objects: the state, the ledger, judges, sources and sinks, built once from the configuration."""

import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from groundwire.connectors import Annotations, Connector, Hook, Sessions, Sink, Source, load_connector
from groundwire.jobs.admission import Evaluator
from groundwire.jobs.cache import StoredCache
from groundwire.jobs.delivery import Mail
from groundwire.jobs.flow import At, Line, Watched, unwatched
from groundwire.jobs.ledger import Cap, StoredLedger
from groundwire.jobs.meter import Meter, Metered
from groundwire.jobs.settings import Settings, platform_defaults
from groundwire.jobs.spec import Cap as CapSpec
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import Store, cursors, open_store
from groundwire.scorer import (
    ConfigError,
    Judge,
    JudgeConfig,
    Ledger,
    Metric,
    MetricConfig,
    MetricSettings,
    OfflineJudgeConfig,
    build_judge,
    build_metric,
    metric_kind,
    require_price,
)

__all__ = ["REQUESTS", "Service", "open_service", "settings_of"]

REQUESTS = "[service]"
"""Under which name requests spend that name no evaluator; no evaluator can be called so."""

Clock = Callable[[], datetime]


def now_utc() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Service:
    """Everything that lives as long as the process. Sources and sinks are built when they are first asked for."""

    settings: Settings
    store: Store
    clock: Clock
    owner: str
    """This process, for leases."""
    at: At
    budget: int | None = None
    """Micro-dollars that a backfill may spend."""
    meter: Meter = field(default_factory=Meter)
    """What this process counts."""
    _sources: dict[str, Source] = field(default_factory=dict)
    _sinks: dict[str, Sink] = field(default_factory=dict)
    _judges: list[Judge] = field(default_factory=list)

    @property
    def ledger(self) -> StoredLedger:
        """The ledger with the configured caps."""
        return StoredLedger(
            store=self.store,
            caps={
                REQUESTS: _caps(self.settings.service.cap),
                **({self.settings.guard.name: _caps(self.settings.guard.cap)} if self.settings.guard else {}),
                **{evaluator.name: _caps(evaluator.cap) for evaluator in self.settings.evaluators},
            },
            everyone=_caps(self.settings.cap),
            budget=self.budget,
            clock=self.clock,
            keep_cache=self.settings.state.store_text,
        )

    def connector(self, source: str) -> Connector:  # type: ignore[type-arg]
        """The connector of a source of the configuration. Raises `ConfigError`."""
        return load_connector(self.settings.sources[source].platform)

    def source(self, name: str) -> Source:
        """A source of the configuration. Raises `ConfigError`."""
        if name not in self._sources:
            self._sources[name] = self.connector(name).build_source(
                settings_of(self.settings, name), at=f"sources.{name}"
            )
        return self._sources[name]

    def sink(self, name: str) -> Sink:
        """Where a source's scores go. Raises `ConfigError`."""
        if name not in self._sinks:
            self._sinks[name] = self.connector(name).build_sink(settings_of(self.settings, name), at=f"sources.{name}")
        return self._sinks[name]

    def hook(self, name: str) -> Hook:
        """What reads the webhooks of a source's platform. Raises `ConfigError`, also where it sends none."""
        return self.connector(name).build_hook(settings_of(self.settings, name), at=f"sources.{name}")

    def annotations(self, name: str) -> Annotations:
        """What people said on a source's platform; whoever asks closes it. Raises `ConfigError`."""
        return self.connector(name).build_annotations(settings_of(self.settings, name), at=f"sources.{name}")

    def judge_config(self, spec: EvaluatorSpec) -> JudgeConfig:
        """The configuration of an evaluator's judge; the offline rules where none is configured or asked."""
        if not metric_kind(spec.metric).judged:
            return OfflineJudgeConfig()
        return self.settings.judges.get(spec.judge) or OfflineJudgeConfig()

    def metric(self, spec: EvaluatorSpec, *, ledger: Ledger | None = None, concurrency: int | None = None) -> Metric:
        """An evaluator's metric, its judge spending through the ledger. Raises `ConfigError`."""
        judge = self._built(
            self.judge_config(spec), capped=bool(spec.cap), ledger=ledger, metric=spec.config, settings=spec.settings
        )
        metric = build_metric(
            spec.metric,
            judge=judge,
            config=spec.config,
            settings=spec.settings,
            clock=self.clock,
            max_concurrency=concurrency,
        )
        try:
            metric.require(spec.level)
        except ConfigError as error:
            raise ConfigError(f"evaluators.{spec.name}: {error}") from None
        return metric

    def judge(self, name: str, *, capped: bool) -> Judge:
        """A judge of the configuration, spending through the ledger. Raises `ConfigError`."""
        return self._built(self.settings.judges.get(name) or OfflineJudgeConfig(), capped=capped)

    def _built(
        self,
        config: JudgeConfig,
        *,
        capped: bool,
        ledger: Ledger | None = None,
        metric: MetricConfig | None = None,
        settings: MetricSettings | None = None,
    ) -> Judge:
        if capped or self.settings.cap or self.budget is not None:
            require_price(config)
        judge = build_judge(
            config,
            ledger=ledger or Metered(ledger=Watched(ledger=self.ledger, at=self.at), meter=self.meter),
            cache=StoredCache(store=self.store),
            metric=metric,
            settings=settings,
        )
        self._judges.append(judge)
        return judge

    async def evaluator(self, spec: EvaluatorSpec, *, live: bool = True) -> Evaluator:
        """An evaluator ready to score. Raises `ConfigError`.

        A live one begins when it is first started, where its platform keeps a history that a backfill can take up.
        """
        connector = self.connector(spec.source)
        connector.check_where(spec.where.fields, at=f"evaluators.{spec.name}.where")
        for stratum in spec.strata:
            at = f"evaluators.{spec.name}.strata"
            connector.check_where(stratum.where.fields if stratum.where else (), at=f"{at}.where")
            if stratum.negative_feedback and not connector.feedback:
                raise ConfigError(f"{at}.negative_feedback: {connector.name} traces bring no feedback; use tags")
        if spec.level == "session" and not isinstance(self.source(spec.source), Sessions):
            platform = self.settings.sources[spec.source].platform
            raise ConfigError(f'evaluators.{spec.name}.level: {platform} tells no sessions; use "trace" or "span"')
        begins = live and connector.starts == "now"
        since = await self.store.write(_started, spec.name, now=self.clock()) if begins else None
        return Evaluator(spec=spec, metric=self.metric(spec), since=since)

    def line(
        self,
        source: str,
        chosen: Sequence[Evaluator],
        *,
        run_id: str,
        live: bool = True,
        rate: float | None = None,
        rescore: bool = False,
    ) -> Line:
        """The line from a source through its evaluators."""
        return Line(
            name=source,
            project=source,
            source=self.source(source),
            evaluators=chosen,
            store=self.store,
            clock=self.clock,
            owner=self.owner,
            run_id=run_id,
            live=live,
            rate=rate,
            rescore=rescore,
            store_text=self.settings.state.store_text,
            at=self.at,
            told=self.meter.row,
        )

    def mail(self, source: str) -> Mail:
        """The way from the outbox to a source's platform."""
        return Mail(source=source, sink=self.sink(source), store=self.store, clock=self.clock, at=self.at)

    async def close(self) -> None:
        """Let go of everything, the state last."""
        for judge in self._judges:
            await judge.close()
        for source in self._sources.values():
            await source.close()
        for sink in self._sinks.values():
            await sink.close()
        await self.store.close()


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    clock: Clock = now_utc,
    at: At = unwatched,
    budget: int | None = None,
) -> AsyncIterator[Service]:
    """Open the state and build what the configuration names. Raises `ConfigError` and `RetryLater`."""
    _make_folder(settings.state.url)
    store = await open_store(settings.state.url)
    service = Service(settings=settings, store=store, clock=clock, owner=_owner(), at=at, budget=budget)
    try:
        yield service
    finally:
        await service.close()


def settings_of(settings: Settings, source: str) -> dict[str, object]:
    """What a source's connector reads: its table, and the platform's own variables for what the table lacks."""
    spec = settings.sources[source]
    given = spec.settings
    variables = load_connector(spec.platform).variables
    defaults = platform_defaults(variables.values())
    for name, variable in variables.items():
        if name not in given and variable in defaults:
            given[name] = defaults[variable]
    return given


def _started(tx: Connection, evaluator: str, *, now: datetime) -> datetime:
    """When an evaluator was first started: kept as a place of its own beside the sources'."""
    place = f"evaluator/{evaluator}"
    known = cursors.places(tx, place)
    if known and known[0].reached is not None:
        return known[0].reached
    cursors.acquire(tx, place, owner=place, now=now, until=now)
    cursors.advance(tx, place, {}, reached=now, owner=place, now=now)
    return now


def _owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def _make_folder(url: str) -> None:
    """The folder of the default SQLite file is made where it isn't there."""
    if url.startswith("sqlite:///"):
        folder = Path(url.removeprefix("sqlite:///")).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"state.url: {folder}: {error.strerror}") from None


def _caps(caps: Sequence[CapSpec]) -> list[Cap]:
    return [Cap(micro_dollars=cap.micro_dollars, per=cap.per) for cap in caps]
