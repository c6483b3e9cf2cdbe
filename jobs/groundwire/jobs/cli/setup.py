"""`groundwire init` and `groundwire doctor`: the first and the second thing to type."""

import asyncio
import sys
from importlib.resources import files
from pathlib import Path

import typer
from jinja2 import Environment, StrictUndefined
from rich.markup import escape
from rich.table import Table

from groundwire.connectors import Finding
from groundwire.jobs.cli.show import stdout
from groundwire.jobs.doctor import examine
from groundwire.jobs.logs import configure_logs
from groundwire.jobs.service import open_service
from groundwire.jobs.settings import load_settings
from groundwire.scorer import ConfigError

__all__ = ["PLATFORMS", "run_doctor", "run_init"]

PLATFORMS = ("files", "langfuse", "langsmith", "phoenix")
"""The platforms that `init` writes a configuration for."""
_MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "failed": "[red]failed[/]"}


def configuration_for(platform: str, *, write_status: bool) -> str:
    """A commented `groundwire.toml` for a platform. Raises `ConfigError` for one that it isn't known for."""
    if platform not in PLATFORMS:
        raise ConfigError(f"init knows {', '.join(PLATFORMS)}, not {platform!r}")
    text = (files("groundwire.jobs") / "templates" / "groundwire.toml").read_text(encoding="utf-8")
    template = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - it renders TOML, not HTML
    return template.from_string(text).render(platform=platform, write_status=write_status) + "\n"


def run_init(platform: str, out: Path, *, force: bool, write_status: bool | None) -> None:
    """Write the configuration, never over another without `--force`."""
    if out.exists() and not force:
        raise ConfigError(f"{out} is there already; --force writes over it, --out names another")
    if write_status is None:
        write_status = sys.stdin.isatty() and typer.confirm(
            "Also write a second score, <name>.status, that says why something has no score?", default=False
        )
    text = configuration_for(platform, write_status=write_status)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{out}: {error.strerror}") from None
    stdout.print(f"Wrote {out}. Next: groundwire doctor, groundwire try support-groundedness", markup=False)


def run_doctor(config: Path | None) -> int:
    """Check everything and say what to do; the exit code is 1 where something failed."""
    settings = load_settings(config)
    configure_logs(form=settings.log.format, level="error")

    async def findings() -> list[Finding]:
        async with open_service(settings) as service:
            return await examine(service)

    found = asyncio.run(findings())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("what", "state", "found"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(escape(one.what), _MARKS[one.state], escape(one.message))
    stdout.print(table)
    return 1 if any(one.state == "failed" for one in found) else 0
