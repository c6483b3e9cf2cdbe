"""What the routes of the web service share: the configuration's evaluators, and the judge of all other requests."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.service import REQUESTS, Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.web.faults import Fault
from groundwire.scorer import Account, ConfigError, Guard, Metric, Partition, Row

__all__ = ["Served", "require_secrets"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Served:
    """One running service, as its routes see it."""

    service: Service
    evaluators: Mapping[str, Evaluator]
    """By name."""
    loop: asyncio.AbstractEventLoop | None = None
    """Where the judges live; None where that is the loop of the routes."""
    guard: Guard | None = None
    """Checks answers, where one is configured."""
    metric: Metric = field(init=False)
    """What scores requests that name no evaluator."""
    _begun: set[asyncio.Task[Any]] = field(default_factory=set)

    def __post_init__(self) -> None:
        spec = self.service.settings.service
        own = EvaluatorSpec(name="service", source="", judge=spec.judge, cap=spec.cap)
        object.__setattr__(self, "metric", self.service.metric(own))

    def chosen(self, name: str | None) -> tuple[Metric, Account]:
        """The metric that scores a request, and on whose account it spends. Raises `Fault`.

        Without a name it is the service's own judge.
        """
        if name is None:
            return self.metric, Account(evaluator=REQUESTS)
        evaluator = self.evaluators.get(name)
        if evaluator is None:
            known = ", ".join(sorted(self.evaluators)) or "none"
            raise Fault(404, "no_such_evaluator", f"no evaluator of that name is served; there are: {known}")
        return evaluator.metric, Account(evaluator=name)

    async def scored(self, metric: Metric, partition: Partition, account: Account) -> Row:
        """The row of a partition, counted; runs where the judges live. Raises as the metric does."""
        row = await metric.score(partition, account=account)
        self.service.meter.row(account.evaluator, row)
        return row

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Begin something that asks a judge, in the event loop where the judges live.

        That may be another than the caller's, so that a request is answered in time whatever the judges do. Who
        waits no longer doesn't end it.
        """
        here = asyncio.get_running_loop()
        if self.loop is None or self.loop is here:
            task = here.create_task(work)
            self._begun.add(task)
            task.add_done_callback(self._begun.discard)
            return task
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop), loop=here)


def require_secrets(service: Service) -> None:
    """Raise `ConfigError` where the service lacks a secret that it needs: it would be open to anybody."""
    settings = service.settings
    if settings.service.token is None:
        raise ConfigError('the web service needs a secret: set service.token = "${GROUNDWIRE_TOKEN}"')
    attached = [evaluator.name for evaluator in settings.evaluators if evaluator.attach == "webhook"]
    if attached and settings.service.hook_secret is None:
        raise ConfigError(
            f"{attached[0]!r} is attached by webhook, which needs a secret: "
            'set service.hook_secret = "${GROUNDWIRE_HOOK_SECRET}"'
        )
    for name in attached:
        if service.connector(settings.evaluator(name).source).hook is None:
            platform = settings.sources[settings.evaluator(name).source].platform
            raise ConfigError(f"evaluators.{name}.attach: {platform} sends no webhooks; leave it out")
