"""Our own description of the service, held against it with generated requests: no answer that it doesn't announce.

That a request of the right form is refused is no fault: a form can't say that a span is named that isn't there.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from tests.web.rig import API, HOOK, configured

from groundwire.jobs.service import Service, open_service
from groundwire.jobs.web import Served, build_application


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The description of an application whose state and judge live in a loop of their own, as they do when served."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    loop = asyncio.new_event_loop()
    opened = open_service(configured(folder))
    service: Service = loop.run_until_complete(opened.__aenter__())
    evaluator = loop.run_until_complete(service.evaluator(service.settings.evaluators[0]))
    app = build_application(Served(service=service, evaluators={evaluator.spec.name: evaluator}))
    try:
        yield schemathesis.openapi.from_asgi("/openapi.json", app, headers=API)
    finally:
        loop.run_until_complete(opened.__aexit__(None, None, None))
        loop.close()


OPERATIONS = {
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "POST /v1/score",
    "POST /v1/systemone",
    "POST /hooks/{platform}/{evaluator}",
}


def test_every_answer_is_one_that_the_description_knows(described: Any) -> None:
    operations = [found.ok() for found in described.get_all_operations()]
    assert {operation.label for operation in operations} >= OPERATIONS
    for operation in operations:

        @settings(
            max_examples=40,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(case=operation.as_strategy())
        def answered(case: Any) -> None:
            headers = HOOK if case.path.startswith("/hooks/") else API
            case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

        answered()
