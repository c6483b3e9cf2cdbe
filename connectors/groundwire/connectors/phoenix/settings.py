"""The settings of a Phoenix source: where the server is, its key and project, and how it is read."""

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from groundwire.connectors.connector import SourceSettings

__all__ = ["PhoenixSettings"]

_ENDINGS = ("/v1/traces", "/v1")


class PhoenixSettings(SourceSettings):
    """What stands in `[sources.NAME]` with `platform = "phoenix"`."""

    host: str = "http://localhost:6006"
    """The server's address, with the path that it is served under where there is one
    (`https://app.phoenix.arize.com/s/SPACE`)."""
    api_key: SecretStr | None = None
    """A key of the server; needed where it has authentication switched on."""
    project: str = Field(default="default", min_length=1)
    """The project's name, or its id."""
    settle: float = Field(default=60.0, ge=0, le=86_400)
    """Seconds between a trace's last end and the moment it is read: spans are sent and stored in the background."""
    rootless_after: float = Field(default=600.0, ge=0, le=86_400)
    """Seconds after its last span at which a trace without a root is given as it is."""
    overlap: float = Field(default=60.0, ge=0, le=86_400)
    """Seconds of what was stored lately that every look reads once more: a server with several writers may show a
    span after one that was stored later."""
    longest_trace: float = Field(default=21_600.0, ge=60, le=604_800)
    """Seconds that a trace may last and still be found at its end in a stretch of history (backfills, and servers
    older than 20.16)."""
    lateness: float = Field(default=600.0, ge=0, le=604_800)
    """Seconds by which a span may be late on a server older than 20.16; newer ones tell of it however late it is."""
    in_flight: int = Field(default=4, ge=1, le=64)
    """Requests under way at once."""
    timeout: float = Field(default=60.0, ge=1, le=600)
    """Seconds to wait for the server's next bytes; connecting has 5."""

    @field_validator("host")
    @classmethod
    def _bare_address(cls, value: str) -> str:
        bare = value.strip().rstrip("/")
        for ending in _ENDINGS:
            bare = bare.removesuffix(ending).rstrip("/")
        try:
            parts = urlsplit(bare)
            port = parts.port
        except ValueError:
            raise ValueError("give an address such as http://localhost:6006") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("give an address such as http://localhost:6006")
        if parts.username or parts.password:
            raise ValueError("a key does not belong into the address; use api_key")
        if port == 4317:
            raise ValueError("port 4317 takes spans by gRPC alone; give the port of the web page, 6006 unless changed")
        return bare

    @field_validator("project")
    @classmethod
    def _trimmed(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("name the project")
        return value.strip()

    @property
    def key(self) -> str | None:
        """The key in the clear; None where there is none, or it is empty."""
        return (self.api_key.get_secret_value().strip() or None) if self.api_key is not None else None
