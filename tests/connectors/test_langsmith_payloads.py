"""Large inputs and outputs behind presigned URLs: fetched from allowed places only."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from tests.connectors.langfuse_rows import Clock
from tests.connectors.langsmith_app import API_KEY
from tests.connectors.langsmith_runs import NOON, agent_trace, run, settings_for, source_for, trace_id_of
from tests.connectors.test_langsmith_reading import LIVE, OLD, loopback, pulled

from groundwire.connectors.langsmith.payloads import MISSING, Payloads, reference


def kept_elsewhere(url: str) -> dict[str, Any]:
    return {"id": "r", "trace_id": "r", "outputs": None, "outputs_s3_urls": {"ROOT": {"presigned_url": url}}}


class Net:
    """A network with one store; it remembers whom it was asked for."""

    def __init__(self, answer: httpx2.Response | None = None) -> None:
        self.asked: list[str] = []
        self._answer = answer

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert API_KEY not in str(request.headers), "no key goes to a store"
        self.asked.append(str(request.url))
        return self._answer or httpx2.Response(200, json={"output": "the whole answer"})


async def resolved(host: str) -> Sequence[str]:
    return {
        "bucket.s3.amazonaws.com": ["52.216.0.1"],
        "rebound.s3.amazonaws.com": ["52.216.0.1", "10.0.0.7"],
        "metadata.s3.amazonaws.com": ["169.254.169.254"],
        "six.s3.amazonaws.com": ["fd00::1%eth0"],
    }.get(host) or _unknown()


def _unknown() -> Sequence[str]:
    raise OSError


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://169.254.169.254/latest",
        "https://[::1]/x",
        "http://bucket.s3.amazonaws.com/plain-http",
        "https://metadata.s3.amazonaws.com/x",
        "https://rebound.s3.amazonaws.com/x",
        "https://six.s3.amazonaws.com/x",
        "https://unknown.s3.amazonaws.com/x",
        "https://evil.example/x",
        "https://s3.amazonaws.com.evil.example/x",
        "https://user:secret@bucket.s3.amazonaws.com/x",
        "file:///etc/passwd",
        "//evil.example/x",
        "https://bucket.s3.amazonaws.com:bad/x",
        "http://[",
    ],
)
async def test_nothing_is_fetched_from_where_it_is_not_allowed(url: str) -> None:
    net = Net()
    payloads = Payloads(
        settings_for("https://api.smith.langchain.com"), resolve=resolved, transport=httpx2.MockTransport(net)
    )
    [filled] = await payloads.filled([kept_elsewhere(url)])
    await payloads.close()
    assert net.asked == []
    assert filled["outputs"] is None
    assert filled[MISSING].startswith("its outputs ")
    assert url not in filled[MISSING]


async def test_an_allowed_store_is_asked_without_a_key() -> None:
    net = Net()
    settings = settings_for("https://api.smith.langchain.com", payload_hosts=("minio.internal", "*.corp.example"))
    payloads = Payloads(settings, resolve=resolved, transport=httpx2.MockTransport(net))
    urls = [
        "https://bucket.s3.amazonaws.com/a?sig=1",
        "https://minio.internal/b",
        "https://s3.corp.example/c",
        "/public/download?d=1",
    ]
    filled = await payloads.filled([kept_elsewhere(url) for url in urls])
    await payloads.close()
    assert sorted(net.asked) == sorted([*urls[:3], "https://api.smith.langchain.com/public/download?d=1"])
    assert all(one["outputs"] == {"output": "the whole answer"} and MISSING not in one for one in filled)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (httpx2.Response(302, headers={"location": "http://10.0.0.1/"}), "HTTP 302"),
        (httpx2.Response(403, text="<Error>Request has expired</Error>"), "HTTP 403"),
        (httpx2.Response(200, content=b'"' + b"x" * 2_000 + b'"'), "payload_limit"),
    ],
)
async def test_a_store_that_answers_otherwise_leaves_a_note(answer: httpx2.Response, why: str) -> None:
    net = Net(answer)
    settings = settings_for("https://api.smith.langchain.com", payload_limit=1_000)
    payloads = Payloads(settings, resolve=resolved, transport=httpx2.MockTransport(net))
    [filled] = await payloads.filled([kept_elsewhere("https://bucket.s3.amazonaws.com/a")])
    await payloads.close()
    assert why in filled[MISSING]
    assert len(net.asked) == 1


def test_what_stands_in_the_run_is_not_fetched() -> None:
    held = kept_elsewhere("https://bucket.s3.amazonaws.com/a")
    assert reference(held, "outputs") == "https://bucket.s3.amazonaws.com/a"
    assert reference({**held, "outputs": {"output": 1}}, "outputs") is None
    assert reference({**held, "outputs_s3_urls": {"ROOT": None}}, "outputs") is None
    assert reference(held, "inputs") is None


async def test_a_trace_with_large_payloads_is_read_whole_or_says_what_is_missing() -> None:
    clock = Clock(NOON)
    with loopback(clock, **OLD) as (app, url):
        trace_id = agent_trace(app, 1, end=NOON - timedelta(seconds=300))
        for number, name in ((2, "there"), (3, "expired"), (4, "private")):
            place = "http://10.1.2.3/x" if name == "private" else f"/payloads/{name}"
            app.put(
                run(
                    f"{number:036d}",
                    trace_id,
                    start=NOON - timedelta(seconds=304),
                    parent_run_id=trace_id,
                    run_type="tool",
                    name=name,
                    inputs={"q": 1},
                    outputs_s3_urls={"ROOT": {"presigned_url": place}},
                )
            )
        app.payloads["there"] = json.dumps({"output": "a very long list"}).encode()
        source = source_for(url, clock)
        given, _ = await pulled(source)
        pages = [page async for page in source.pull(LIVE, None)]
        await source.close()
    tools = {span.name: span.output for span in given[trace_id].spans if span.kind == "TOOL"}
    assert tools["there"] == "a very long list"
    assert (tools["expired"], tools["private"]) == (None, None)
    assert "payload_missing" in given[trace_id].flags
    problems = [problem for page in pages for problem in page.problems]
    assert len(problems) == 2
    assert all(trace_id_of(1) in problem and "10.1.2.3" not in problem for problem in problems)
