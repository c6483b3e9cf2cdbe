"""`POST /hooks/{platform}/{evaluator}`: what a platform's webhook sends, stored before it is answered."""

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel

from groundwire.connectors import Hook
from groundwire.jobs.store import deliveries
from groundwire.jobs.store.deliveries import Received
from groundwire.jobs.web.faults import FAULTS, Fault
from groundwire.jobs.web.served import Served
from groundwire.scorer import GroundwireError, SkipThis

__all__ = ["Taken", "routes"]

log = logging.getLogger(__name__)

STORED_WITHIN = 3.0
"""Seconds that the state has for a delivery; LangSmith counts an answer after 5 as lost, and a 503 before as to be
tried again."""
MOST_BYTES = 1_000_000_000
"""Bytes of deliveries that wait to be read."""
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object", "description": "What the platform sends."}}},
    }
}


class Taken(BaseModel):
    """The answer to a delivery."""

    traces: int
    """How many traces it speaks of."""


def routes(served: Served, arrived: Callable[[], None]) -> APIRouter:
    """The one route. `arrived` is told of every delivery that was stored."""
    router = APIRouter(tags=["hooks"])
    service = served.service
    settings = service.settings
    hooks = {
        (settings.sources[evaluator.spec.source].platform, name): service.hook(evaluator.spec.source)
        for name, evaluator in served.evaluators.items()
        if evaluator.spec.attach == "webhook"
    }

    @router.post(
        "/hooks/{platform}/{evaluator}", status_code=202, response_model=Taken, responses=FAULTS, openapi_extra=BODY
    )
    async def receive(
        request: Request,
        platform: Annotated[str, Path(description="`langsmith`.")],
        evaluator: Annotated[str, Path(description="An evaluator that is attached by webhook.")],
    ) -> Taken | Response:
        """202 once the delivery is stored, whatever the judge does; 503 while there is no room for it."""
        hook = hooks.get((platform, evaluator))
        if hook is None:
            raise Fault(404, "no_such_evaluator", "no evaluator of that name is attached by that platform's webhook")
        body = await request.body()
        traces = _traces_in(hook, request, body, evaluator)
        stored = await _stored(evaluator, body)
        service.meter.hooks.labels(evaluator, stored).inc()
        if stored == "full":
            raise Fault(503, "queue_full", "too many deliveries wait; try again", retry_after=30)
        arrived()
        return Taken(traces=traces)

    def _traces_in(hook: Hook, request: Request, body: bytes, evaluator: str) -> int:
        try:
            return len(hook.receive(dict(request.headers), body))
        except SkipThis as error:
            service.meter.hooks.labels(evaluator, "unusable").inc()
            log.warning("%s", error, extra={"action": "hook", "evaluator": evaluator})
            raise Fault(422, "unusable", str(error)) from None

    async def _stored(evaluator: str, body: bytes) -> Received:
        try:
            async with asyncio.timeout(STORED_WITHIN):
                return await service.store.write(
                    deliveries.receive,
                    evaluator,
                    body,
                    now=service.clock(),
                    most=settings.service.queue,
                    most_bytes=MOST_BYTES,
                )
        except (TimeoutError, GroundwireError):
            raise Fault(
                503, "state_unavailable", "the delivery could not be stored; try again", retry_after=30
            ) from None

    return router
