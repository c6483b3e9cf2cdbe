"""The settings of a LangSmith source: where it is, its key and project, and how it is read and written."""

from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import Field, SecretStr, field_validator

from groundwire.connectors.connector import SourceSettings

__all__ = ["EVALUATORS", "REGIONS", "Api", "LangsmithSettings"]

Api = Literal["v2", "v1"]

REGIONS = {
    "US": "https://api.smith.langchain.com",
    "EU": "https://eu.api.smith.langchain.com",
    "APAC": "https://apac.api.smith.langchain.com",
    "US on AWS": "https://aws.api.smith.langchain.com",
}
"""LangSmith's own hosts."""
EVALUATORS = "evaluators"
"""The project into which LangSmith's SDK traces evaluators: never read, so that no judge is judged."""


class LangsmithSettings(SourceSettings):
    """What stands in `[sources.NAME]` with `platform = "langsmith"`."""

    host: str = REGIONS["US"]
    """Where the workspace lives: `https://api.smith.langchain.com` (US), `https://eu.api.smith.langchain.com`, or your
    own server's address, with or without `/api`."""
    api_key: SecretStr
    """A key of the workspace (`lsv2_pt_…` or `lsv2_sk_…`)."""
    project: str = Field(default="default", min_length=1)
    """The tracing project's name, or its id."""
    workspace: str | None = None
    """The workspace's id; needed where the key spans several."""
    filter: str | None = None
    """LangSmith's own filter on the root run, beside `where`: `has(tags, "prod")`."""
    trace_filter: str | None = None
    """Another filter on the root run, in LangSmith's language."""
    tree_filter: str | None = None
    """A filter that any run of the trace must match, in LangSmith's language."""
    api: Api | None = None
    """The generation of the API that is read; unset: what the server says it has, the newer one first."""
    settle: float = Field(default=60.0, ge=0, le=86_400)
    """Seconds between a root's end and the moment it is read: SDKs send in the background, children after the root."""
    lateness: float = Field(default=120.0, ge=0, le=86_400)
    """Seconds by which a run may turn up or change after its trace's settle time and still be found by the next look;
    later ones wait for the hourly sweep."""
    longest_trace: float = Field(default=1_800.0, ge=60, le=86_400)
    """Seconds that a trace may last and still be found at its end where its root wasn't seen while it ran; longer ones
    wait for the hourly sweep."""
    pending_after: float = Field(default=600.0, ge=0, le=86_400)
    """Seconds after its start at which a trace whose root is still pending is given as it is."""
    queries: int = Field(default=15, ge=1, le=10_000)
    """Run queries in 10 seconds that are made at most; LangSmith allows a key 15. Lower it to leave some for others."""
    extend_trace_retention: bool = False
    """Whether a score moves its trace to the extended retention (400 days at about ten times the price)."""
    create_config: bool = True
    """Whether a feedback configuration (type, range, which way is better) is created for every score name."""
    mark_errors: bool = False
    """Whether the `<name>.status` of a failed evaluation is marked as an evaluator's error on LangSmith."""
    payload_hosts: tuple[str, ...] = ()
    """Hosts that large inputs and outputs may be fetched from beside LangSmith's own and the big cloud stores; `*` is
    a wildcard. A host named here may have a private address."""
    payload_limit: int = Field(default=20_000_000, ge=1_000, le=1_000_000_000)
    """Bytes of one such input or output; a larger one is left out, and the trace says so."""
    in_flight: int = Field(default=4, ge=1, le=64)
    """Requests under way at once."""
    timeout: float = Field(default=60.0, ge=1, le=600)
    """Seconds to wait for the server's next bytes; connecting has 5."""

    @field_validator("host")
    @classmethod
    def _bare_address(cls, value: str) -> str:
        bare = value.strip().rstrip("/")
        for ending in ("/api/v1", "/api/v2", "/api"):
            bare = bare.removesuffix(ending)
        parts = urlsplit(bare)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("give an address such as https://api.smith.langchain.com")
        if parts.username or parts.password:
            raise ValueError("a key does not belong into the address; use api_key")
        if parts.hostname in ("smith.langchain.com", "eu.smith.langchain.com"):
            raise ValueError(f"that is the web page; the API is https://{parts.hostname.replace('smith', 'api.smith')}")
        return bare

    @field_validator("project")
    @classmethod
    def _no_evaluators(cls, value: str) -> str:
        if value.strip().lower() == EVALUATORS:
            raise ValueError("this project holds the traces of evaluators, which are never scored")
        return value.strip()

    @property
    def is_cloud(self) -> bool:
        """Whether the host is LangChain's own, in any region."""
        name = urlsplit(self.host).hostname or ""
        return name == "smith.langchain.com" or name.endswith(".smith.langchain.com")

    @property
    def project_id(self) -> str | None:
        """The project's id where the setting is one; None where it is a name."""
        try:
            return str(UUID(self.project))
        except ValueError:
            return None
