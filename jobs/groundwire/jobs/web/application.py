"""The web service as an application: its routes, one file a group, behind the gate."""

from collections.abc import Callable

from fastapi import FastAPI

from groundwire.jobs.web import faults, guard, health, hooks, scoring, systemone
from groundwire.jobs.web.gate import Gate
from groundwire.jobs.web.served import Served, require_secrets
from groundwire.scorer import package_version

__all__ = ["build_application"]


def build_application(served: Served, *, arrived: Callable[[], None] = lambda: None) -> FastAPI:
    """The application. Raises `ConfigError` where a secret is missing.

    `arrived` is told, from the loop of the routes, of every webhook's delivery that was stored.
    """
    require_secrets(served.service)
    settings = served.service.settings.service
    app = FastAPI(
        title="groundwire",
        version=package_version(),
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    faults.install(app)
    for group in (health, scoring, systemone, guard):
        app.include_router(group.routes(served))
    app.include_router(hooks.routes(served, arrived))
    api = tuple(one for one in (settings.token,) if one is not None)
    hook = tuple(one for one in (settings.hook_secret,) if one is not None)
    app.add_middleware(
        Gate,
        secrets={"/hooks/": hook, "/v1/": api, "/metrics": api, "/openapi.json": api},
        body_limit=settings.body_limit,
    )
    return app
