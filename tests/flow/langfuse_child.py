"""A process that backfills the loopback Langfuse and may be killed at a step; run by `test_langfuse_killed.py`."""

import asyncio
import os
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from groundwire.jobs.backfill import Backfill, Span, run_backfill
from groundwire.jobs.flow import Step
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import Settings


def run(
    folder: Path, configuration: dict[str, Any], asked: Span, newest_first: bool, days: int, step: str, nth: int
) -> None:
    """The whole life of the process, `days` after now by its own clock."""
    (folder / "pid").write_text(str(os.getpid()))
    asyncio.run(_main(Settings.model_validate(configuration), asked, newest_first, timedelta(days=days), step, nth))


async def _main(settings: Settings, asked: Span, newest_first: bool, ahead: timedelta, step: str, nth: int) -> None:
    seen: Counter[str] = Counter()

    def at(reached: Step) -> None:
        seen[reached] += 1
        if reached == step and seen[step] == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    [spec] = settings.evaluators
    async with open_service(settings, clock=lambda: datetime.now(UTC) + ahead, at=at) as service:
        evaluator = await service.evaluator(spec, live=False)
        backfill = Backfill(evaluator=spec, spans=(asked,), newest_first=newest_first)
        _, _, finished = await run_backfill(service, backfill, evaluator, told=lambda *_: None)
        assert finished
