"""What holds for every test: no key from outside, no network but loopback, cassettes without secrets."""

import os
import warnings
from typing import Any

import pytest
from tests.postgres import postgres_server, postgres_url  # noqa: F401 - fixtures for all folders

SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
FOREIGN = ("OPENAI_", "AZURE_", "ANTHROPIC_", "LANGFUSE_", "LANGSMITH_", "LANGCHAIN_", "PHOENIX_", "GROUNDWIRE_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test can reach a paid model or a platform: what would name one is gone from the environment."""
    for name in list(os.environ):
        upper = name.upper()
        if name == "GROUNDWIRE_TEST_POSTGRES":
            continue
        if upper.startswith(FOREIGN) or upper in PROXIES or upper.endswith(SECRET_NAMES):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def encodings() -> list[Any]:
    """Two real tokenizers, for what bounds and counts of tokens are measured against: o200k and cl100k."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # bpe_openai reads its own data in a way Python deprecates
        import bpe_openai

        return [bpe_openai.get_encoding(name) for name in ("o200k_base", "cl100k_base")]


def _without_server_headers(response: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in response["headers"].items() if name.lower() not in _FLEETING}
    return {**response, "headers": kept}


_FLEETING = frozenset({"date", "server", "set-cookie", "x-request-id"})


@pytest.fixture(scope="module")
def vcr_config() -> dict[str, Any]:
    """Cassettes hold no key, and match whatever port the scripted server had."""
    return {
        "filter_headers": [
            ("authorization", "X"),
            ("api-key", "X"),
            ("x-api-key", "X"),
            ("cookie", None),
            ("user-agent", None),
            ("host", None),
        ],
        "match_on": ["method", "path", "query", "body"],
        "decode_compressed_response": True,
        "before_record_response": _without_server_headers,
    }


@pytest.fixture(autouse=True)
def _cassette_is_fully_played(request: pytest.FixtureRequest) -> Any:
    """A cassette that is only partly played holds what nobody checks any more."""
    if request.node.get_closest_marker("vcr") is None:
        yield
        return
    cassette = request.getfixturevalue("vcr")
    yield
    if cassette is not None and request.config.getoption("--record-mode") in (None, "none"):
        assert cassette.all_played, f"only {cassette.play_count} of {len(cassette)} played"


@pytest.fixture
async def judge_server() -> Any:
    """A running scripted judge endpoint with every knob at rest; the judges made for it are closed after the test."""
    from tests.scorer.judging import close_all
    from tests.scorer.openai_server import JudgeServer

    server = JudgeServer().start()
    yield server
    await close_all()
    server.stop()
