"""`groundwire attach`: what to do on a platform so that it calls an evaluator."""

import json
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

from groundwire.connectors import Attachment, load_connector
from groundwire.jobs.cli.show import stdout
from groundwire.jobs.service import settings_of
from groundwire.jobs.settings import Settings, load_settings
from groundwire.jobs.spec import EvaluatorSpec
from groundwire.scorer import ConfigError

__all__ = ["run_attach"]


def run_attach(
    platform: str, name: str, *, url: str | None, kind: str | None, body_only: bool, config: Path | None
) -> None:
    """Print the rule to create, as steps and as the request to the platform's API. Nothing is sent anywhere."""
    settings = load_settings(config)
    spec = settings.evaluator(name)
    source = settings.sources[spec.source]
    connector = load_connector(source.platform)
    if source.platform != platform:
        raise ConfigError(f"{name} reads {spec.source}, which is {source.platform} and not {platform}")
    if connector.attach is None:
        raise ConfigError(f"{platform} calls no evaluator; `groundwire run` polls it")
    way = _kind(kind or spec.attach or "webhook")
    found = connector.attach(
        connector.read_settings(settings_of(settings, spec.source), at=f"sources.{spec.source}"),
        Attachment(
            evaluator=name,
            path=quote(name, safe=""),
            kind=way,
            url=_address(settings, url),
            secret="$GROUNDWIRE_HOOK_SECRET" if way == "webhook" else "$GROUNDWIRE_TOKEN",
            where={key: value for key, value in spec.where if value not in ((), None, {}) and key != "span"},
            sample=spec.sample,
        ),
    )
    written = json.dumps(dict(found.body), indent=2, ensure_ascii=False)
    if body_only:
        stdout.print(written, markup=False, highlight=False, soft_wrap=True)
        return
    lines = [*(f"{number}. {step}" for number, step in enumerate(found.steps, start=1))]
    lines += ["", f"Or by its API: {found.request}", written, ""]
    lines += [*found.notes, *_missing(settings, spec, way)]
    stdout.print("\n".join(lines).rstrip(), markup=False, highlight=False, soft_wrap=True)


def _kind(text: str) -> Literal["webhook", "decision"]:
    if text not in ("webhook", "decision"):
        raise ConfigError(f"--as {text} is neither webhook nor decision")
    return "webhook" if text == "webhook" else "decision"


def _address(settings: Settings, url: str | None) -> str:
    """The service's address as the platform reaches it."""
    service = settings.service
    address = (url or f"http://{service.host}:{service.port}").rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"--url {address} is no address; write https://groundwire.example.com")
    return address


def _missing(settings: Settings, spec: EvaluatorSpec, kind: Literal["webhook", "decision"]) -> list[str]:
    """What the configuration still lacks for it."""
    lines = []
    if spec.attach != kind:
        lines.append(f'Set attach = "{kind}" on the evaluator, then start `groundwire run` or `groundwire serve`.')
    name, secret = (
        ("hook_secret", settings.service.hook_secret) if kind == "webhook" else ("token", settings.service.token)
    )
    if secret is None:
        variable = "GROUNDWIRE_HOOK_SECRET" if kind == "webhook" else "GROUNDWIRE_TOKEN"
        lines.append(f'Set service.{name} = "${{{variable}}}", a secret of at least 16 characters.')
    else:
        lines.append(f"The secret is the value of service.{name}; it isn't printed here.")
    return lines
