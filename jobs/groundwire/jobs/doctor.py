"""The doctor: everything that must be right before an evaluator can run, checked one by one."""

from collections.abc import Sequence

from groundwire.connectors import Finding
from groundwire.jobs.calibration import standing
from groundwire.jobs.service import Service
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.jobs.store import calibrations, outbox
from groundwire.scorer import GroundwireError, LLMJudge, metric_kind

__all__ = ["examine"]


async def examine(service: Service) -> list[Finding]:
    """What was found, in the order in which a user would mend it. Raises nothing."""
    findings = [_configuration(service), await _state(service)]
    judges = sorted({evaluator.judge for evaluator in service.settings.evaluators})
    findings += [await _judge(service, name) for name in judges]
    for name in sorted({evaluator.source for evaluator in service.settings.evaluators}):
        findings += await _source(service, name)
    for evaluator in service.settings.evaluators:
        try:
            await service.evaluator(evaluator, live=False)
        except GroundwireError as error:
            findings.append(Finding(what=f"evaluator {evaluator.name}", state="failed", message=str(error)))
        else:
            caps = ", ".join(f"${cap.usd:g} per {cap.per}" for cap in evaluator.cap) or "no cap"
            message = f"{evaluator.level} level, sample {evaluator.sample:g}, {caps}"
            findings.append(Finding(what=f"evaluator {evaluator.name}", state="ok", message=message))
            if metric_kind(evaluator.metric).judged:
                findings.append(await _calibration(service, evaluator))
    return findings


async def _calibration(service: Service, spec: EvaluatorSpec) -> Finding:
    """What is known of the judge's agreement with people."""
    what = f"calibration {spec.name}"
    try:
        metric = service.metric(spec)
        made = await service.store.read(calibrations.latest, spec.name, metric.fingerprint)
    except GroundwireError as error:
        return Finding(what=what, state="failed", message=str(error))
    judge = metric.judge.version.model_dump(mode="json")
    found = standing(made, judge=judge, fingerprint=metric.fingerprint, now=service.clock())
    if found is None:
        message = "never: `groundwire label` asks people, `groundwire calibrate` holds the judge against them"
        return Finding(what=what, state="ok", message=message)
    return Finding(what=what, state="warning" if found.stale else "ok", message=found.text)


def _configuration(service: Service) -> Finding:
    settings = service.settings
    if not settings.evaluators:
        message = "no [[evaluators]] yet; add one, `groundwire init` shows how"
        return Finding(what="configuration", state="warning", message=message)
    held = {"evaluator": settings.evaluators, "source": settings.sources, "judge": settings.judges}
    message = ", ".join(f"{len(found)} {name if len(found) == 1 else f'{name}s'}" for name, found in held.items())
    return Finding(what="configuration", state="ok", message=message)


async def _state(service: Service) -> Finding:
    try:
        tally = await service.store.read(outbox.tally)
    except GroundwireError as error:
        return Finding(what="state", state="failed", message=str(error))
    dead = sum(n for (_, state), n in tally.items() if state == "dead")
    if dead:
        message = (
            f"{service.store.where}: {dead} scores were refused by their platform; `groundwire retry` after mending"
        )
        return Finding(what="state", state="warning", message=message)
    return Finding(what="state", state="ok", message=service.store.where)


async def _judge(service: Service, name: str) -> Finding:
    spec = next(evaluator for evaluator in service.settings.evaluators if evaluator.judge == name)
    try:
        judge = service.metric(spec).judge
        if not isinstance(judge, LLMJudge):
            return Finding(what=f"judge {name}", state="ok", message=f"{judge.version.kind} {judge.version.model}")
        await judge.probe()
        if judge.price is None:
            message = f"{judge.version.model} answers, but its price isn't known: no cap can be kept; set price"
            return Finding(what=f"judge {name}", state="warning", message=message)
    except GroundwireError as error:
        return Finding(what=f"judge {name}", state="failed", message=str(error))
    return Finding(what=f"judge {name}", state="ok", message=f"{judge.version.model} answers and its price is known")


async def _source(service: Service, name: str) -> Sequence[Finding]:
    try:
        found = [*await service.source(name).check(), *await service.sink(name).check()]
    except GroundwireError as error:
        return [Finding(what=f"source {name}", state="failed", message=str(error))]
    return [Finding(what=f"{name}: {one.what}", state=one.state, message=one.message) for one in found]
