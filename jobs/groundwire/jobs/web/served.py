"""What the routes of the web service share: the configuration's evaluators, and the judge of all other requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.service import REQUESTS, Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.web.faults import Fault
from groundwire.scorer import Account, ConfigError, Metric

__all__ = ["Served", "require_secrets"]


@dataclass(frozen=True, kw_only=True)
class Served:
    """One running service, as its routes see it."""

    service: Service
    evaluators: Mapping[str, Evaluator]
    """By name."""
    metric: Metric = field(init=False)
    """What scores requests that name no evaluator."""

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
