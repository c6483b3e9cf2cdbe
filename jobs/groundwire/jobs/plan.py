"""A plan: what a backfill would come to, from the traces themselves and without one judge call."""

from dataclasses import dataclass, field

from groundwire.connectors import Window
from groundwire.jobs.admission import Evaluator, admit, passed_over
from groundwire.jobs.backfill import Backfill, slices
from groundwire.jobs.fetching import partitions_now
from groundwire.jobs.flow import unwatched
from groundwire.jobs.service import Service
from groundwire.jobs.store import rows
from groundwire.jobs.store.work import work_key
from groundwire.scorer import Estimate, Partition

__all__ = ["Plan", "make_plan"]

MOST_ESTIMATED = 500
"""Partitions that are estimated one by one; what comes after them counts as their mean."""


@dataclass(kw_only=True)
class Plan:
    """What a backfill would come to."""

    traces: int = 0
    partitions: int = 0
    already: int = 0
    """Judged before with the same content."""
    invalid: dict[str, int] = field(default_factory=dict)
    """By rule."""
    remedies: dict[str, str] = field(default_factory=dict)
    to_judge: int = 0
    estimated: int = 0
    """Partitions that were estimated one by one."""
    outlook: Estimate = field(default_factory=Estimate)
    """Of those that were estimated."""

    def scaled(self, amount: int) -> int:
        """An amount of the estimated partitions for all that are to be judged."""
        return round(amount * self.to_judge / self.estimated) if self.estimated else 0


async def make_plan(service: Service, backfill: Backfill) -> Plan:
    """Look at every trace that the backfill would, and judge none. Raises as the source does."""
    evaluator = Evaluator(spec=backfill.evaluator, metric=service.metric(backfill.evaluator))
    plan = Plan()

    def wanted(head: object) -> bool:
        return passed_over(head, [evaluator], rate=backfill.sample) is None  # type: ignore[arg-type]

    source = service.source(backfill.evaluator.source)
    for piece in slices(backfill.spans, newest_first=backfill.newest_first):
        window = Window(start=piece.start, end=piece.end, newest_first=backfill.newest_first)
        async for page in source.pull(window, None, wanted=wanted):
            plan.traces += page.seen or len(page.traces)
            admission = admit(
                page.traces, [evaluator], now=service.clock(), at=unwatched, rate=backfill.sample, live=False
            )
            admitted = {arrival.partition_id for arrival in admission.arrivals}
            for trace in page.traces:
                found = await partitions_now(source, trace, evaluator) if admission.holds(trace.trace_id) else ()
                for partition in found:
                    if partition.partition_id in admitted:
                        await _count(service, evaluator, backfill, partition, plan)
                    if backfill.limit is not None and plan.partitions >= backfill.limit:
                        return plan
    return plan


async def _count(service: Service, evaluator: Evaluator, backfill: Backfill, partition: Partition, plan: Plan) -> None:
    plan.partitions += 1
    metric = evaluator.metric
    key = work_key(backfill.evaluator.name, partition.partition_type, partition.partition_id)
    content_hash = metric.content_hash(partition)
    before = await service.store.read(rows.history, key)
    if any(
        old.content_hash == content_hash
        and rows.is_judged(old.row.status, old.row.reason)
        and not (backfill.rescore and old.row.config_fingerprint != metric.fingerprint)
        for old in before
    ):
        plan.already += 1
        return
    broken = metric.broken(partition)
    if broken is not None:
        plan.invalid[broken.rule] = plan.invalid.get(broken.rule, 0) + 1
        plan.remedies.setdefault(broken.rule, broken.remedy)
        return
    plan.to_judge += 1
    if plan.estimated < MOST_ESTIMATED:
        plan.estimated += 1
        plan.outlook = plan.outlook + metric.outlook(partition)
