"""What `groundwire doctor` says of a LangSmith project: host, clock, key, region, workspace, generation, traffic."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from groundwire.connectors.base import Finding
from groundwire.connectors.langsmith.server import Server, read_version
from groundwire.connectors.langsmith.settings import REGIONS
from groundwire.connectors.langsmith.wire import Wire, iso
from groundwire.connectors.skew import clock_finding
from groundwire.scorer import GroundwireError

__all__ = ["findings"]

_RETENTION_FLAG_SINCE = (0, 9, 0)
"""Servers before it may extend a trace's retention at any feedback."""


async def findings(wire: Wire, server: Server, *, writes: bool) -> Sequence[Finding]:
    """Everything that can be told without writing; each finding ends the list where nothing further can be asked."""
    try:
        info = await server.info()
    except GroundwireError as error:
        return [Finding(what="host", state="failed", message=str(error))]
    version = read_version(info.body.get("version"))
    shown = ".".join(str(part) for part in version) if version else "of an unknown version"
    found = [
        Finding(what="host", state="ok", message=f"LangSmith {shown} at {wire.settings.host}"),
        clock_finding(info.headers.get("date"), now=wire.now()),
    ]
    refused = await _refusal(wire)
    if refused is not None:
        return [*found, Finding(what="key", state="failed", message=refused)]
    try:
        project = await server.project()
        found.append(Finding(what="key", state="ok", message=f"project {project.name or project.project_id}"))
        generation = await server.generation()
        by = "the v2 run queries" if generation.reads == "v2" else "the v1 run queries, which LangSmith is retiring"
        found.append(Finding(what="server", state="ok", message=f"runs are read by {by}"))
        if writes:
            await wire.get("/api/v1/feedback", {"session": project.project_id, "limit": 1}, what="its feedback")
            found.append(Finding(what="scores", state="ok", message="feedback can be read back"))
            found.append(_retention(wire, version, long_lived=project.long_lived))
        else:
            found.append(await _traffic(wire, project.project_id, v2=generation.reads == "v2"))
    except GroundwireError as error:
        found.append(Finding(what="project", state="failed", message=str(error)))
    return found


async def _refusal(wire: Wire) -> str | None:
    """Why the key opens nothing; None where it does."""
    try:
        answer = await wire.get(
            "/api/v1/sessions", {"limit": 1}, what="its projects", accept=frozenset({401, 403, 404})
        )
    except GroundwireError as error:
        return str(error)
    if answer.ok or answer.status == 404:
        return None
    settings = wire.settings
    said = str(answer.body.get("error") or answer.body.get("detail")) if isinstance(answer.body, Mapping) else ""
    if "workspace" in said:
        return "the key spans several workspaces; set `workspace` to the id of the one that is meant"
    if answer.status == 401:
        return "the key is unknown to this server; check `api_key` and `host`"
    if settings.is_cloud:
        others = " or ".join(f"{host} ({name})" for name, host in REGIONS.items() if host != settings.host)
        return (
            "the key may not read here (403): most often it belongs to another region; set `host` to "
            f"{others}, or check that the key's role may read runs and write feedback"
        )
    return "the key may not read here (403); check its role, `host` and `workspace`"


def _retention(wire: Wire, version: tuple[int, int, int] | None, *, long_lived: bool) -> Finding:
    if long_lived:
        return Finding(
            what="retention", state="ok", message="the project keeps its traces for the extended time anyway"
        )
    if version is not None and version < _RETENTION_FLAG_SINCE and not wire.settings.is_cloud:
        return Finding(
            what="retention",
            state="warning",
            message="a server this old may extend a trace's retention with any score; upgrade it, or sample",
        )
    if wire.settings.extend_trace_retention:
        return Finding(
            what="retention",
            state="warning",
            message="extend_trace_retention is on: every score moves its trace to the extended, dearer retention",
        )
    return Finding(what="retention", state="ok", message="scores leave the retention of traces alone")


async def _traffic(wire: Wire, project_id: str, *, v2: bool) -> Finding:
    since, now = iso(wire.now() - timedelta(days=1)), iso(wire.now())
    if v2:
        answer = await wire.post(
            "/api/v2/runs/query",
            {
                "project_ids": [project_id],
                "is_root": True,
                "min_start_time": since,
                "max_start_time": now,
                "page_size": 1,
                "selects": ["ID"],
            },
            what="its runs",
            bucket="query",
        )
    else:
        answer = await wire.post(
            "/api/v1/runs/query",
            {"session": [project_id], "is_root": True, "start_time": since, "limit": 1, "select": ["id"]},
            what="its runs",
            bucket="query",
        )
    listed = answer.body.get("items", answer.body.get("runs")) if isinstance(answer.body, Mapping) else None
    if listed:
        return Finding(what="traffic", state="ok", message="there are traces of the last 24 hours")
    return Finding(
        what="traffic",
        state="warning",
        message="the project has no traces of the last 24 hours; is `project` the one you look at?",
    )
