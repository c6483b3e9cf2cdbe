"""What `groundwire doctor` says of a Langfuse project: each trouble by its name, with what mends it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp, served
from tests.connectors.langfuse_rows import NOON, Clock, agent_trace, settings_for, sink_for, source_for, wire_for
from typer.testing import CliRunner

from groundwire.connectors import Finding
from groundwire.connectors.langfuse import LangfuseSettings, LangfuseSource
from groundwire.jobs.cli import app as command


async def told(app: LangfuseApp, **settings: Any) -> dict[str, Finding]:
    """What both sides of the connector find, by what was looked at; the last one of a name counts."""
    clock = Clock(NOON)
    with served(app) as url:
        source, sink = source_for(url, clock, **settings), sink_for(url, clock, **settings)
        found: Sequence[Finding] = [*await source.check(), *await sink.check()]
        await source.close()
        await sink.close()
    assert all("\n" not in one.message and SECRET_KEY not in one.message for one in found)
    return {one.what: one for one in found}


async def test_unknown_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(LangfuseApp()) as url:
        read = settings_for(url).model_copy(update={"public_key": SecretStr("pk-lf-of-another-region")})
        for cloud in (False, True):
            monkeypatch.setattr(LangfuseSettings, "is_cloud", cloud)
            source = LangfuseSource(read, wire=wire_for(read, Clock(NOON)))
            found = {one.what: one for one in await source.check()}
            await source.close()
            assert found["keys"].state == "failed"
            assert "traffic" not in found
            if cloud:
                assert "unknown in this region" in found["keys"].message
                assert "https://us.cloud.langfuse.com (US)" in found["keys"].message
            else:
                assert found["keys"].message == "the keys are unknown to this server; check both keys and `host`"


async def test_an_organizations_key() -> None:
    found = await told(LangfuseApp(organization_key=True))
    assert found["keys"].state == "failed"
    assert "use a project's keys, not the organization's" in found["keys"].message


@pytest.mark.parametrize(("refused", "what"), [("GET /v2/observations", "reading"), ("GET /v3/scores", "scores")])
async def test_a_right_that_is_missing(refused: str, what: str) -> None:
    class Guarded(LangfuseApp):
        def _answer(self, request: Any, *rest: Any) -> Any:
            if refused.endswith(request.url.path.removeprefix("/api/public")):
                self.fail(403, body={"message": "Access denied - need to use basic auth with secret key"})
            return super()._answer(request, *rest)

    app = Guarded()
    agent_trace(app, 1, end=NOON)
    found = await told(app)
    assert found["keys"].state == "ok"
    assert found[what].state == "failed"
    assert "403" in found[what].message


@pytest.mark.parametrize(
    ("version", "mode", "reads", "writes"),
    [
        ("4.75.0", "events_only", "v2 observations", "in lists"),
        ("4.16.0", "dual", "v2 observations", "through /ingestion"),
        ("4.16.0", "legacy", "the older traces endpoints", "through /ingestion"),
        ("3.150.0", "v3", "the older traces endpoints", "through /ingestion"),
    ],
)
async def test_the_servers_generation(version: str, mode: str, reads: str, writes: str) -> None:
    found = await told(LangfuseApp(version=version, mode=mode))
    assert f"Langfuse {version} at http://127.0.0.1" in found["host"].message
    assert reads in found["server"].message
    assert f"scores are written {writes}" in found["server"].message
    assert (found["server"].state, found["scores"].state, found["quota"].state) == ("ok", "ok", "ok")


async def test_a_server_that_is_not_well() -> None:
    app = LangfuseApp()
    app.fail(503, body={"status": "error", "version": "4.75.0"})
    found = {one.what: one for one in await _source_alone(app)}
    assert (found["host"].state, "is not well" in found["host"].message) == ("warning", True)


async def _source_alone(app: LangfuseApp) -> Sequence[Finding]:
    with served(app) as url:
        source = source_for(url, Clock(NOON))
        found = await source.check()
        await source.close()
    return found


async def test_a_clock_that_is_off() -> None:
    found = await told(LangfuseApp())  # the test's clock stands still, the server's doesn't
    assert found["clock"].state == "warning"
    assert "set it by NTP" in found["clock"].message


def test_the_doctor_tells_it_from_the_command_line(tmp_path: Path) -> None:
    app = LangfuseApp()
    with served(app) as url:
        path = tmp_path / "groundwire.toml"
        path.write_text(
            f"""
            [sources.prod]
            platform = "langfuse"
            host = "{url}"
            public_key = "{PUBLIC_KEY}"
            secret_key = "{SECRET_KEY}"

            [[evaluators]]
            name = "g"
            source = "prod"

            [state]
            url = "sqlite:///{tmp_path / "state.db"}"
            """
        )
        well = CliRunner().invoke(command, ["doctor", "--config", str(path)], terminal_width=200)
        app.organization_key = True
        ill = CliRunner().invoke(command, ["doctor", "--config", str(path)], terminal_width=200)
    assert well.exit_code == 0, well.output
    for what in ("prod: host", "prod: clock", "prod: keys", "prod: server", "prod: scores", "prod: quota"):
        assert what in well.output
    assert ill.exit_code == 1
    assert "failed" in ill.output
    assert SECRET_KEY not in well.output + ill.output
