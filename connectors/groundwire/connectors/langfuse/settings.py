"""The settings of a Langfuse source: where it is, its keys, and how it is read and written."""

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from groundwire.connectors.connector import SourceSettings

__all__ = ["Attach", "LangfuseSettings", "Plan"]

Plan = Literal["hobby", "core", "pro", "self-hosted"]
Attach = Literal["observation", "trace"]


class LangfuseSettings(SourceSettings):
    """What stands in `[sources.NAME]` with `platform = "langfuse"`."""

    host: str = "https://cloud.langfuse.com"
    """Where the project lives: `https://cloud.langfuse.com` (EU), `https://us.cloud.langfuse.com`,
    `https://jp.cloud.langfuse.com`, `https://hipaa.cloud.langfuse.com`, or your own server."""
    public_key: SecretStr
    """The project's public key (`pk-lf-…`)."""
    secret_key: SecretStr
    """The project's secret key (`sk-lf-…`). A key of the organization cannot read a project."""
    plan: Plan | None = None
    """What sets the rate limits to start with; the server's own word on them replaces it. Unset: `hobby` on
    Langfuse Cloud, else `self-hosted` (no limit)."""
    attach: Attach = "observation"
    """Where a trace's score goes: on its root observation, beside the scores of Langfuse's own evaluators, or on the
    trace."""
    create_config: bool = False
    """Whether a score configuration (type, range, meaning) is created in the project for every score name."""
    settle: float = Field(default=60.0, ge=0, le=86_400)
    """Seconds between a root's end and the moment it is read: servers show rows 2 to 30 seconds after they are sent."""
    lateness: float = Field(default=120.0, ge=0, le=86_400)
    """Seconds by which a root may turn up after its settle time and still be found by the next look; later ones wait
    for the hourly sweep. 1200 where an application sends through an old SDK (rows up to 15 minutes late)."""
    longest_trace: float = Field(default=21_600.0, ge=60, le=604_800)
    """Seconds that a trace may last and still be found at its end; longer ones wait for the hourly sweep."""
    rootless_after: float = Field(default=600.0, ge=0, le=86_400)
    """Seconds after its last row at which a trace without a root is read as it is."""
    expand_metadata: tuple[str, ...] = ()
    """Metadata keys whose values are read whole: of the others only the first 200 characters reach a filter."""
    in_flight: int = Field(default=4, ge=1, le=64)
    """Requests under way at once."""
    timeout: float = Field(default=60.0, ge=1, le=600)
    """Seconds to wait for the server's next bytes; connecting has 5."""

    @field_validator("host")
    @classmethod
    def _bare_address(cls, value: str) -> str:
        bare = value.strip().rstrip("/").removesuffix("/api/public").rstrip("/")
        parts = urlsplit(bare)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("give an address such as https://cloud.langfuse.com")
        if parts.username or parts.password:
            raise ValueError("keys do not belong into the address; use public_key and secret_key")
        return bare

    @property
    def is_cloud(self) -> bool:
        """Whether the host is Langfuse Cloud, in any region."""
        name = urlsplit(self.host).hostname or ""
        return name == "cloud.langfuse.com" or name.endswith(".cloud.langfuse.com")

    @property
    def limits(self) -> Plan:
        """The plan whose limits are assumed until the server tells its own."""
        return self.plan or ("hobby" if self.is_cloud else "self-hosted")
