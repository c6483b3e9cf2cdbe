"""Whether the service lives, whether it can work, and what it counts: `/healthz`, `/readyz`, `/metrics`."""

import asyncio
from collections.abc import Iterator

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily
from pydantic import BaseModel
from sqlalchemy import Connection

from groundwire.jobs.store import cursors, deliveries, work
from groundwire.jobs.web.faults import FAULTS, Fault
from groundwire.jobs.web.served import Served
from groundwire.scorer import GroundwireError

__all__ = ["routes"]

STATE_WITHIN = 2.0
"""Seconds in which the state must answer for the service to be ready."""


class Health(BaseModel):
    """The answer while all is well."""

    status: str = "ok"


def routes(served: Served) -> APIRouter:
    """The routes, without a secret but for `/metrics`."""
    router = APIRouter(tags=["health"])
    store = served.service.store

    @router.get("/healthz")
    async def healthz() -> Health:
        """Whether the process answers."""
        return Health()

    @router.get("/readyz", responses={503: FAULTS[503]})
    async def readyz() -> Health:
        """Whether the state can be read."""
        try:
            async with asyncio.timeout(STATE_WITHIN):
                await store.read(cursors.places)
        except (TimeoutError, GroundwireError):
            raise Fault(503, "not_ready", "the state doesn't answer", retry_after=5) from None
        return Health()

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **FAULTS},
    )
    async def metrics() -> Response:
        """Counters of this process and gauges of the state, in Prometheus's text form."""
        gauges = await store.read(_gauges, served)
        registry = served.service.meter.registry
        text = generate_latest(registry) + generate_latest(_Collected(gauges))
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    return router


class _Collected:
    """Gauges as something that can be written."""

    def __init__(self, gauges: list[GaugeMetricFamily]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._gauges


def _gauges(tx: Connection, served: Served) -> list[GaugeMetricFamily]:
    service, now = served.service, served.service.clock()
    queue = GaugeMetricFamily("groundwire_queue", "Partitions that wait to be judged.", labels=["evaluator"])
    waiting: dict[str, int] = {}
    for (evaluator, state), n in work.tally(tx).items():
        if state in ("pending", "waiting", "judging"):
            waiting[evaluator] = waiting.get(evaluator, 0) + n
    for evaluator, n in waiting.items():
        queue.add_metric([evaluator], n)
    hooks = GaugeMetricFamily("groundwire_hook_queue", "Webhook deliveries that wait.", labels=["evaluator"])
    for evaluator, n in deliveries.waiting(tx).items():
        hooks.add_metric([evaluator], n)
    lag = GaugeMetricFamily("groundwire_lag_seconds", "How far a source has been read behind now.", labels=["source"])
    for place in cursors.places(tx):
        if place.source in service.settings.sources and place.reached is not None:
            lag.add_metric([place.source], max((now - place.reached).total_seconds(), 0.0))
    return [queue, hooks, lag]
