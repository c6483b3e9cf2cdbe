"""`groundwire serve`, and what `groundwire run` starts beside the polling where evaluators are attached."""

import asyncio
import socket
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from pydantic import JsonValue

from groundwire.jobs.admission import Evaluator
from groundwire.jobs.guarding import build_guard
from groundwire.jobs.intake import Intake
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.schedule import Beside, Runner
from groundwire.jobs.service import Service, open_service
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.store import runs
from groundwire.jobs.web import Served, build_application, listen, require_secrets, serve
from groundwire.scorer import Guard

__all__ = ["beside_polling", "run_serve"]


async def beside_polling(service: Service, evaluators: Sequence[Evaluator], intake: Intake) -> tuple[Beside, ...]:
    """The web service over these evaluators and the guard, its socket taken, and the intake of what it stores.

    Raises `ConfigError`: a secret is missing, a platform sends no webhooks, the address is taken.
    """
    guard = build_guard(service)
    served = Served(
        service=service,
        evaluators={evaluator.spec.name: evaluator for evaluator in evaluators},
        loop=asyncio.get_running_loop(),
        guard=guard,
    )
    app = build_application(served, arrived=intake.arrived)
    return partial(_answer, app, listen(service.settings.service), guard), intake.run


async def _answer(app: FastAPI, listening: socket.socket, guard: Guard | None, stop: asyncio.Event) -> None:
    """Answer until `stop` is set; then the guard ends what it has begun, late judges and records."""
    await serve(app, listening, stop)
    if guard is not None:
        await guard.close()


def run_serve(config: Path | None) -> int:
    """Answer over HTTP and judge what webhooks deliver, until stopped; what isn't attached isn't polled."""
    settings = load_settings(config)
    configure_logs(form=settings.log.format, level=settings.log.level)
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    async with open_service(settings) as service:
        require_secrets(service)
        evaluators = [await service.evaluator(spec) for spec in settings.evaluators]
        hooked = [evaluator for evaluator in evaluators if evaluator.spec.attach == "webhook"]
        run_id = f"serve-{uuid.uuid4().hex[:12]}"
        intake = Intake(service, hooked, run_id=run_id)
        runner = Runner(service, hooked, run_id=run_id)
        beside = await beside_polling(service, evaluators, intake)
        names: list[JsonValue] = [evaluator.spec.name for evaluator in hooked]
        await service.store.write(runs.start, run_id, command="serve", args={"evaluators": names}, now=service.clock())
        stopped = True
        try:
            await runner.forever(beside=beside)
            stopped = bool(runner.stopped or runner.stopped_evaluators or intake.stopped)
        finally:
            total = runner.total + intake.total
            await service.store.write(runs.note, run_id, counts=total.by_status, micro_dollars=total.micro_dollars)
            await service.store.write(runs.end, run_id, outcome="failed" if stopped else "done", now=service.clock())
        return 1 if stopped else 0
