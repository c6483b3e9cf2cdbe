"""What `groundwire doctor` says of a Langfuse project: host, clock, keys, rights, server generation, traffic."""

from collections.abc import Sequence
from datetime import timedelta

from groundwire.connectors.base import Finding
from groundwire.connectors.langfuse.generation import Generation, Server, read_version
from groundwire.connectors.langfuse.wire import Wire, iso
from groundwire.connectors.skew import clock_finding
from groundwire.scorer import GroundwireError

__all__ = ["findings"]

_REGIONS = {
    "EU": "https://cloud.langfuse.com",
    "US": "https://us.cloud.langfuse.com",
    "Japan": "https://jp.cloud.langfuse.com",
    "HIPAA": "https://hipaa.cloud.langfuse.com",
}
_WRITES = {"array": "in lists", "ingestion": "through /ingestion", "single": "one by one"}


async def findings(wire: Wire, server: Server, *, writes: bool) -> Sequence[Finding]:
    """Everything that can be told without writing; each finding ends the list where nothing further can be asked."""
    found: list[Finding] = []
    try:
        health = await server.health(accept=frozenset({503}))
    except GroundwireError as error:
        return [Finding(what="host", state="failed", message=f"{error}")]
    version = read_version(health.body.get("version"))
    shown = ".".join(str(part) for part in version) if version else "of an unknown version"
    if health.status == 503:
        found.append(Finding(what="host", state="warning", message=f"Langfuse {shown} says that it is not well (503)"))
    else:
        found.append(Finding(what="host", state="ok", message=f"Langfuse {shown} at {wire.settings.host}"))
    found.append(clock_finding(health.headers.get("date"), now=wire.now()))
    try:
        project = await wire.project()
    except GroundwireError as error:
        return [*found, Finding(what="keys", state="failed", message=_about_keys(wire, str(error)))]
    found.append(Finding(what="keys", state="ok", message=f"project {project.name or project.project_id}"))
    try:
        generation = await server.generation()
        found.append(_reading(generation))
        found.append(await (_scores(wire, generation) if writes else _traffic(wire, generation)))
    except GroundwireError as error:
        found.append(Finding(what="scores" if writes else "reading", state="failed", message=str(error)))
    limits = wire.settings.limits
    told = "no rate limit is assumed" if limits == "self-hosted" else f"rate limits of the plan {limits}"
    found.append(Finding(what="quota", state="ok", message=f"{told}; `plan` sets it"))
    return found


def _about_keys(wire: Wire, error: str) -> str:
    if "HTTP 403" in error:
        return "the keys may not read a project; use a project's keys, not the organization's"
    if "HTTP 401" in error and wire.settings.is_cloud:
        others = " or ".join(f"{host} ({name})" for name, host in _REGIONS.items() if host != wire.settings.host)
        return f"the keys are unknown in this region; check both keys, or set host to {others}"
    if "HTTP 401" in error:
        return "the keys are unknown to this server; check both keys and `host`"
    return error


def _reading(generation: Generation) -> Finding:
    by = "v2 observations" if generation.reads == "v2" else "the older traces endpoints, one request a trace"
    return Finding(
        what="server", state="ok", message=f"traces are read by {by}; scores are written {_WRITES[generation.writes]}"
    )


async def _scores(wire: Wire, generation: Generation) -> Finding:
    await wire.get(
        f"/{generation.scores}/scores",
        {"limit": 1},
        what="its scores",
        bucket="general" if generation.scores == "v3" else "legacy",
    )
    return Finding(what="scores", state="ok", message="scores can be read back")


async def _traffic(wire: Wire, generation: Generation) -> Finding:
    since = iso(wire.now() - timedelta(days=1))
    if generation.reads == "v2":
        answer = await wire.get(
            "/v2/observations", {"limit": 1, "fields": "core", "fromStartTime": since}, what="its observations"
        )
    else:
        answer = await wire.get(
            "/traces", {"limit": 1, "fields": "core", "fromTimestamp": since}, what="its traces", bucket="legacy"
        )
    if isinstance(answer.body, dict) and answer.body.get("data"):
        return Finding(what="traffic", state="ok", message="there are traces of the last 24 hours")
    return Finding(
        what="traffic",
        state="warning",
        message="the project has no traces of the last 24 hours; are these the keys of the project you look at?",
    )
