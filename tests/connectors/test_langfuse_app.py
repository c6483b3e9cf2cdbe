"""The loopback Langfuse answers as the real server did, so that it can't drift from it."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tests.connectors.langfuse_app import PUBLIC_KEY, SECRET_KEY, LangfuseApp
from tests.connectors.langfuse_recorded import exchanges, recorded

MODES = ("events_only", "dual")
TRACES = (
    "plain",
    "openai",
    "agent",
    "rag",
    "nested",
    "turn1",
    "unicode",
    "error",
    "multimodal",
    "tworoots",
    "empty",
    "long",
)
OURS = ("/health", "/ready", "/projects", "/v2/observations", "/v3/scores", "/scores", "/score-configs", "/ingestion")
OLDER = ("/traces", "/sessions", "/v2/scores/")
UNLIKE = {
    # what the app does not imitate, because the connector never sends it
    "score_post_wrong_content_type", "score_post_bad_datatype", "scores_v3_bad_fields", "scores_v3_bad_cursor",
    "scores_v3_obs_no_trace", "ingestion_trace_create", "scores_v1_get", "scores_v1_list", "scores_v1_get_404",
    "traces_list_bad_ts", "traces_post", "sessions_list", "scores_v2_by_trace", "scores_v2_list", "scores_v3_userid",
}  # fmt: skip


def app_with_recorded_rows(mode: str) -> LangfuseApp:
    app = LangfuseApp(version="4.16.0", mode=mode, clock=lambda: datetime(2026, 11, 30, 21, tzinfo=UTC))
    for name in (*(f"obs_v2_page{number}" for number in range(9)), *(f"obs_v2_all_{trace}" for trace in TRACES)):
        if f"{mode}/{name}" in exchanges():
            for row in recorded(f"{mode}/{name}")["body"]["data"]:
                app.put(row)
    return app


async def asked(app: LangfuseApp, request: dict[str, Any], params: Any = None) -> httpx.Response:
    auth = {"basic(valid)": (PUBLIC_KEY, SECRET_KEY), "basic(invalid)": ("pk", "sk")}.get(request["auth"])
    headers = {"Authorization": f"Bearer {PUBLIC_KEY}"} if "earer" in str(request["auth"]) else {}
    body = request["body"]
    content = body if isinstance(body, str) else None if body is None else json.dumps(body)
    transport = httpx.ASGITransport(app.starlette())
    async with httpx.AsyncClient(transport=transport, base_url="http://loopback") as client:
        return await client.request(
            request["method"],
            request["path"],
            params=params or request["params"],
            auth=auth,
            headers=headers,
            content=content,
        )


def imitated() -> list[str]:
    names = []
    for name, exchange in exchanges().items():
        mode, _, short = name.partition("/")
        path = exchange["request"]["path"].removeprefix("/api/public")
        if mode in MODES and short not in UNLIKE and not short.startswith("down_") and path.startswith((*OURS, *OLDER)):
            names.append(name)
    return names


@pytest.mark.parametrize("name", imitated())
async def test_status_is_the_real_servers(name: str) -> None:
    app = app_with_recorded_rows(name.partition("/")[0])
    for trace_id in _scored_things(name):
        app.put({"id": "x", "traceId": trace_id, "startTime": "2026-11-30T10:00:00.000Z", "sessionId": trace_id})
    exchange = exchanges()[name]
    bearer = {"auth": "bearer"} if "bearer" in name else {}
    answer = await asked(app, exchange["request"] | bearer)
    expected = exchange["response"]
    if name.endswith(("scores_v2_get", "score_v2_get_after_rename")) and expected["status"] == 200:
        assert answer.status_code == 404  # the score isn't in the app
        return
    assert answer.status_code == expected["status"], answer.text
    if isinstance(expected["body"], dict) and answer.status_code >= 400:
        assert set(answer.json()) == set(expected["body"])
        assert answer.json()["message"] == expected["body"]["message"] or answer.status_code == 400


def _scored_things(name: str) -> list[str]:
    """What an exchange of the older endpoints asks for by id and the app must have."""
    path = exchanges()[name]["request"]["path"]
    found = exchanges()[name]["response"]["status"] == 200
    return (
        [path.rpartition("/")[2]] if found and path.startswith(("/api/public/traces/", "/api/public/sessions/")) else []
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trace", TRACES)
async def test_a_traces_rows_are_the_real_servers(mode: str, trace: str) -> None:
    app = app_with_recorded_rows(mode)
    exchange = exchanges()[f"{mode}/obs_v2_all_{trace}"]
    answer = (await asked(app, exchange["request"])).json()
    expected = exchange["response"]["body"]
    assert {row["id"]: row for row in answer["data"]} == {row["id"]: row for row in expected["data"]}
    assert [row["startTime"] for row in answer["data"]] == [row["startTime"] for row in expected["data"]]
    assert answer["meta"] == expected["meta"] == {}


@pytest.mark.parametrize(
    "name", ["obs_v2_core", "obs_v2_default", "obs_v2_core_basic_io", "obs_v2_unknown_field", "obs_v2_tools_group"]
)
@pytest.mark.parametrize("mode", MODES)
async def test_field_groups_are_the_real_servers(mode: str, name: str) -> None:
    exchange = exchanges()[f"{mode}/{name}"]
    answer = (await asked(app_with_recorded_rows(mode), exchange["request"])).json()
    ours = {row["id"]: set(row) for row in answer["data"]}
    assert ours == {row["id"]: set(row) for row in exchange["response"]["body"]["data"]}


async def test_pages_without_gaps_or_doubles_as_the_real_server_does() -> None:
    app = app_with_recorded_rows("events_only")
    pages = [exchanges()[f"events_only/obs_v2_page{number}"] for number in range(5)]
    cursor, ours = None, []
    for page in pages:
        params = {key: value for key, value in page["request"]["params"].items() if key != "cursor"}
        answer = (await asked(app, page["request"], params | ({"cursor": cursor} if cursor else {}))).json()
        ours.append(answer)
        cursor = answer["meta"].get("cursor")
    assert [len(page["data"]) for page in ours] == [len(page["response"]["body"]["data"]) for page in pages]
    assert [row["startTime"] for page in ours for row in page["data"]] == [
        row["startTime"] for page in pages for row in page["response"]["body"]["data"]
    ]
    assert cursor is None
    assert "cursor" not in pages[-1]["response"]["body"]["meta"]


@pytest.mark.parametrize("name", ["extra_metadata_default", "extra_metadata_expand"])
async def test_cuts_metadata_as_the_real_server_does(name: str) -> None:
    app = LangfuseApp(version="4.16.0")
    app.put(recorded("events_only/extra_metadata_expand")["body"]["data"][0])
    answer = (await asked(app, exchanges()[f"events_only/{name}"]["request"])).json()
    ours, theirs = (
        answer["data"][0]["metadata"]["long"],
        recorded(f"events_only/{name}")["body"]["data"][0]["metadata"]["long"],
    )
    assert abs(len(ours) - len(theirs)) <= 1  # the server cuts 200 characters with or without the quotation mark
    assert (len(ours) > 200) is name.endswith("expand")


async def test_merges_scores_as_the_real_server_does() -> None:
    app = LangfuseApp(version="4.16.0", clock=lambda: datetime(2026, 11, 30, 21, tzinfo=UTC))
    steps = {
        "score_post_numeric_comment": None,
        "score_post_same_id_again_new_value": "score_v3_by_id_after_overwrite",
        "score_post_same_id_no_comment": "score_v3_by_id_after_no_comment",
        "score_post_same_id_other_trace": "score_v3_by_id_after_other_trace",
    }
    for post, read in steps.items():
        assert (await asked(app, exchanges()[f"events_only/{post}"]["request"])).status_code == 200
        if read is not None:
            answer = (await asked(app, exchanges()[f"events_only/{read}"]["request"])).json()["data"][0]
            expected = recorded(f"events_only/{read}")["body"]["data"][0]
            same = ("id", "name", "value", "dataType", "environment", "source", "comment")
            assert {key: answer[key] for key in same if key in expected} == {
                key: expected[key] for key in same if key in expected
            }
