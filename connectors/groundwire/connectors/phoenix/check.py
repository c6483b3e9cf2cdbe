"""What `groundwire doctor` says of a Phoenix project: host, version, clock, key, project, traffic."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from groundwire.connectors.base import Finding
from groundwire.connectors.phoenix.wire import Version, Wire, iso
from groundwire.connectors.skew import clock_finding
from groundwire.scorer import GiveUp, GroundwireError, RetryLater

__all__ = ["LISTED_SINCE", "ORDERED_SINCE", "findings"]

ORDERED_SINCE: Version = (20, 16, 0)
"""The first server that lists spans in the order in which they were stored."""
LISTED_SINCE: Version = (13, 15, 0)
"""The first server that lists traces with the heads of their spans."""


async def findings(wire: Wire, *, writes: bool) -> Sequence[Finding]:
    """Everything that can be told without writing; each finding ends the list where nothing further can be asked."""
    try:
        answer = await wire.get("/v1/projects", {"limit": 1}, what="its projects")
    except GiveUp as error:
        given = "check `api_key`" if wire.settings.key else "it has authentication switched on: set `api_key`"
        return [Finding(what="key", state="failed", message=f"{error}; {given}")]
    except GroundwireError as error:
        return [Finding(what="host", state="failed", message=f"{error}; check `host`")]
    if not isinstance(answer.body, Mapping) or not isinstance(answer.body.get("data"), list):
        return [Finding(what="host", state="failed", message=f"no Phoenix answers at {wire.settings.host}")]
    found = [_version(wire), clock_finding(answer.headers.get("date"), now=wire.now())]
    try:
        _, name = await wire.project()
        found.append(Finding(what="project", state="ok", message=f"project {name}"))
        if writes:
            # nothing bears such an identifier: the question is whether annotations can be asked for
            which: dict[str, str | int] = {"identifier": "groundwire:doctor", "limit": 1}
            await wire.get(await wire.project_path("trace_annotations"), which, what="its annotations")
            found.append(Finding(what="scores", state="ok", message="annotations can be read back"))
        else:
            found.append(await _traffic(wire))
    except RetryLater as error:
        names = ", ".join(sorted(name for _, name in (await _projects(wire)))[:10])
        there = f"; there are {names}" if names else ""
        found.append(Finding(what="project", state="failed", message=f"{error}; check `project`{there}"))
    except GroundwireError as error:
        found.append(Finding(what="project", state="failed", message=str(error)))
    return found


async def _projects(wire: Wire) -> Sequence[tuple[str, str]]:
    try:
        return await wire.projects()
    except GroundwireError:
        return ()


def _version(wire: Wire) -> Finding:
    host, version = wire.settings.host, wire.version
    if version is None:
        return Finding(what="host", state="warning", message=f"Phoenix of an unknown version at {host}")
    shown = f"Phoenix {'.'.join(str(part) for part in version)} at {host}"
    if version < LISTED_SINCE:
        return Finding(what="host", state="failed", message=f"{shown} lists no traces; upgrade it to 20.16 or newer")
    if version < ORDERED_SINCE:
        late = f"{shown} doesn't tell what came late: spans later than `lateness` are missed; upgrade it to 20.16"
        return Finding(what="host", state="warning", message=late)
    return Finding(what="host", state="ok", message=shown)


async def _traffic(wire: Wire) -> Finding:
    since: dict[str, str | int] = {"start_time": iso(wire.now() - timedelta(days=1)), "limit": 1}
    answer = await wire.get(await wire.project_path("traces"), since, what="its traces")
    if isinstance(answer.body, Mapping) and answer.body.get("data"):
        return Finding(what="traffic", state="ok", message="there are traces of the last 24 hours")
    return Finding(
        what="traffic",
        state="warning",
        message="the project has no traces of the last 24 hours; is `project` the one you look at?",
    )
